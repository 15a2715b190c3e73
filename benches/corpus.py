"""Drive every recorded transcript of a folder through the kernel and the compactor, and judge each step by other code.

    python benches/corpus.py FOLDER [--keep-messages K ...] [--share S ...] [--verbose]

For each transcript: it is read; leaves byte-identical; every text block counts as tiktoken counts it, in two encodings;
and for each K and S it compacts to a valid transcript or a reason, where the limit is the share S of its own tokens.
Validity is judged by a small checker here, not by turnfold's own scan. FOLDER is laid out as corpus_sources.py says.
Prints totals, and each failure with the transcript's name. Exits 1 on a failure, 2 where the folder holds nothing.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import tiktoken
from corpus_sources import ANTHROPIC, BEDROCK, MISTRAL, OPENAI, Recording, recordings

import turnfold
from turnfold.model.plan import KeepRange
from turnfold.testing.oracle import tiktoken_encodings

ENCODINGS = ("o200k_base", "cl100k_base")


class Totals:
    """What was seen, and what failed."""

    def __init__(self, oracle: dict[str, tiktoken.Encoding]) -> None:
        self.oracle = oracle
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []
        self.seconds: Counter[str] = Counter()

    def fail(self, recording: Recording, text: str) -> None:
        self.failures.append(f"{recording.name}: {text}")


def unpaired(messages: list[dict[str, object]], wire: str) -> set[str]:
    """Ids of calls and results that stand alone or in the wrong place, by the providers' published rules."""
    if wire in (OPENAI, MISTRAL):
        return _unpaired_openai(messages)
    return _unpaired_anthropic([_typed(m) for m in messages] if wire == BEDROCK else messages)


def _unpaired_openai(messages: list[dict[str, object]]) -> set[str]:
    bad: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            identifier = str(message.get("tool_call_id"))
            if identifier in waiting:
                waiting.remove(identifier)
            else:
                bad.add(identifier)
            continue
        bad.update(waiting)
        waiting = [str(call.get("id")) for call in message.get("tool_calls") or [] if isinstance(call, dict)]
    return bad | set(waiting)


def _blocks(message: dict[str, object], kind: str, key: str) -> list[str]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [str(b.get(key)) for b in content if isinstance(b, dict) and b.get("type") == kind]


def _typed(message: dict[str, object]) -> dict[str, object]:
    """A Converse message with its calls and results spelled as Anthropic spells them."""
    content: list[object] = []
    for block in message["content"] if isinstance(message["content"], list) else []:
        if isinstance(block.get("toolUse"), dict) and not block["toolUse"].get("type"):
            content.append({"type": "tool_use", "id": block["toolUse"].get("toolUseId")})
        if isinstance(block.get("toolResult"), dict) and not block["toolResult"].get("type"):
            content.append({"type": "tool_result", "tool_use_id": block["toolResult"].get("toolUseId")})
    return {"role": message["role"], "content": content}


def _unpaired_anthropic(messages: list[dict[str, object]]) -> set[str]:
    bad: set[str] = set()
    waiting: list[str] = []
    previous = None
    for message in messages:
        if message["role"] != previous:
            if message["role"] == "assistant":
                bad.update(waiting)
                waiting = []
            previous = message["role"]
        if message["role"] == "assistant":
            waiting.extend(_blocks(message, "tool_use", "id"))
            continue
        for identifier in _blocks(message, "tool_result", "tool_use_id"):
            if identifier in waiting:
                waiting.remove(identifier)
            else:
                bad.add(identifier)
    return bad | set(waiting)


def messages_of(body: bytes) -> list[dict[str, object]]:
    whole = json.loads(body)
    return whole if isinstance(whole, list) else whole["messages"]


def fields_of(body: bytes) -> dict[str, object]:
    whole = json.loads(body)
    return {} if isinstance(whole, list) else {key: value for key, value in whole.items() if key != "messages"}


def texts_of(messages: list[dict[str, object]]) -> list[str]:
    """The plain texts that a reader of the JSON sees: string contents and `text` parts."""
    found: list[str] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            found.append(content)
        elif isinstance(content, list):
            found.extend(
                part["text"]
                for part in content
                if isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str)
            )
    return found


def check_counts(recording: Recording, transcript: turnfold.Transcript, totals: Totals) -> None:
    """Every text block counts as tiktoken counts it, and no text that the JSON holds is left out."""
    seen: set[str] = set()
    for index in range(len(transcript)):
        for block in transcript.blocks(index):
            if not block.text:
                continue
            seen.add(block.text)
            totals.seen["text blocks"] += 1
            for name in ENCODINGS:
                ours = turnfold.count(block.text, name)
                theirs = len(totals.oracle[name].encode_ordinary(block.text))
                totals.seen[f"tokens, {name}"] += theirs
                if ours != theirs:
                    totals.fail(recording, f"{block.path} counts {ours} by {name}, tiktoken {theirs}")
    for text in texts_of(messages_of(recording.body)):
        plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if plain and plain not in seen and not any(plain in other for other in seen):
            totals.fail(recording, f"a text of {len(text)} characters is in no block")


