"""Where the documents of a file lie, against what a reader of the whole file finds."""

import gzip
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.cli import extents
from turnfold.cli.extents import Extent, Fetching, read_extents
from turnfold.cli.faults import Fault
from turnfold.cli.inputs import ANY, Document, InputFile, read_file

BODY = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "%s"}]}'
SAMPLES = Path(__file__).parents[1] / "containers" / "samples"
LINES = st.lists(
    st.one_of(
        st.sampled_from([b"", b" ", b"\t \r", b" " * 40, b"{", b"\r", b"[]", b"  " + BODY % b"indented"]),
        st.integers(0, 40).map(lambda size: BODY % (b"a" * size)),
    ),
    max_size=12,
)


def named(path: Path) -> InputFile:
    return InputFile(path, path.name, PurePath(path.name))


@pytest.fixture
def small_blocks(monkeypatch):
    """Every file is large enough to be looked through, and lines go over several blocks."""
    monkeypatch.setattr(extents, "_LEAST_BYTES", 0)
    monkeypatch.setattr(extents, "_BLOCK_BYTES", 16)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("extents") / "some.jsonl"


def fetched(file: InputFile) -> tuple[list[Document | Fault], int]:
    """All that a file holds, read where it lies, and how much of that came as extents."""
    items = list(read_extents(file, ANY))
    with Fetching() as fetching:
        read = [fetching.document(item) if isinstance(item, Extent) else item for item in items]
    return read, sum(isinstance(item, Extent) for item in items)


@given(lines=LINES, end=st.sampled_from([b"", b"\n"]))
def test_documents_are_those_of_a_reader(lines, end, place):
    data = BODY % b"first" + b"\n" + b"\n".join(lines) + end
    place.write_bytes(data)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(extents, "_LEAST_BYTES", 0)
        for block_bytes in (1, 16, 1 << 20):
            patched.setattr(extents, "_BLOCK_BYTES", block_bytes)
            read, lying = fetched(named(place))
            whole = [one for one in read_file(named(place), recognise=False) if isinstance(one, Document)]
            expected = [(one.index, one.data, one.ending, one.is_gap, one.layout, one.is_log) for one in whole]
            assert [
                (one.index, one.data, one.ending, one.is_gap, one.layout, one.is_log)
                for one in read
                if isinstance(one, Document)
            ] == expected
            assert lying == sum(not one.is_gap for one in whole)
            last = read[-1]
            assert isinstance(last, Document)
            assert last.read_bytes == len(data)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.jsonl", b""),
        ("one.json", BODY % b"a"),
        ("packed.jsonl.gz", gzip.compress(BODY % b"a" + b"\n" + BODY % b"b", mtime=0)),
        ("zeros.jsonl", b"a\0b\nc\n"),
        ("log.jsonl", (SAMPLES / "claude_code.jsonl").read_bytes()),
    ],
)
def test_what_is_no_plain_json_lines_is_read_at_once(tmp_path, name, data):
    file = named(tmp_path / name)
    (tmp_path / name).write_bytes(data)
    read, lying = fetched(file)
    assert read == list(read_file(file, recognise=False))
    assert lying == 0


@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_is_not_there_is_a_fault(tmp_path):
    (fault,) = read_extents(named(tmp_path / "none.jsonl"), ANY)
    assert isinstance(fault, Fault)
    assert fault.code == "io_error"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("change", ["shorter", "replaced", "gone"])
def test_a_file_that_is_another_one_meanwhile_is_not_read(tmp_path, change):
    path = tmp_path / "some.jsonl"
    path.write_bytes(BODY % b"a" + b"\n" + BODY % b"b" + b"\n")
    first, second = read_extents(named(path), ANY)
    assert isinstance(first, Extent)
    assert isinstance(second, Extent)
    if change == "shorter":
        path.write_bytes(BODY % b"a" + b"\n")
    else:
        path.rename(tmp_path / "before.jsonl")
    if change == "replaced":
        path.write_bytes(BODY % b"c" + b"\n" + BODY % b"d" + b"\n")
    with Fetching() as fetching, pytest.raises(OSError, match=r"shorter|another file|No such file"):
        fetching.document(second)
