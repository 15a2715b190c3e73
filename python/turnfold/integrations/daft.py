"""Compacts a column of a Daft table (the extra `daft`): on one machine, or on many with Daft's Ray runner."""

from collections.abc import Callable
from typing import Final, TypedDict, cast

import anyio
import msgspec
from anyio.lowlevel import RunVar

from turnfold.compactor import OnFailure, compact
from turnfold.errors import ArgumentError, MissingExtraError, TurnfoldError
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.summarizers.protocol import DEADLINE_SECONDS, Summarizer
from turnfold.summarizers.threads import beside
from turnfold.transcript import Transcript

try:
    import daft
except ImportError as error:
    raise MissingExtraError("This module needs the package daft: pip install 'turnfold[daft]'") from error

CELL: Final = daft.DataType.struct(
    {
        "body": daft.DataType.string(),
        "status": daft.DataType.string(),
        "reason": daft.DataType.string(),
        "error": daft.DataType.string(),
        "method": daft.DataType.string(),
        "tokens_before": daft.DataType.int64(),
        "tokens_after": daft.DataType.int64(),
    }
)
"""The type of the column that `compact_column` makes: `Cell`."""


class Cell(TypedDict):
    """What became of one row.

    `status` is compacted (`body` is the new transcript), skipped (`body` is the old one, `reason` that of the `Skip`)
    or failed (`body` is the old one, `reason` the error's code, `error` its text). `method` names the summarizer whose
    text was used. What there is no value for is null.
    """

    body: str | None
    status: str
    reason: str | None
    error: str | None
    method: str | None
    tokens_before: int | None
    tokens_after: int | None


class _Settings(msgspec.Struct, frozen=True):
    policy: Policy
    make_summarizer: Callable[[], Summarizer] | None
    concurrency: int
    item_seconds: float | None
    on_failure: OnFailure
    encoding: str | None
    model: str | None
    window_tokens: int | None


@daft.cls(use_process=False)
class _Worker:
    """One of these lives in each worker process. Its rows share a summarizer and the places in `_places`."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings
        self._summarizer = None if settings.make_summarizer is None else settings.make_summarizer()
        self._places = RunVar[anyio.CapacityLimiter]("turnfold_daft")

    @daft.method(return_dtype=CELL)
    async def compact(self, body: object) -> Cell:
        # Daft starts all rows of a morsel, whatever its own `max_concurrency` says.
        places = self._places.get(None)
        if places is None:
            places = anyio.CapacityLimiter(self._settings.concurrency)
            self._places.set(places)
        async with places:
            try:
                return await self._compacted(body)
            except TurnfoldError as error:
                return _failed(body, error.code, str(error))
            # Daft gives up all rows of a morsel, and those done in it, for one that raises.
            except Exception as error:  # noqa: BLE001
                return _failed(body, "unexpected", f"{type(error).__name__}: {error}")

    async def _compacted(self, body: object) -> Cell:
        if not isinstance(body, str):
            raise ArgumentError(
                f"a cell must be a string of JSON, not {type(body).__name__}: cast or serialise the column"
            )
        data = body.encode()
        settings = self._settings
        outcome = await compact(
            await beside(len(data), Transcript.from_json, data),
            settings.policy,
            self._summarizer,
            deadline_seconds=settings.item_seconds,
            on_failure=settings.on_failure,
            encoding=settings.encoding,
            model=settings.model,
            window_tokens=settings.window_tokens,
        )
        before = outcome.before.n
        if isinstance(outcome, Skip):
            return _cell(body, "skipped", reason=outcome.reason, tokens_before=before, tokens_after=before)
        return _cell(
            outcome.body.decode(),
            "compacted",
            method=outcome.method,
            tokens_before=before,
            tokens_after=outcome.after.n,
        )


def compact_column(
    column: daft.Expression,
    policy: Policy,
    make_summarizer: Callable[[], Summarizer] | None = None,
    *,
    concurrency: int = 16,
    item_seconds: float | None = DEADLINE_SECONDS,
    on_failure: OnFailure = "rules",
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
) -> daft.Expression:
    """Return an expression that compacts each cell of `column`: a struct with the fields of `Cell`.

    A cell is a string: the JSON of a request body in any wire format, or of its list of messages. Whatever is wrong
    with a row is that row's `error`. Nothing is raised, so no other row is lost or done again.

    `make_summarizer` is called once in each worker process. It is pickled to get there, what it makes is not: that may
    hold a client, and takes its API key from the worker's environment, so that none stands in a query plan. Without it
    summaries are made by rule. At most `concurrency` rows are in work in each worker. The other arguments are those of
    `compact`, `item_seconds` its `deadline_seconds`.

    Raises an `ArgumentError` for a concurrency below 1.
    """
    if concurrency < 1:
        raise ArgumentError(f"concurrency must be at least 1, got {concurrency}")
    settings = _Settings(policy, make_summarizer, concurrency, item_seconds, on_failure, encoding, model, window_tokens)
    # Called with an expression, the method makes one; its decorator keeps the method's own type.
    return cast("daft.Expression", _Worker(settings).compact(column))


def _failed(body: object, reason: str, text: str) -> Cell:
    return _cell(body if isinstance(body, str) else None, "failed", reason=reason, error=text)


def _cell(
    body: str | None,
    status: str,
    *,
    reason: str | None = None,
    error: str | None = None,
    method: str | None = None,
    tokens_before: int | None = None,
    tokens_after: int | None = None,
) -> Cell:
    return Cell(
        body=body,
        status=status,
        reason=reason,
        error=error,
        method=method,
        tokens_before=tokens_before,
        tokens_after=tokens_after,
    )
