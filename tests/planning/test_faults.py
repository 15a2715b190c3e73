"""The fault simulator: what it checks holds for every seed, and it sees what does not hold."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from turnfold.compactor import compact
from turnfold.planning.apply import CompactionResult
from turnfold.testing import faults
from turnfold.testing.faults import main, run_seeds
from turnfold.testing.virtual_time import BACKENDS

SEEDS = 200


def test_everyday_seeds() -> None:
    outcomes = run_seeds(0, SEEDS)
    assert [outcome for outcome in outcomes if outcome.broken is not None] == []
    assert len(outcomes) == SEEDS * len(BACKENDS)
    assert {"batch", "cancelled", "no_summary", "rules", "summary"} <= {outcome.ended for outcome in outcomes}


def test_a_seed_is_the_same_on_each_run() -> None:
    first, again = run_seeds(SEEDS, 20), run_seeds(SEEDS, 20)
    assert [o for o in first if o.backend == "asyncio"] == [o for o in again if o.backend == "asyncio"]


async def late(*arguments: Any, **options: Any) -> Any:
    result = await compact(*arguments, **options)
    await anyio.sleep(1_000)
    return result


async def losing(*arguments: Any, **options: Any) -> Any:
    result = await compact(*arguments, **options)
    if not isinstance(result, CompactionResult):
        return result
    kept = result.transcript.splice([range(len(result.transcript) - 1)])
    return replace(result, transcript=kept)


async def doubling(*arguments: Any, **options: Any) -> Any:
    result = await compact(*arguments, **options)
    if not isinstance(result, CompactionResult):
        return result
    return replace(result, transcript=result.transcript.append(result.messages[-1]))


async def keeping_places(*arguments: Any, **options: Any) -> Any:
    await options["calls"].acquire_on_behalf_of(object())
    return await compact(*arguments, **options)


async def nothing(*arguments: Any, **options: Any) -> Any:
    raise TimeoutError


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (late, "too late"),
        (losing, "expected"),
        (doubling, "expected"),
        (keeping_places, "places"),
        (nothing, "Timeout"),
    ],
)
def test_what_does_not_hold_is_seen(
    wrong: Callable[..., Any], what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(faults, "compact", wrong)
    assert main(["--seeds", "6", "--first", "1"]) == 1
    assert what in capsys.readouterr().out
