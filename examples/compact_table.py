"""Compact the transcripts of a table with Daft: on one machine, or with its Ray runner on many.

    python examples/compact_table.py 'in/*.parquet' out --column messages --limit-tokens 8000
    python examples/compact_table.py 'in/*.jsonl' out --limit-tokens 8000 --model my-model --base-url http://host/v1
    DAFT_RUNNER=ray python examples/compact_table.py ...

A transcript is a string of JSON in the column that is named, or without one a whole line of JSON lines (its column is
`text` then). The output is a folder of Parquet files: the table's columns with the compacted transcripts in place of
the old, and `turnfold`, what became of each row. Rows that fail stay as they were.

Needs turnfold[daft], and for a model turnfold[openai] and its key in OPENAI_API_KEY, on each machine.
Exit codes: 0, 1 where a row failed, 2 where nothing was done.
"""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import daft

from turnfold import Policy, presets
from turnfold.integrations.daft import Cell, compact_column
from turnfold.summarizers import OpenAICompatible

LINE = "text"


def read(path: str, column: str | None) -> daft.DataFrame:
    """Read a table; without a column, lines."""
    if column is None:
        return daft.read_text(path)
    return daft.read_parquet(path) if path.endswith(".parquet") else daft.read_json(path)


def compacted(
    table: daft.DataFrame, column: str, policy: Policy, *, model: str | None, base_url: str | None, concurrency: int
) -> daft.DataFrame:
    """Return the table with `column` compacted, and `turnfold` beside it."""
    make_summarizer = None if model is None else partial(OpenAICompatible, model, base_url=base_url)
    table = table.with_column(
        "turnfold", compact_column(table[column], policy, make_summarizer, concurrency=concurrency)
    )
    cell = daft.col("turnfold")
    body = daft.functions.when(cell["body"].not_null(), cell["body"]).otherwise(daft.col(column))
    rest = {name: cell[name] for name in Cell.__annotations__ if name != "body"}
    return table.with_columns({column: body, "turnfold": daft.functions.to_struct(**rest)})


def main() -> int:
    """Read, compact, write, and print what became of the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", help="a path, glob or URL: .parquet or JSON lines")
    parser.add_argument("output", help="a folder that is not there yet, or its URL")
    parser.add_argument("--column", help="the column of transcripts")
    parser.add_argument("--limit-tokens", type=int, required=True, help="compact what has more tokens")
    parser.add_argument("--model", help="who writes the summaries; without one they are made by rule")
    parser.add_argument("--base-url", help="where that model is served")
    parser.add_argument("--concurrency", type=int, default=16, help="rows in work at once in each worker (%(default)s)")
    given = parser.parse_args()
    if Path(given.output).exists():
        parser.error(f"{given.output} is there already: name a folder that is not")
    column = given.column or LINE
    try:
        table = read(given.input, given.column)
    except FileNotFoundError as error:
        parser.error(str(error))
    if column not in table.column_names:
        parser.error(f"there is no column {column!r}: name one of {', '.join(table.column_names)}")
    table = compacted(
        table,
        column,
        presets.token_threshold(limit_tokens=given.limit_tokens),
        model=given.model,
        base_url=given.base_url,
        concurrency=given.concurrency,
    )
    written = table.write_parquet(given.output)
    cells = daft.read_parquet(written.to_pydict()["path"])
    rows = (
        cells.select(daft.col("turnfold").unnest())
        .groupby("status")
        .agg(
            daft.col("tokens_before").count("all").alias("rows"),
            daft.col("tokens_before").sum(),
            daft.col("tokens_after").sum(),
        )
    )
    statuses = rows.sort("status").to_pylist()
    for row in statuses:
        tokens = "" if row["tokens_before"] is None else ", {tokens_before} to {tokens_after} tokens".format(**row)
        print(f"{row['status']}: {row['rows']} rows{tokens}")
    return int(any(row["status"] == "failed" for row in statuses))


if __name__ == "__main__":
    status = main()
    if os.environ.get("DAFT_RUNNER", "native") != "native":
        sys.exit(status)
    # A thread of the native runner may let go of the interpreter while that ends, which then ends by a signal in place
    # of this status. All is written by now.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
