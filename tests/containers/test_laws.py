"""What holds for every container, on every sample: a sample beside the others is all that a new one adds here."""

import json
from pathlib import Path

import pytest

from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import BUILT_IN, Log, is_log, marks, read_log
from turnfold.containers.document import Document
from turnfold.containers.log import says
from turnfold.errors import NotWritableError, ReadError
from turnfold.model.plan import Skip
from turnfold.model.policy import Drop, OnRequest, Policy, Step, Summarize, TruncateResults
from turnfold.model.selection import Scope
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def samples() -> list[Path]:
    """One or more a container: `<container>.<suffix>`, or `<container>-<what>.<suffix>`."""
    return sorted(path for path in SAMPLES.iterdir() if path.is_file())


def container_of(sample: Path) -> str:
    return sample.name.split(".")[0].split("-")[0]


each_sample = pytest.mark.parametrize("sample", samples(), ids=lambda path: path.name)
each_kept = pytest.mark.parametrize("keep", [0, 1, 2, 4])


def policy(keep: int) -> Policy:
    return Policy(OnRequest(), (Summarize(KeepMessages(keep)),))


def writable(log: Log, keep: int) -> dict[str, CompactionResult]:
    """The results that the log takes, made one by one."""
    found: dict[str, CompactionResult] = {}
    for logged in log.transcripts:
        result = compact_sync(logged.transcript, policy(keep))
        if isinstance(result, Skip):
            continue
        try:
            log.write({logged.id: result})
        except NotWritableError as error:
            assert "read again" not in error.text
            assert "read otherwise" not in error.text
            continue
        found[logged.id] = result
    return found


def test_each_container_has_a_sample_and_a_file_of_its_name():
    names = [container.name for container in BUILT_IN]
    assert len(set(names)) == len(names)
    assert {container_of(path) for path in samples()} == set(names)
    assert all(type(container).__module__ == f"turnfold.containers.{container.name}" for container in BUILT_IN)
    assert all(container.title.endswith(".") for container in BUILT_IN)


@each_sample
def test_it_is_recognised_and_written_back_byte_for_byte(sample: Path):
    data = sample.read_bytes()
    log = read_log(data)
    assert log.container == container_of(sample)
    assert log.container_reason
    assert log.transcripts
    assert log.write() == data
    assert read_log(data, container=log.container).reading.unread == log.unread


