"""Parquet (the extra `parquet`): each row of a table holds a transcript in one of its columns.

A table is read and written in the memory of one of its row groups. What becomes of its cells waits in lines, so that a
run that was stopped goes on; the table itself is written, from its source and those lines, when all are there.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import msgspec

from turnfold.errors import ColumnError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SUFFIX: Final = ".parquet"
_HEAD_ROWS: Final = 64


class TableError(OSError):
    """A file is no whole Parquet file, or a column cannot hold what a row became."""


def is_table(name: str) -> bool:
    """Say whether a file of that name is a Parquet file."""
    return name.lower().endswith(SUFFIX)


class Table(msgspec.Struct, frozen=True):
    """A Parquet file that is read, and the column with its transcripts where it was named."""

    path: Path
    column: str | None


def cells(source: Table) -> Iterator[tuple[bytes, float]]:
    """Yield each row's transcript as JSON, empty where it is null, and what share of the rows is read with it.

    A column of text holds the JSON of a body, or of its messages; one of lists of structs holds messages themselves, of
    which Parquet keeps absent fields as nulls, so nulls are absent here. Where no column is named the only one that
    looks like either is taken.

    Raises `MissingExtraError`, `ColumnError`, `TableError`, OSError.
    """
    pyarrow, parquet = _packages()
    try:
        with parquet.ParquetFile(source.path) as table:
            name = _column(table, source.column)
            number = 0
            for batch in table.iter_batches(batch_size=_HEAD_ROWS, columns=[name]):
                for cell in batch.column(0):
                    number += 1
                    yield _json(cell.as_py()), number / table.metadata.num_rows
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(f"not a whole Parquet file: {_first_line(error)}") from None


def line_of(cell: bytes) -> bytes:
    """Return what stands for a cell's new value in the lines; for an empty one, which leaves the cell as it is."""
    return msgspec.json.encode(cell.decode()) + b"\n"


def write_table(source: Table, lines: BinaryIO, out: BinaryIO) -> None:
    """Write the table of `source` with the cells that `lines` hold, one a row, in the compression that it has.

    Raises `TableError` where the column cannot hold a new cell, and what `cells` raises.
    """
    pyarrow, parquet = _packages()
    with parquet.ParquetFile(source.path) as table:
        place = table.schema_arrow.get_field_index(_column(table, source.column))
        field = table.schema_arrow.field(place)
        number = 0
        with parquet.ParquetWriter(out, table.schema_arrow, compression=_compression(table)) as writer:
            for group in range(table.num_row_groups):
                rows = table.read_row_group(group)
                new = []
                for old in rows.column(place):
                    new.append(_value(lines.readline(), old.as_py(), field.type))
                    number += 1
                try:
                    filled = pyarrow.array(new, field.type)
                except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
                    first = number - len(new)
                    text = f"rows {first} to {number - 1} do not fit column {field.name!r}: {_first_line(error)}"
                    raise TableError(f"{text}: make a column of the JSON") from None
                _check_nothing_is_lost(filled, new, field, number - len(new))
                writer.write_table(rows.set_column(place, field, filled))


class TableSink:
    """Takes the rows' new cells, one a write, and writes the table into `raw` when it is closed; `raw` stays open."""

    def __init__(self, raw: BinaryIO, table: Table) -> None:
        self._raw = raw
        self._table = table
        import tempfile

        self._lines = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`, or with this object

    def write(self, data: bytes, /) -> int:
        """Take a cell, with the end of its line."""
        if data:
            self._lines.write(line_of(data.removesuffix(b"\n")))
        return len(data)

    def flush(self) -> None:
        """Do nothing: a table is written as a whole."""

    def close(self) -> None:
        """Write the table."""
        with self._lines as lines:
            lines.seek(0)
            write_table(self._table, cast("BinaryIO", lines), self._raw)


def _value(line: bytes, old: object, kind: "pa.DataType") -> object:
    """Return the value of the cell that a line stands for."""
    if not line:
        raise TableError("the table has more rows than when it was read: run it again")
    text = msgspec.json.decode(line, type=str)
    if not text:
        return old
    if not _is_text(kind):
        return msgspec.json.decode(text)
    return text.encode() if "binary" in str(kind) else text


def _check_nothing_is_lost(filled: "pa.Array", new: list[object], field: "pa.Field", first: int) -> None:
    """A struct takes the fields that its column has, and drops any other without a word."""
    if _is_text(field.type):
        return
    for number, (kept, wanted) in enumerate(zip(filled, new, strict=True), first):
        if _present(kept.as_py()) != _present(wanted):
            raise TableError(f"column {field.name!r} has no field for all of row {number}: make a column of the JSON")


def _column(table: "pq.ParquetFile", column: str | None) -> str:
    schema = table.schema_arrow
    able = [field.name for field in schema if _is_text(field.type) or _is_messages(field.type)]
    if column is not None:
        if column in able:
            return column
        if column in schema.names:
            kind = str(schema.field(column).type)
            raise ColumnError(
                f"column {column!r} holds {kind:.80}, neither text nor messages: make a column of the JSON"
            )
        raise ColumnError(f"there is no column {column!r}: name one of {', '.join(schema.names)} with --column")
    head = next(table.iter_batches(batch_size=_HEAD_ROWS, columns=able), None) if able else None
    if head is None and able:
        return str(able[0])
    found = [
        name for name in able if head and (_is_messages(schema.field(name).type) or _begins_json(head.column(name)))
    ]
    if len(found) == 1:
        return str(found[0])
    problem = f"columns {', '.join(found)} all look like transcripts" if found else "no column looks like transcripts"
    raise ColumnError(f"{problem}: name one of {', '.join(schema.names)} with --column")


def _is_text(kind: "pa.DataType") -> bool:
    return str(kind) in {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}


def _is_messages(kind: "pa.DataType") -> bool:
    item = getattr(kind, "value_type", None)
    return item is not None and hasattr(item, "get_field_index") and item.get_field_index("role") >= 0


def _begins_json(values: "pa.Array") -> bool:
    texts = [_json(value.as_py()).lstrip() for value in values]
    return any(texts) and all(not text or text[:1] in {b"{", b"["} for text in texts)


def _json(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    return b"" if value is None else msgspec.json.encode(_present(value))


def _present(value: object) -> object:
    if isinstance(value, dict):
        return {key: _present(item) for key, item in value.items() if item is not None}
    return [_present(item) for item in value] if isinstance(value, list) else value


def _compression(table: "pq.ParquetFile") -> str:
    if not table.num_row_groups or not table.metadata.num_columns:
        return "snappy"
    codec = str(table.metadata.row_group(0).column(0).compression)
    return "none" if codec == "UNCOMPRESSED" else codec.lower()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _packages() -> "tuple[pa, pq]":
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("Parquet needs the package pyarrow: pip install 'turnfold[parquet]'") from error
    return pa, pq
