"""Calls of the kernel that take many messages at once give what one call a message gives."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnfold
from turnfold import Transcript, _core, checks, estimate
from turnfold.model.blocks import BlockKind
from turnfold.quoting import neutralise

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(ROOT.glob("samples/*/*.json"))
MASK = re.compile(r"\[(?:Old|Repeated|Outdated) output of .*: \d+ tokens left out\]")
KINDS: tuple[BlockKind, ...] = ("text", "tool_call", "tool_result", "reasoning", "media", "opaque")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@settings(max_examples=4)
@given(data=st.data())
def test_a_sample(path: Path, data: st.DataObject) -> None:
    whole = Transcript.from_json(path.read_bytes())
    ends = st.integers(0, len(whole))
    start, stop = sorted((data.draw(ends), data.draw(ends)))
    # In segments of its own, as a splice or an append leaves them.
    transcript = whole.splice([range(start), *map(whole.message_json, range(start, stop)), range(stop, len(whole))])
    blocks_one_by_one(transcript, start, stop)
    results_one_by_one(transcript, start, stop)
    identifiers_one_by_one(transcript, whole, start, stop)


def blocks_one_by_one(transcript: Transcript, start: int, stop: int) -> None:
    indexes = range(len(transcript))
    found = [(m, k, block) for m in range(start, len(transcript)) for k, block in enumerate(transcript.blocks(m))]
    for kind in KINDS:
        assert transcript.places(kind, start) == [(m, k, block.name) for m, k, block in found if block.kind == kind]
    for model in (None, "claude-sonnet-4-5", "gpt-4o", "glm-4.6"):
        one_by_one = [transcript.tokens(index, index + 1, model=model) for index in indexes]
        assert transcript.each_tokens(bound=True, model=model) == [count.hi for count in one_by_one]
        assert transcript.each_tokens(bound=False, model=model) == [count.n for count in one_by_one]
        counted = transcript.counter(None, model)
        assert counted(start, stop) == transcript.tokens(start, stop, model=model)
    for part in (b"role", b"error", "é".encode(), b""):
        assert transcript.messages_with(part) == [m for m in indexes if part in transcript.message_json(m)]
    assert checks.findings(transcript) == turnfold.scan(transcript).findings
    parts = transcript.splice([range(start)])
    assert checks.findings(parts, before=transcript) == turnfold.scan(parts, before=transcript).findings


def results_one_by_one(transcript: Transcript, start: int, stop: int) -> None:
    calls = {
        (p.result_message, p.result_block): (p.call_message, p.call_block) for p in turnfold.scan(transcript).pairs
    }
    rewritable = []
    for m in range(start, stop):
        counted = zip(
            transcript.blocks(m),
            transcript.block_heads[m],
            transcript.block_tokens(m, encoding="o200k_base"),
            strict=True,
        )
        for k, (block, head, tokens) in enumerate(counted):
            if block.kind == "tool_result" and block.rewritable:
                named = calls.get((m, k), (m, k))
                name = transcript.blocks(named[0])[named[1]].name
                rewritable.append((m, k, tokens, name, MASK.fullmatch(block.text) and head.text_bytes <= 1 << 10))
    found = checks.open_results(transcript, start, stop, encoding="o200k_base")
    assert found == [(*result, name) for *result, name, masked in rewritable if not masked]
    masks_one_by_one(found)
    edits = [(m, {k: f"line {k}"}) for m, k, *_ in rewritable]
    edited_one_by_one(transcript, edits)
    empty = transcript.splice([])
    alone = [empty.append(transcript.rewrite(*edit)).tokens(0, 1) for edit in edits]
    assert transcript.edited_tokens(edits, bound=False) == [count.n for count in alone]
    assert transcript.edited_tokens(edits, bound=True) == [count.hi for count in alone]


def masks_one_by_one(results: list[checks.OpenResult]) -> None:
    reasons: list[checks.MaskReason] = [("Old", "Repeated", "Outdated")[place % 3] for place in range(len(results))]
    for least in (0, 30):
        expected: dict[int, list[tuple[int, str]]] = {}
        for (m, k, tokens, name), reason in zip(results, reasons, strict=True):
            tool = " ".join((name or "a tool").split())[:64]
            line = f"[{reason} output of {tool}: {tokens} tokens left out]"
            assert MASK.fullmatch(line)
            if tokens >= least and turnfold.count(line, encoding="o200k_base") < tokens:
                expected.setdefault(m, []).append((k, line))
        found = checks.masks(results, reasons, encoding="o200k_base", min_tokens=least)
        assert found == (list(expected), list(map(tuple, expected.values())))


def edited_one_by_one(transcript: Transcript, edits: list[tuple[int, dict[int, str]]]) -> None:
    by_message: dict[int, dict[int, str]] = {}
    for index, texts in edits:
        by_message.setdefault(index, {}).update(texts)
    edited = transcript.edited([(index, tuple(texts.items())) for index, texts in by_message.items()])
    parts: list[range | bytes] = [
        transcript.rewrite(index, by_message[index]) if index in by_message else range(index, index + 1)
        for index in range(len(transcript))
    ]
    spliced = transcript.splice(parts)
    assert (edited.to_json(), edited.tokens()) == (spliced.to_json(), spliced.tokens())
    assert edited.fingerprint == spliced.fingerprint
    if len(by_message) > 1:
        with pytest.raises(turnfold.errors.ArgumentError, match="in order"):
            transcript.edited(list(reversed(by_message.items())))


def identifiers_one_by_one(transcript: Transcript, result: Transcript, start: int, stop: int) -> None:
    ranges = [range(start, stop), range(start)]
    found = dict.fromkeys(
        name for part in ranges for index in part for name in transcript.identifiers(index, index + 1)
    )
    assert transcript.identifiers_of(ranges) == tuple(found)
    known = ["src/nowhere.py", *list(found)[1::3]]
    names = list(dict.fromkeys([*known, *found]))
    for tail in (0, start, len(result)):
        early = result.splice([range(tail)]).surviving(names)
        late = result.splice([range(tail, len(result))]).surviving(names)
        only_late = [behind and not before for before, behind in zip(early, late, strict=True)]
        around = checks.identifiers_around(transcript, ranges, result, tail, known=known)
        assert around == (names, list(early), only_late)


def test_a_range_that_is_not_there() -> None:
    transcript = Transcript.from_json(json.dumps([{"role": "user", "content": "a"}]).encode())
    with pytest.raises(turnfold.errors.ArgumentError):
        checks.open_results(transcript, 0, 9, encoding="o200k_base")
    assert transcript.places("text", -1) == transcript.places("text") == [(0, 0, None)]
    assert transcript.places("text", 9) == []
    for ranges in ([range(2)], [range(1), range(1, 3)]):
        with pytest.raises(turnfold.errors.ArgumentError):
            transcript.identifiers_of(ranges)
        with pytest.raises(turnfold.errors.ArgumentError):
            checks.identifiers_around(transcript, ranges, transcript, 0)


@pytest.mark.parametrize("letters", ["a", "\u0448 a", "\U0001f600", "\U0001f600\u0448"])
@pytest.mark.parametrize("ahead", range(4))
def test_a_long_text_comes_and_goes_as_it_is(letters: str, ahead: int) -> None:
    text = "x" * ahead + letters * (300_000 // len(letters))
    transcript = Transcript.from_messages([{"role": "user", "content": text}], format="openai.chat")
    assert transcript.blocks(0)[0].text == text
    assert next(transcript.parts(0, 1))[0].text == text
    assert neutralise(text + "<turnfold-x") == text + "&lt;turnfold-x"
    halves = text.encode("utf-16-le").decode("utf-16-le") + "\ud83d\ude00" * 3
    assert estimate(halves) == estimate(text + "\U0001f600" * 3)


def test_texts_that_are_none_are_refused() -> None:
    for wrong in ("ab", 7, {"a"}):
        with pytest.raises(TypeError, match="a list or a tuple"):
            _core.count_many(wrong, "o200k_base")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="put one text into a list"):
        turnfold.count_many("ab")
    with pytest.raises(TypeError, match="not a str"):
        turnfold.count_many(["a", 7])  # type: ignore[list-item]
    with pytest.raises(turnfold.errors.ArgumentError, match="as many speakers"):
        _core.Shown(["a"], b"", [], [])


def test_results_that_are_masked_already_however_that_is_spelled() -> None:
    line = "[Old output of ls: 5 tokens left out]"
    spellings = (
        f'"{line}"',
        rf'"\u005b{line[1:]}"',
        rf'"{line[:-1]}\u005d"',
        f'[{{"type": "text", "text": "{line}"}}]',
    )
    others = (rf'"\n{line}"', f'"{line[1:]}"', f'"{line} "', '""')
    blank = f'[{{"type": "text", "text": ""}}, {{"type": "text", "text": "{line}"}}]'
    texts = (*spellings, *others)
    calls = ", ".join(f'{{"type": "tool_use", "id": "t{k}", "name": "ls", "input": {{}}}}' for k in range(9))
    results = ", ".join(
        f'{{"type": "tool_result", "tool_use_id": "t{k}", "content": {text}}}' for k, text in enumerate((*texts, blank))
    )
    messages = (
        '{"role": "user", "content": "go"}',
        f'{{"role": "assistant", "content": [{calls}]}}',
        f'{{"role": "user", "content": [{results}]}}',
    )
    body = f'{{"model": "claude-sonnet-4-5", "messages": [{", ".join(messages)}]}}'
    transcript = Transcript.from_json(body.encode())
    results_one_by_one(transcript, 0, 3)
    found = checks.open_results(transcript, 0, 3, encoding="o200k_base")
    assert [block for _, block, *_ in found] == list(range(len(spellings), len(texts) + 1))
