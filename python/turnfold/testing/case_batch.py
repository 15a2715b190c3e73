"""Cases of the layer `batch`: jobs of given durations, on a virtual clock, on asyncio and on trio alike."""

from typing import Literal

import anyio
import msgspec

from turnfold.batch import BatchItem, BatchLimits, compact_batch
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.testing.case_files import CaseError, CaseFile, Mismatches, differs, given, shaped
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_Unset = msgspec.UnsetType
_PROSE = "It took one more step, and said so. " * 8
_POLICY = Policy(OnRequest(), (Summarize(KeepMessages(1)),), name="case")


class _Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    duration: float
    outcome: Literal["ok", "error"] = "ok"


class _Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: int
    timeout: float
    deadline: float | None = None


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    jobs: list[_Job]
    params: _Params


class _Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    status: list[Literal["ok", "error", "timeout", "deadline"]]
    max_in_flight: int
    finished_at: float
    results_in_input_order: Literal[True] | _Unset = _UNSET
    cancelled_calls_observe_cancellation: list[str] | _Unset = _UNSET


class _Jobs:
    """A summarizer whose calls are the jobs: it knows each by the id in its transcript."""

    name = "jobs"

    def __init__(self, jobs: list[_Job]) -> None:
        self._jobs = jobs
        self._in_flight = 0
        self.most_in_flight = 0
        self.cancelled: list[str] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Take as long as the job takes."""
        said = request.messages[0].parts[0].text
        job = next(job for job in self._jobs if said.startswith(f"{job.id}: "))
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            await anyio.sleep(job.duration)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(job.id)
            raise
        finally:
            self._in_flight -= 1
        if job.outcome == "error":
            raise RuntimeError(f"{job.id} fails")
        return SummaryReply(f"{job.id} went one step further.")


def check_batch(case: CaseFile) -> Mismatches:
    """All expectations of one case, on each event loop."""
    source = shaped(case.input, _Input, "input")
    expect = shaped(case.expect, _Expect, "expect")
    for backend in BACKENDS:
        yield from _check(source, expect, backend)


def _check(source: _Input, expect: _Expect, backend: Backend) -> Mismatches:
    jobs = _Jobs(source.jobs)
    limits = BatchLimits(
        concurrency=source.params.limit,
        ahead=len(source.jobs),
        item_seconds=source.params.timeout,
        deadline_seconds=source.params.deadline,
    )
    in_order = expect.results_in_input_order is not _UNSET

    async def main() -> tuple[list[BatchItem], float]:
        transcripts = [_transcript(job) for job in source.jobs]
        batch = compact_batch(transcripts, _POLICY, jobs, limits=limits, ordered=in_order, on_failure="skip")
        return [done async for done in batch], anyio.current_time()

    done, finished_at = run_virtual(main, backend)
    for name, value in given(expect):
        where = f"expect.{name} on {backend}"
        match name:
            case "status":
                by_index = sorted(done, key=lambda item: item.index)
                yield from differs(where, value, [_status(item) for item in by_index])
            case "max_in_flight":
                yield from differs(where, value, jobs.most_in_flight)
            case "finished_at":
                yield from differs(where, value, round(finished_at, 6))
            case "results_in_input_order":
                yield from differs(where, list(range(len(source.jobs))), [item.index for item in done])
            case "cancelled_calls_observe_cancellation":
                yield from differs(where, value, jobs.cancelled)
            case _:
                raise CaseError(f"{where} is not checked")


def _transcript(job: _Job) -> Transcript:
    messages: list[Message] = []
    for k in range(3):
        messages.append({"role": "user", "content": f"{job.id}: step {k}. {_PROSE}"})
        messages.append({"role": "assistant", "content": f"Step {k} is done. {_PROSE}"})
    return Transcript.from_messages(messages, format="openai.chat")


def _status(item: BatchItem) -> str:
    """Say it in the words of the cases: what ended a job is how the last call for it ended."""
    if isinstance(item.result, CompactionResult):
        return "ok"
    if item.status == "deadline":
        return "deadline"
    if isinstance(item.result, Skip) and item.result.attempts:
        return {"deadline": "timeout", "failed": "error"}.get(item.result.attempts[-1].outcome, item.status)
    return item.status
