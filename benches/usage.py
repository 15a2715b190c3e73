"""Compare counts with what providers reported: every recorded request of a folder whose response has a usage.

    python benches/usage.py FOLDER [--off]

Prints, for each provider and family of models, the requests, the median and 95th percentile of the error, the share
that is exact and the share whose report lies in the interval, as Markdown. Then those requests alone whose body holds
all that is counted, so without what hosted tools fetched meanwhile, what only the server holds, and links: how many,
their median error, and that error calibrated: each half of them by a factor learnt on the other half.
`--off` lists each request that is off by more than 5 %, with the first of these that it holds: tools that the provider
runs, content that only the server holds, links to media, media, reasoning, a schema, tools of the caller; "under 40
tokens" and "text" for the rest.
FOLDER is laid out as corpus_sources.py says.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from usage_sources import exchanges

import turnfold

WINDOW = 5.0

ELSEWHERE = ("hosted tool", "held by the server", "linked", "written by hand")
"""Reasons why a body does not hold all that its usage counts, or the usage is no count."""


@dataclass(frozen=True)
class Pair:
    """One request, our count and the provider's."""

    name: str
    family: str
    count: turnfold.TokenCount
    reported: int
    why: str

    def error(self, n: float | None = None) -> float:
        """The error in percent of the report."""
        return 100 * ((self.count.n if n is None else n) / self.reported - 1)


def family_of(wire: str, model: str) -> str:
    """The model's family: its name without dates and sizes."""
    name = model.lower().rsplit("/", 1)[-1]
    for pattern, family in FAMILIES:
        if match := re.search(pattern, name):
            return f"{wire}: {match.expand(family)}"
    return f"{wire}: other"


FAMILIES = (
    (r"claude-(?:opus|sonnet|haiku|fable|mythos)-(?:4-[78]|5)", r"claude from 4.7"),
    (r"claude", r"claude up to 4.6"),
    (r"gpt-oss", r"gpt-oss"),
    (r"search", r"search previews"),
    (r"(gpt-5|gpt-4o|gpt-4\.1|gpt-4|gpt-3\.5|o1|o3|o4)", r"\1"),
    (r"gemini-(\d(?:\.\d)?)", r"gemini \1"),
    (r"(nova|mistral|llama|qwen|deepseek|kimi|grok)", r"\1"),
)

HOSTED = (
    "web_search|file_search|code_interpreter|mcp|computer|image_generation|code_execution|web_fetch|tool_search|memory"
    "|bash|text_editor|local_shell|shell|googleSearch|google_search|codeExecution|urlContext|url_context|fileSearch"
)
MEDIA = (
    "image_url|input_audio|image|inlineData|inline_data|fileData|file_data|document|file|input_image|input_file|video"
)
LINKED = r'"(fileUri|file_uri|file_url|file_id|s3Location)"|"(url|image_url)": ?"https?:'
HELD = "previous_response_id|conversation|cachedContent|cached_content"
REASONING = "encrypted_content|redacted_thinking|reasoningContent|thoughtSignature|thinking|reasoning"
SCHEMA = "json_schema|responseSchema|response_schema|output_format|responseJsonSchema"
TOOLS = "tools|toolConfig|tool_calls|functionCall"

WHY = (
    ("hosted tool", rf'"({HOSTED})[^"]*"'),
    ("held by the server", rf'"({HELD})": ?["{{]'),
    ("linked", LINKED),
    ("media", rf'"({MEDIA})"'),
    ("reasoning", rf'"({REASONING})": ?["{{\[]'),
    ("schema", rf'"({SCHEMA})"'),
    ("tools", rf'"({TOOLS})": ?[\[{{]'),
)


def explained(body: str, reported: int) -> str:
    """What in a request a count can be off by."""
    for reason, pattern in WHY:
        if re.search(pattern, body):
            return reason
    return "under 40 tokens" if reported < 40 else "text"


def pairs(folder: Path) -> Iterator[Pair]:
    """Yield each request of the folder whose response reports its tokens."""
    for recording in exchanges(folder):
        try:
            transcript = turnfold.Transcript.from_json(recording.body, format=recording.format)
        except turnfold.ReadError:
            continue
        model, reported = recording.model or "", recording.prompt_tokens
        family = family_of(recording.format, model) + (f", {recording.service}" if recording.service else "")
        count = transcript.tokens(model=model or None)
        why = "written by hand" if recording.by_hand else explained(recording.body.decode(), reported)
        yield Pair(recording.name, family, count, reported, why)


def calibrated(found: list[Pair]) -> list[float]:
    """Errors of each half of the requests, every second one, by a calibration that saw the other half."""
    errors: list[float] = []
    for learnt, judged in ((found[::2], found[1::2]), (found[1::2], found[::2])):
        calibration = turnfold.Calibration()
        for pair in learnt:
            calibration = calibration.observe(pair.count, pair.reported)
        errors += (pair.error(calibration.apply(pair.count).n) for pair in judged)
    return errors


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--off", action="store_true", help="list what is off by more than 5 %%")
    args = parser.parse_args()
    families: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs(args.folder):
        families[pair.family].append(pair)
    columns = ("format: family", "requests", "median error", "p95", "exact", "inside", "off by > 5 %")
    columns = (*columns, "all in the body", "median error", "calibrated")
    print(f"| {' | '.join(columns)} |")
    print("|---|---:|---:|---:|---:|---:|---|---:|---:|---:|")
    for family, found in sorted(families.items()):
        errors = [abs(pair.error()) for pair in found]
        off: dict[str, int] = defaultdict(int)
        for pair in found:
            if abs(pair.error()) > WINDOW:
                off[pair.why] += 1
        inside = sum(pair.count.lo <= pair.reported <= pair.count.hi for pair in found)
        exact = sum(pair.count.n == pair.reported for pair in found)
        reasons = ", ".join(f"{why} {n}" for why, n in sorted(off.items(), key=lambda item: -item[1]))
        own = [pair for pair in found if pair.why not in ELSEWHERE]
        judged = [abs(error) for error in calibrated(own)]
        alone = f"{statistics.median(abs(pair.error()) for pair in own):.1f} %" if own else "-"
        print(
            f"| {family} | {len(found)} | {statistics.median(errors):.1f} % | {percentile(errors, 0.95):.0f} % "
            f"| {100 * exact / len(found):.0f} % | {100 * inside / len(found):.0f} % "
            f"| {reasons or '-'} | {len(own)} | {alone} "
            f"| {f'{statistics.median(judged):.1f} %' if len(judged) > 9 else '-'} |"
        )
    if args.off:
        for found in families.values():
            for pair in found:
                if abs(pair.error()) > WINDOW:
                    print(
                        json.dumps({"name": pair.name, "n": pair.count.n, "reported": pair.reported, "why": pair.why})
                    )
    return 0 if families else 2


if __name__ == "__main__":
    sys.exit(main())
