"""A column of a table, compacted by Daft: here, and where it is asked for (`-m ray`) by its Ray runner."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

os.environ["DAFT_ANALYTICS_ENABLED"] = "0"

from turnfold import CompactionResult, Transcript, compact_sync, presets, scan
from turnfold.compactor import compact
from turnfold.errors import ArgumentError
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.summarizers import Function, Summarizer
from turnfold.testing import generators

daft = pytest.importorskip("daft")
from turnfold.integrations.daft import compact_column  # noqa: E402

SCRIPT = Path(__file__).parents[2] / "examples" / "compact_table.py"
POLICY = presets.token_threshold(limit_tokens=900)
AT_ONCE: list[int] = [0, 0]


def bodies(count: int) -> list[str]:
    return [json.dumps(generators.openai_chat(seed, turns=4 + seed % 5, result_words=30)) for seed in range(count)]


def column_of(
    cells: Sequence[object], make_summarizer: Callable[[], Summarizer] | None = None, concurrency: int = 16
) -> list[dict[str, Any]]:
    table = daft.from_pydict({"body": cells})
    cell = compact_column(table["body"], POLICY, make_summarizer, concurrency=concurrency)
    return table.with_column("turnfold", cell).to_pydict()["turnfold"]


def test_a_row_is_what_compact_makes_of_it() -> None:
    given = bodies(6)
    for body, cell in zip(given, column_of(given), strict=True):
        alone = compact_sync(Transcript.from_json(body.encode()), POLICY)
        assert cell["tokens_before"] == alone.before.n
        if isinstance(alone, CompactionResult):
            assert (cell["status"], cell["body"].encode()) == ("compacted", alone.body)
            assert cell["tokens_after"] == alone.after.n
            assert cell["method"] == "rules"
        else:
            assert (cell["status"], cell["reason"], cell["body"]) == ("skipped", alone.reason, body)


def test_what_is_wrong_with_a_row_stays_in_it() -> None:
    good = bodies(1)[0]
    broken, null, ok = column_of(["{broken", None, good])
    assert (broken["status"], broken["reason"], broken["body"]) == ("failed", "invalid_json", "{broken")
    assert "byte 1" in broken["error"]
    assert (null["status"], null["reason"], null["body"]) == ("failed", "argument", None)
    assert ok["status"] == "compacted"
    numbers = column_of([1, 2])
    assert [cell["error"] for cell in numbers] == [
        "a cell must be a string of JSON, not int: cast or serialise the column"
    ] * 2


def test_an_error_that_nobody_foresaw_is_one_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    given = bodies(3)

    async def defect(transcript: Transcript, *arguments: Any, **options: Any) -> object:
        if transcript.to_json().decode() == given[1]:
            raise ZeroDivisionError("a defect")
        return await compact(transcript, *arguments, **options)

    monkeypatch.setattr("turnfold.integrations.daft.compact", defect)
    cells = column_of(given)
    assert [cell["status"] for cell in cells] == ["compacted", "failed", "compacted"]
    assert (cells[1]["reason"], cells[1]["error"]) == ("unexpected", "ZeroDivisionError: a defect")
    assert cells[1]["body"] == given[1]


def counting() -> Summarizer:
    async def answer(_: SummaryRequest) -> SummaryReply:
        AT_ONCE[0] += 1
        AT_ONCE[1] = max(AT_ONCE)
        await anyio.sleep(0.002)
        AT_ONCE[0] -= 1
        return SummaryReply("x" * 20)

    return Function(answer, name="counting")


def test_no_more_rows_are_in_work_than_were_allowed() -> None:
    AT_ONCE[:] = [0, 0]
    cells = column_of(bodies(60), make_summarizer=counting, concurrency=3)
    assert {cell["status"] for cell in cells} <= {"compacted", "skipped"}
    assert AT_ONCE == [0, 3]


def test_a_concurrency_below_one_is_refused() -> None:
    with pytest.raises(ArgumentError, match="concurrency must be at least 1, got 0"):
        compact_column(daft.col("body"), POLICY, concurrency=0)


def run_script(*arguments: str | Path, runner: str = "native") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments), "--limit-tokens", "900"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DAFT_RUNNER": runner, "DAFT_PROGRESS_BAR": "0"},
    )


def check_table(tmp_path: Path, rows: int, runner: str) -> None:
    given = [*bodies(rows - 1), "{broken"]
    table = daft.from_pydict({"id": list(range(rows)), "messages": given})
    table.write_parquet(tmp_path / "in")
    done = run_script(f"{tmp_path}/in/*.parquet", tmp_path / "out", "--column", "messages", runner=runner)
    assert done.returncode == 1, done.stderr
    assert "failed: 1 rows\n" in done.stdout
    out = daft.read_parquet(f"{tmp_path}/out/*.parquet").sort("id").to_pylist()
    assert [row["id"] for row in out] == list(range(rows))
    assert (out[-1]["messages"], out[-1]["turnfold"]["reason"]) == ("{broken", "invalid_json")
    compacted = 0
    for row, body in zip(out[:-1], given, strict=False):
        told = row["turnfold"]
        if told["status"] == "skipped":
            assert row["messages"] == body
            continue
        compacted += 1
        transcript = Transcript.from_json(row["messages"].encode())
        assert transcript.tokens().n == told["tokens_after"] < told["tokens_before"]
        assert not [finding for finding in scan(transcript).findings if finding.severity == "error"]
    assert compacted > rows // 2


def test_a_table_of_a_thousand_rows_from_end_to_end(tmp_path: Path) -> None:
    check_table(tmp_path, 1000, "native")


@pytest.mark.ray
def test_a_table_from_end_to_end_on_the_ray_runner(tmp_path: Path) -> None:
    check_table(tmp_path, 1000, "ray")


def test_lines_are_transcripts_where_no_column_is_named(tmp_path: Path) -> None:
    given = bodies(5)
    (tmp_path / "in.jsonl").write_text("\n".join(given) + "\n")
    done = run_script(tmp_path / "in.jsonl", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    out = daft.read_parquet(f"{tmp_path}/out/*.parquet").to_pylist()
    assert len(out) == 5
    assert all(set(row) == {"text", "turnfold"} for row in out)


def test_the_script_says_what_is_wrong_and_writes_nothing(tmp_path: Path) -> None:
    daft.from_pydict({"m": bodies(1)}).write_parquet(tmp_path / "in")
    source = f"{tmp_path}/in/*.parquet"
    missing = run_script(source, tmp_path / "out", "--column", "nope")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "there is no column 'nope': name one of m" in missing.stderr
    there = run_script(source, tmp_path / "in", "--column", "m")
    assert there.returncode == 2
    assert "is there already" in there.stderr
    nowhere = run_script(f"{tmp_path}/nowhere/*.parquet", tmp_path / "out", "--column", "m")
    assert nowhere.returncode == 2
    assert "not found" in nowhere.stderr
    assert not (tmp_path / "out").exists()
