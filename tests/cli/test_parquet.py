"""Tables: each row's transcript, and the same table with other ones."""

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from turnfold.cli.parquet import Table, TableError, cells, line_of, write_table
from turnfold.errors import ColumnError

TEXTS = [
    '[{"role": "user",\n "content": "one"}]',
    None,
    '{"messages": []}',
    '{"messages":[{"role":"user","content":"é"}]}',
]
MESSAGES = [
    [{"role": "user", "content": "one", "name": None}, {"role": "assistant", "content": None, "name": "b"}],
    None,
    [],
    [{"role": "user", "content": "three", "name": "c"}],
]


def table_of(folder: Path, column: pa.Array, **others: Sequence[object]) -> Path:
    table = pa.table({"id": [1, 2, 3, 4], "said": column, **others})
    pq.write_table(table, folder / "in.parquet", row_group_size=3, compression="zstd")
    return folder / "in.parquet"


def rewritten(source: Path, new: list[bytes]) -> pa.Table:
    out = io.BytesIO()
    write_table(Table(source, None), io.BytesIO(b"".join(map(line_of, new))), out)
    out.seek(0)
    file = pq.ParquetFile(out)
    assert file.num_row_groups == 2
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    return file.read()


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()],
    ids=["string", "large", "binary", "large binary"],
)
def test_cells_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    given = [text.encode() if text and pa.types.is_binary(kind) else text for text in TEXTS]
    source = table_of(tmp_path, pa.array(given, kind), note=["a", "b", None, "d"], tags=[["x"], [], None, ["y"]])
    read = list(cells(Table(source, None)))
    assert [cell for cell, _ in read] == [(text or "").encode() for text in TEXTS]
    assert [share for _, share in read] == [0.25, 0.5, 0.75, 1.0]
    before = pq.read_table(source)
    after = rewritten(source, [b'{"new": "\xc3\xa9\\n"}', b"", b"", b"[\n]"])
    assert after.schema == before.schema
    assert after.drop(["said"]).equals(before.drop(["said"]))
    changed = [value.as_py() for value in after.column("said")]
    wanted = ['{"new": "é\\n"}', TEXTS[1], TEXTS[2], "[\n]"]
    assert [value.decode() if isinstance(value, bytes) else value for value in changed] == wanted


def test_cells_of_messages(tmp_path: Path) -> None:
    source = table_of(tmp_path, pa.array(MESSAGES), note=["[1]"] * 3 + ["no JSON"])
    assert [json.loads(cell or b"null") for cell, _ in cells(Table(source, None))] == [
        [{"role": "user", "content": "one"}, {"role": "assistant", "name": "b"}],
        None,
        [],
        [{"role": "user", "content": "three", "name": "c"}],
    ]
    after = rewritten(source, [b'[{"role":"user","content":"new"}]', b"", b"", b""])
    assert after.column("said").to_pylist() == [[{"role": "user", "content": "new", "name": None}], *MESSAGES[1:]]


@pytest.mark.parametrize(
    ("new", "text"),
    [
        (b'[{"role":"user","content":"a","images":[]}]', "column 'said' has no field for all of row 1"),
        (b'[{"role":"user","content":["a"]}]', "rows 0 to 2 do not fit column 'said': .*"),
        (b'{"messages":[]}', "rows 0 to 2 do not fit column 'said': .*"),
    ],
)
def test_what_a_column_cannot_hold_is_refused(tmp_path: Path, new: bytes, text: str) -> None:
    source = table_of(tmp_path, pa.array(MESSAGES))
    with pytest.raises(TableError, match=f"^{text}: make a column of the JSON$"):
        rewritten(source, [b"", new, b"", b""])


def test_the_column_is_named_or_the_only_one_that_can_be_meant(tmp_path: Path) -> None:
    source = table_of(tmp_path, pa.array(TEXTS), other=["[]", "{}", None, ""], note=["a", "[]", "[]", "[]"])
    with pytest.raises(ColumnError, match="columns said, other all look like transcripts: name one of"):
        list(cells(Table(source, None)))
    assert next(cells(Table(source, "other"))) == (b"[]", 0.25)
    with pytest.raises(ColumnError, match="column 'id' holds int64, neither text nor messages"):
        list(cells(Table(source, "id")))
    with pytest.raises(ColumnError, match="there is no column 'nope': name one of id, said, other, note with --column"):
        list(cells(Table(source, "nope")))
    with pytest.raises(ColumnError, match="no column looks like transcripts: name one of id, said with --column"):
        list(cells(Table(table_of(tmp_path, pa.array(["a", "b", "c", "d"])), None)))


def test_a_table_without_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"said": pa.array([], pa.string())}), tmp_path / "in.parquet")
    assert list(cells(Table(tmp_path / "in.parquet", None))) == []


def test_a_damaged_file_is_said_to_be_one(tmp_path: Path) -> None:
    whole = table_of(tmp_path, pa.array(TEXTS)).read_bytes()
    for end in range(0, len(whole), 7):
        (tmp_path / "cut.parquet").write_bytes(whole[:end])
        with pytest.raises(TableError, match="not a whole Parquet file"):
            list(cells(Table(tmp_path / "cut.parquet", "said")))
    for place in range(4, len(whole) - 8, 3):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / "bad.parquet").write_bytes(damaged)
        with contextlib.suppress(TableError, ColumnError):
            list(cells(Table(tmp_path / "bad.parquet", "said")))


def test_a_table_is_compacted_row_by_row(run, tmp_path):
    said = [
        [{"role": "user", "content": f"{row} " + "word " * 900}, {"role": "assistant", "content": "so"}]
        for row in range(5)
    ]
    said = [[*messages * 3, messages[0]] for messages in said]
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": range(5), "said": [*said[:4], said[4][:1]]}), source)
    assert run("count", source, "--json").status == 0
    ran = run("compact", source, "-o", tmp_path / "out", "--limit-tokens", "2000", "--json")
    assert (ran.status, ran.err) == (0, "")
    assert [record["status"] for record in ran.records] == ["compacted"] * 4 + ["skipped"]
    before, after = pq.read_table(source), pq.read_table(tmp_path / "out" / "in.parquet")
    assert after.schema == before.schema
    assert after.column("id").equals(before.column("id"))
    assert after.column("said")[4] == before.column("said")[4]
    for old, new in zip(said[:4], after.column("said").to_pylist(), strict=False):
        assert len(new) < len(old)
        assert new[-1] == old[-1]
    assert [name.name for name in (tmp_path / "out").iterdir()] == ["in.parquet"]


def test_a_table_goes_where_a_table_can(run, tmp_path):
    source = table_of(tmp_path, pa.array(TEXTS))
    (tmp_path / "lines.jsonl").write_text(f"{TEXTS[2]}\n")
    for given, out, text in (
        (source, "-", "-o - takes no table"),
        (source, tmp_path / "a.jsonl", "is not named like"),
        (tmp_path / "lines.jsonl", tmp_path / "a.parquet", "is not named like"),
    ):
        ran = run("compact", given, "-o", out, "--limit-tokens", "2000")
        assert (ran.status, ran.out) == (2, "")
        assert text in ran.err
    ran = run("count", source, "--column", "id")
    assert ran.status == 2
    assert "column 'id' holds int64" in ran.err
    assert "--column NAME says which one it is" in ran.err
    (tmp_path / "cut.parquet").write_bytes(source.read_bytes()[:-9])
    ran = run("compact", tmp_path / "cut.parquet", "-o", tmp_path / "out", "--limit-tokens", "2000")
    assert "not a whole Parquet file" in ran.err
    assert not list(tmp_path.rglob("out/*"))
