"""What messages cost, from the usage of successive requests of one conversation.

    python benches/usage_turns.py FOLDER [--off]

Simulations of tau2-bench keep every message with the prompt tokens of the request that it answered, but not the
tools. Between two requests of one side only messages are added, so the difference of their prompts is what these cost.
Both sides are read, the agent's and that of the simulated user, for whom roles are exchanged. Prints, for each model
and what was added, how many differences there are, how many of them the count of the messages meets, and the errors.
`--off` lists what is not met. FOLDER is laid out as corpus_sources.py says.
"""

import argparse
import csv
import gzip
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import turnfold


@dataclass(frozen=True)
class Added:
    """What was added between two requests."""

    name: str
    model: str
    kind: str
    """`text`; or, of the answer's calls, how many, and whether text stands beside them."""
    count: turnfold.TokenCount
    reported: int


def added(folder: Path) -> Iterator[Added]:
    """Every step of every simulation in the folder, in the manifest's order."""
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["format"] == "tau2-sim"]
    for row in rows:
        document = json.loads(gzip.decompress((folder / row["file"]).read_bytes()))
        for side, key in (("assistant", "agent_info"), ("user", "user_info")):
            model = document["info"][key]["llm"].rsplit("/", 1)[-1]
            for index, simulation in enumerate(document["simulations"]):
                yield from _steps(f"{row['file']}#{index} {side}", model, side, simulation["messages"])


def _steps(name: str, model: str, side: str, told: list[dict]) -> Iterator[Added]:
    seen = [(message, sent) for message in told if (sent := _as_sent(message, side))]
    reports = [(message.get("usage") or {}).get("prompt_tokens") for message, _ in seen]
    asked = [k for k, tokens in enumerate(reports) if tokens and seen[k][1]["role"] == "assistant"]
    body = json.dumps({"model": model, "messages": [sent for _, sent in seen]}).encode()
    transcript = turnfold.Transcript.from_json(body, format="openai.chat")
    for first, after in pairwise(asked):
        answer = seen[first][1]
        calls = len(answer.get("tool_calls") or [])
        beside = " beside text" if calls and answer["content"] else ""
        kind = f"{'several calls' if calls > 1 else 'a call'}{beside}" if calls else "text"
        count = transcript.tokens(first, after, model=model)
        yield Added(f"{name} {first}:{after}", model, kind, count, reports[after] - reports[first])


def _as_sent(message: dict, side: str) -> dict | None:
    """A message as the model of that side sees it; `None` where it does not."""
    calls = message.get("tool_calls") or []
    if message["role"] == "tool":
        own = (message.get("requestor") or "assistant") == side
        return {"role": "tool", "tool_call_id": message["id"], "content": message["content"]} if own else None
    if message["role"] != side:
        return None if calls else {"role": "user", "content": message["content"]}
    sent = {"role": "assistant", "content": message["content"]}
    if calls:
        sent["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for call in calls
        ]
    return sent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--off", action="store_true", help="list what is not exact")
    args = parser.parse_args()
    found: dict[tuple[str, str], list[Added]] = defaultdict(list)
    for step in added(args.folder):
        found[step.model, step.kind].append(step)
    print("| model | added | steps | exact | inside | largest error | median error |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for (model, kind), steps in sorted(found.items()):
        errors = [100 * abs(step.count.n / step.reported - 1) for step in steps]
        exact = sum(step.count.n == step.reported for step in steps)
        inside = sum(step.count.lo <= step.reported <= step.count.hi for step in steps)
        print(
            f"| {model} | {kind} | {len(steps)} | {exact} | {inside} "
            f"| {max(errors):.1f} % | {statistics.median(errors):.1f} % |",
        )
    if args.off:
        for steps in found.values():
            for step in steps:
                if step.count.n != step.reported:
                    print(json.dumps({"name": step.name, "n": step.count.n, "reported": step.reported}))
    return 0 if found else 2


if __name__ == "__main__":
    sys.exit(main())
