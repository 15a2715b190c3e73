"""Writes each transcript of one file, changed or not, into another: what `compact` and `repair` do alike."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeVar

from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, Wanted, read_file, table_of
from turnfold.cli.outputs import AtomicFile, Target

Record = TypeVar("Record")

Outcomes = list[tuple[Record, Fault | None]]


def read_target(target: Target, wanted: Wanted, *, recognise: bool = True) -> tuple[Target, Iterator[Document | Fault]]:
    """Return the target by its name, which of stdin is known once its first document is read, and what it holds."""
    items = read_file(target.file, wanted, recognise=recognise)
    if target.file.path is not None:
        return target, items
    first = next(items, None)
    target = target.named_for(first.layout if isinstance(first, Document) else "json")
    return target, chain(() if first is None else (first,), items)


def rewrite_file(
    target: Target,
    wanted: Wanted,
    rewrite: Callable[[Document, Target], tuple[Outcomes[Record], bytes | None]],
    failed_record: Callable[[Fault, str], Record],
) -> Iterator[tuple[Record, Fault | None]]:
    """Write every transcript of the target's input into it; yield the records that `rewrite` makes, as they are done.

    `rewrite` returns records and the bytes to write, None where every transcript of the document failed.
    `failed_record` makes the record of a file that failed, whose input has that path. The file appears under its name
    when all are written. A transcript that fails leaves a blank line where it stood in JSON
    lines; a file in which all fail is not written.
    """
    written = failed = False
    target, items = read_target(target, wanted)
    try:
        with AtomicFile(target, table_of(target.file, wanted)) as out:
            for item in items:
                if isinstance(item, Fault):
                    failed = True
                    yield failed_record(item, item.path), item
                    continue
                if item.is_gap:
                    out.write(item.data + item.ending)
                    continue
                outcomes, body = rewrite(item, target)
                written, failed = written or body is not None, failed or body is None
                if body is not None or (item.layout == "jsonl" and not item.is_log):
                    out.write((body or b"") + item.ending)
                yield from outcomes
            if written or not failed:
                out.write(b"")
                out.commit()
    except BrokenPipeError:
        raise
    except OSError as error:
        fault = fault_of_os_error(target.shown, None, error)
        yield failed_record(fault, target.file.shown), fault