@each_sample
def test_it_is_a_log_where_a_container_is_sure_of_it(sample: Path):
    data = sample.read_bytes()
    for part in (data, data[: len(data) // 2], data.splitlines()[0]):
        sure = any(mark.strength in {"usual", "proof"} for _, mark in marks(Document(part)))
        assert is_log(Document(part)) == sure


@each_sample
def test_each_message_says_where_it_comes_from(sample: Path):
    for logged in read_log(sample.read_bytes()).transcripts:
        assert len(logged.origins) == len(logged.transcript) > 0
        assert all(index >= 0 for origins in logged.origins for index in origins)
        assert any(logged.origins)


@each_sample
def test_ids_are_unique_and_stay(sample: Path):
    log = read_log(sample.read_bytes())
    ids = [logged.id for logged in log.transcripts]
    assert len(set(ids)) == len(ids)
    written = log.write(writable(log, 2))
    assert [logged.id for logged in read_log(written).transcripts] == ids


@each_sample
def test_some_transcript_of_it_can_be_compacted_and_written(sample: Path):
    log = read_log(sample.read_bytes())
    kind = next(container for container in BUILT_IN if container.name == log.container)
    if kind.writes:
        assert writable(log, 2)
    else:
        results = {t.id: compact_sync(t.transcript, policy(0)) for t in log.transcripts}
        done = {name: result for name, result in results.items() if isinstance(result, CompactionResult)}
        assert done
        with pytest.raises(NotWritableError, match="recording"):
            log.write(done)


@each_kept
@each_sample
def test_what_is_written_reads_as_the_result(sample: Path, keep: int):
    log = read_log(sample.read_bytes())
    results = writable(log, keep)
    again = {logged.id: logged.transcript for logged in read_log(log.write(results)).transcripts}
    for logged in log.transcripts:
        expected = results[logged.id].transcript if logged.id in results else logged.transcript
        assert says(again[logged.id]) == says(expected)


@each_kept
@each_sample
def test_what_is_written_breaks_no_rule_that_the_input_kept(sample: Path, keep: int):
    log = read_log(sample.read_bytes())
    results = writable(log, keep)
    again = {logged.id: logged.transcript for logged in read_log(log.write(results)).transcripts}
    for name, result in results.items():
        errors = {finding.code for finding in scan(again[name]).findings if finding.severity == "error"}
        assert not errors - {finding.code for finding in result.findings}


@each_sample
def test_compacting_what_is_written_changes_nothing(sample: Path):
    log = read_log(sample.read_bytes())
    results = writable(log, 2)
    again = {logged.id: logged.transcript for logged in read_log(log.write(results)).transcripts}
    for name in results:
        assert isinstance(compact_sync(again[name], policy(2)), Skip)


@each_sample
def test_writing_twice_writes_the_same(sample: Path):
    log = read_log(sample.read_bytes())
    results = writable(log, 2)
    assert log.write(results) == read_log(sample.read_bytes()).write(results)


@each_sample
def test_records_without_a_message_are_carried_along(sample: Path):
    log = read_log(sample.read_bytes())
    written = log.write(writable(log, 2))
    used = {index for logged in log.transcripts for origins in logged.origins for index in origins}
    # Where a line is a document, origins are places of elements.
    by_record = log.document.is_lines and not any(logged.path for logged in log.transcripts)
    for line in log.document.lines if by_record else ():
        if line.index not in used:
            assert log.document.data[line.start : line.stop] in written


@each_sample
def test_shortened_results_stand_where_they_stood(sample: Path):
    log = read_log(sample.read_bytes())
    for logged in log.transcripts:
        result = compact_sync(logged.transcript, Policy(OnRequest(), (TruncateResults(30, 30),)))
        if isinstance(result, Skip):
            continue
        try:
            written = log.write({logged.id: result})
        except NotWritableError:
            continue
        again = {other.id: other.transcript for other in read_log(written).transcripts}
        assert says(again[logged.id]) == says(result.transcript)
        assert len(written) < len(log.document.data)


@pytest.mark.parametrize(
    "sample", [path for path in samples() if path.suffix in {".json", ".af"}], ids=lambda path: path.name
)
def test_a_document_on_one_line_is_the_same_log(sample: Path):
    data = json.dumps(json.loads(sample.read_bytes())).encode()
    long, short = read_log(sample.read_bytes()), read_log(data)
    assert short.container == long.container
    assert [t.transcript.roles for t in short.transcripts] == [t.transcript.roles for t in long.transcripts]
    assert len(writable(short, 2)) == len(writable(long, 2))


PLANS = {
    "dropped": (Drop(keep=KeepMessages(2)),),
    "dropped and shortened": (Drop(keep=KeepMessages(4)), TruncateResults(20, 20)),
    "summarised and shortened": (Summarize(KeepMessages(6), max_tokens=60), TruncateResults(20, 20)),
    "kept behind the summary": (Summarize(KeepMessages(2), max_tokens=60, scope=Scope(user_verbatim=True)),),
}


@pytest.mark.parametrize("steps", PLANS.values(), ids=PLANS)
@each_sample
def test_plans_that_are_no_single_summary_are_written_or_refused_with_a_reason(sample: Path, steps: tuple[Step, ...]):
    log = read_log(sample.read_bytes())
    kind = next(container for container in BUILT_IN if container.name == log.container)
    results: dict[str, CompactionResult] = {}
    for logged in log.transcripts:
        result = compact_sync(logged.transcript, Policy(OnRequest(), steps, thinking_policy="keep"))
        if isinstance(result, Skip):
            continue
        try:
            log.write({logged.id: result})
        except NotWritableError as error:
            assert "read again" not in error.text
            assert "read otherwise" not in error.text
            if getattr(kind, "takes_out", False):
                assert "summarises whole spans" not in error.text
            continue
        results[logged.id] = result
    again = {logged.id: logged.transcript for logged in read_log(log.write(results)).transcripts}
    assert all(says(again[name]) == says(result.transcript) for name, result in results.items())


@each_sample
def test_any_bytes_of_it_give_a_log_or_a_typed_error(sample: Path):
    data = sample.read_bytes()
    name = container_of(sample)
    step = max(1, len(data) // 24)
    for cut in range(0, len(data), step):
        for broken in (data[:cut], data[cut:], data[:cut] + b"\xff" + data[cut:], data[:cut] + data[cut + 1 :]):
            for container in (None, name):
                try:
                    log = read_log(broken, container=container)
                except ReadError as error:
                    assert error.code
                else:
                    assert log.write() == broken


def test_a_document_of_another_kind_is_refused():
    for container in BUILT_IN:
        for data in (b"", b"{}", b"[]", b"[1]", b'"x"', b"\xff", b'{"a":1}\n{"b":2}\n', b"# notes\n"):
            with pytest.raises(ReadError):
                container.read(Document(data))