def check_compaction(
    recording: Recording, transcript: turnfold.Transcript, keep_messages: int, share: float, totals: Totals
) -> None:
    """It compacts to a valid transcript or a reason; what is kept keeps its bytes; a second run changes nothing."""
    before = transcript.tokens(encoding=ENCODINGS[0])
    policy = turnfold.presets.token_threshold(limit_tokens=max(1, int(before.n * share)), keep_messages=keep_messages)
    started = time.perf_counter()
    outcome = turnfold.compact_sync(transcript, policy, encoding=ENCODINGS[0])
    totals.seconds["compact"] += time.perf_counter() - started
    if isinstance(outcome, turnfold.Skip):
        totals.seen[f"skipped: {outcome.reason}"] += 1
        return
    totals.seen["compacted"] += 1
    totals.seen["tokens before"] += outcome.before.n
    totals.seen["tokens after"] += outcome.after.n
    totals.seen["identifiers kept"] += len(outcome.identifiers.kept)
    totals.seen["identifiers lost"] += len(outcome.identifiers.lost)
    if outcome.after.n >= outcome.before.n:
        totals.fail(recording, f"grew from {outcome.before.n} to {outcome.after.n} tokens")
    body = outcome.transcript.to_json()
    messages = messages_of(body)
    bad = unpaired(messages, recording.format) - unpaired(messages_of(recording.body), recording.format)
    if bad:
        totals.fail(recording, f"compacted transcript has unpaired ids {sorted(bad)[:3]}")
    at = 0
    for tile in outcome.plan.tiles:
        count = tile.stop - tile.start if isinstance(tile, KeepRange) else 1
        if isinstance(tile, KeepRange):
            for k in range(count):
                if outcome.transcript.message_json(at + k) != transcript.message_json(tile.start + k):
                    totals.fail(recording, f"kept message {tile.start + k} changed its bytes")
        at += count
    if fields_of(body) != fields_of(recording.body):
        totals.fail(recording, "a field outside the messages changed")
    second = turnfold.Transcript.from_json(body, format=recording.format)
    again = turnfold.compact_sync(second, policy, encoding=ENCODINGS[0])
    if not isinstance(again, turnfold.Skip):
        totals.fail(recording, f"a second compaction took {again.before.n} to {again.after.n} tokens")


def check(recording: Recording, args: argparse.Namespace, totals: Totals) -> None:
    """All steps for one transcript."""
    totals.seen[recording.format] += 1
    totals.seen["bytes"] += len(recording.body)
    started = time.perf_counter()
    transcript = turnfold.Transcript.from_json(recording.body, format=recording.format)
    totals.seconds["read"] += time.perf_counter() - started
    totals.seen["messages"] += len(transcript)
    if transcript.to_json() != recording.body:
        totals.fail(recording, "does not leave byte-identical")
    try:
        if turnfold.Transcript.from_json(recording.body).format != recording.format:
            totals.seen["detected as the other format"] += 1
    except turnfold.ReadError:
        totals.seen["format not detected"] += 1
    check_counts(recording, transcript, totals)
    report = turnfold.scan(transcript)
    totals.seen["clean" if report.ok else "with error findings"] += 1
    totals.seen["pairs"] += len(report.pairs)
    if recording.prompt_tokens:
        tokens = transcript.tokens()
        totals.seen["usage reported"] += 1
        if not tokens.lo <= recording.prompt_tokens <= tokens.hi:
            totals.seen["usage outside the interval"] += 1
            if args.verbose:
                print(f"{recording.name}: reported {recording.prompt_tokens}, counted {tokens}")
    for keep_messages in args.keep_messages:
        for share in args.share:
            check_compaction(recording, transcript, keep_messages, share, totals)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep-messages", type=int, nargs="+", default=[0, 4])
    parser.add_argument("--share", type=float, nargs="+", default=[0.3, 0.8])
    parser.add_argument("--verbose", action="store_true", help="print counts that the provider's usage lies outside of")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        totals = Totals(tiktoken_encodings(Path(folder)))
    for recording in recordings(args.folder):
        try:
            check(recording, args, totals)
        except Exception as error:  # noqa: BLE001  # one bad transcript must not hide the rest
            totals.fail(recording, f"{type(error).__name__}: {error}")
    for name, value in totals.seen.items():
        print(f"{name:32} {value:>12,}")
    for name, seconds in totals.seconds.items():
        print(f"{name + ' seconds':32} {seconds:>12.2f}")
    for failure in totals.failures:
        print(f"FAIL {failure}")
    transcripts = sum(totals.seen[wire] for wire in (OPENAI, ANTHROPIC, BEDROCK, MISTRAL))
    print(f"{transcripts} transcripts, {len(totals.failures)} failures")
    if not transcripts:
        return 2
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
