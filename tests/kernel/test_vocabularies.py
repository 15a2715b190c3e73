"""Registered vocabularies count as their own libraries do: tiktoken for rank files, tokenizers for `tokenizer.json`."""

import base64
import json
import random
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import turnfold
from turnfold import Transcript, _core
from turnfold.errors import ArgumentError, UnknownEncodingError, VocabularyError

ROOT = Path(__file__).parents[2]
FOREIGN = "今天的会议 Привет мир 日本語テキスト 한국어 العربية 1234567 don't WE'LL it's naïve Ångström e\u0301"
CORPUS = [path.read_text() for path in sorted((ROOT / "python/turnfold/model").glob("*.py"))] + [FOREIGN] * 50

WORDS = st.sampled_from(
    [
        *("don't", "WE'LL", "I'ſ", "iPhone", "HTTPServer", "naïve", "ﬁ", "Ǆ", "१२३", "1234567", "٣", "x²", "def self"),
        *(" ", "  ", "   ", "\n", "\r\n", "\n\n ", "\t", "\u00a0", "\u3000", "\u2028", "\x00", "\x85", ". ", "?\n\n"),
        *("<|endoftext|>", "/*", "//", "...", "--------", "!?/\n", "return ", "日本語", "한국어", "ไทย", "हिन्दी"),
        *(
            "👩‍👩‍👧‍👦",
            "e\u0301",
            "A\u030a",
            "\u1100\u1161",
            "\u212a",
            "\u200d",
            "\ufeff",
            "a" * 100,
            " " * 100,
            "ab" * 60,
        ),
    ]
)
TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=20)), max_size=12).map("".join)

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
)
KIMI_LIKE = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^\p{Han}]]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"


def byte_level(*, use_regex: bool = False, space: bool = False) -> pre_tokenizers.ByteLevel:
    return pre_tokenizers.ByteLevel(add_prefix_space=space, use_regex=use_regex)


def splits(*patterns: str | Regex, behavior: str = "isolated", invert: bool = False) -> pre_tokenizers.PreTokenizer:
    steps = [pre_tokenizers.Split(pattern, behavior, invert) for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, byte_level()])


PRE_TOKENIZERS: dict[str, Callable[[], pre_tokenizers.PreTokenizer]] = {
    "gpt2": lambda: byte_level(use_regex=True),
    "space first": lambda: byte_level(use_regex=True, space=True),
    "no cuts": byte_level,
    "llama3": lambda: splits(Regex(LLAMA3)),
    "llama3 removed": lambda: splits(Regex(LLAMA3), behavior="removed", invert=True),
    "qwen2": lambda: splits(Regex(LLAMA3.replace("{1,3}", ""))),
    "o200k": lambda: splits(Regex(O200K)),
    "tekken": lambda: splits(Regex(TEKKEN)),
    "deepseek": lambda: splits(*map(Regex, DEEPSEEK)),
    "digits": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), byte_level(use_regex=True)]
    ),
    "merged": lambda: pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(". ", "merged_with_previous"),
            pre_tokenizers.Split(Regex(r"\n+"), "merged_with_next"),
            pre_tokenizers.Split(Regex(r"\s"), "contiguous"),
            byte_level(),
        ]
    ),
}


def trained(name: str, *, nfc: bool, ignore_merges: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[name]()
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1_200, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


@pytest.fixture(scope="module", params=PRE_TOKENIZERS)
def hugging_face(request: pytest.FixtureRequest) -> tuple[str, Tokenizer]:
    # Every other one: normal form C, merges as strings, whole pieces first.
    odd = list(PRE_TOKENIZERS).index(request.param) % 2 == 1
    tokenizer = trained(request.param, nfc=odd, ignore_merges=odd)
    content = json.loads(tokenizer.to_str())
    if odd:
        content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    name = f"test {request.param}"
    turnfold.register_vocabulary(name, json.dumps(content).encode())
    return name, tokenizer


@settings(max_examples=300)
@given(text=TEXTS)
def test_counts_and_ids_are_those_of_tokenizers(hugging_face: tuple[str, Tokenizer], text: str) -> None:
    name, tokenizer = hugging_face
    expected = tokenizer.encode(text, add_special_tokens=False).ids
    assert _core.encode(text, name) == expected
    assert [turnfold.count(text, name), turnfold.count(text, name)] == [len(expected)] * 2
    for limit in (0, len(expected) - 1, len(expected)):
        found = turnfold.count_up_to(text, max(limit, 0), name)
        assert found == (len(expected) if len(expected) <= max(limit, 0) else None)
        assert turnfold.fits(text, max(limit, 0), name) == (found is not None)
    bounds = turnfold.bounds(text, name)
    assert bounds.lo <= len(expected) <= bounds.hi


@given(text=TEXTS, max_tokens=st.integers(0, 40))
def test_a_truncated_text_fits_and_one_character_more_does_not(
    hugging_face: tuple[str, Tokenizer], text: str, max_tokens: int
) -> None:
    name, _ = hugging_face
    head, tail, both = (turnfold.truncate(text, max_tokens, name, keep=keep) for keep in ("head", "tail", "both"))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert max(turnfold.count(kept, name) for kept in (head, tail, both)) <= max_tokens
    if turnfold.count(text, name) <= max_tokens:
        assert head == tail == both == text
    else:
        assert turnfold.count(text[: len(head) + 1], name) > max_tokens
        assert turnfold.count(text[len(text) - len(tail) - 1 :], name) > max_tokens


def ranks_of(pattern: str) -> dict[bytes, int]:
    """Ranks as tiktoken's own small trainer gives them, with what published files have: gaps, and tokens that only
    whole pieces become."""
    from tiktoken._educational import bpe_train

    ranks = bpe_train("\n".join(CORPUS[:3] + [FOREIGN] * 9), 420, pattern, visualise=None)
    moved = {token: rank + (rank >= 300) * 7 for token, rank in ranks.items()}
    return moved | {b" zzqq": 2_000, b"qzqz": 2_001, b"\n\n\n\n\n": 2_003}


RANK_SHAPES = {"gpt2": GPT2, "llama3": LLAMA3, "o200k": O200K, "tekken": TEKKEN, "kimi": KIMI_LIKE}


@pytest.fixture(scope="module", params=[*RANK_SHAPES, "shuffled"])
def ranked(request: pytest.FixtureRequest) -> tuple[str, tiktoken.Encoding]:
    pattern = RANK_SHAPES.get(request.param, LLAMA3)
    ranks = ranks_of(pattern.replace("&&[^\\p{Han}]", ""))
    if request.param == "shuffled":
        numbers = list(ranks.values())
        random.Random(7).shuffle(numbers)
        ranks = dict(zip(ranks, numbers, strict=True))
    name = f"test ranks {request.param}"
    judge = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 2_500})
    turnfold.register_vocabulary(name, judge)
    return name, judge


@settings(max_examples=300)
@given(text=TEXTS)
def test_counts_and_ids_are_those_of_tiktoken(ranked: tuple[str, tiktoken.Encoding], text: str) -> None:
    name, judge = ranked
    expected = judge.encode_ordinary(text + " zzqq\n\n\n\n\n")
    assert _core.encode(text + " zzqq\n\n\n\n\n", name) == expected
    assert turnfold.count(text + " zzqq\n\n\n\n\n", name) == len(expected)
    bounds = turnfold.bounds(text + " zzqq\n\n\n\n\n", name)
    assert bounds.lo <= len(expected) <= bounds.hi
    assert _core.decode([*expected, 2_500], name) == judge.decode_bytes([*expected, 2_500])


def rank_file(ranks: dict[bytes, int]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


def test_one_vocabulary_from_a_path_from_bytes_and_from_tiktoken(tmp_path: Path) -> None:
    ranks, special = ranks_of(GPT2), {"<|end|>": 2_500}
    judge = tiktoken.Encoding("x", pat_str=GPT2, mergeable_ranks=ranks, special_tokens=special)
    path = tmp_path / "small.tiktoken"
    path.write_bytes(rank_file(ranks))
    name = "test from a path"
    turnfold.register_vocabulary(name, path, pattern=GPT2, special_tokens=special)
    turnfold.register_vocabulary(name, str(path), pattern=GPT2, special_tokens=special)
    turnfold.register_vocabulary(name, path.read_bytes(), pattern=GPT2, special_tokens=special)
    turnfold.register_vocabulary(name, judge)
    assert _core.encode(FOREIGN, name) == judge.encode_ordinary(FOREIGN)
    with pytest.raises(VocabularyError, match="take another name"):
        turnfold.register_vocabulary(name, judge, special_tokens={})
    with pytest.raises(VocabularyError, match="o200k_base"):
        turnfold.register_vocabulary("o200k_base", judge)
    with pytest.raises(UnknownEncodingError, match=r"o200k_base.*test from a path"):
        turnfold.count("x", "test of nothing")


def test_transcripts_are_counted_and_models_named_with_it() -> None:
    name = "test for transcripts"
    tokenizer = trained("llama3", nfc=False, ignore_merges=True)
    turnfold.register_vocabulary(name, tokenizer.to_str().encode())
    transcript = Transcript.from_messages([{"role": "user", "content": FOREIGN}], format="openai.chat")
    expected = len(tokenizer.encode(FOREIGN, add_special_tokens=False).ids)
    assert transcript.block_tokens(0, encoding=name) == [expected]
    assert transcript.tokens(encoding=name).n >= expected
    assert transcript.append({"role": "user", "content": FOREIGN}).block_tokens(1, encoding=name) == [expected]
    turnfold.register_model("test-llama-model", name)
    assert transcript.tokens(model="meta/test-llama-model-8b") == transcript.tokens(encoding=name)


def test_threads_agree() -> None:
    name = "test for threads"
    tokenizer = trained("gpt2", nfc=False, ignore_merges=False)
    turnfold.register_vocabulary(name, tokenizer.to_str().encode())
    texts = [text[start : start + 400] for text in CORPUS for start in range(0, len(text), 400)]
    expected = [turnfold.count(text, name) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: turnfold.count_many(texts, name), range(8)))
    assert found == [expected] * 8


def test_each_number_of_unicode_is_a_digit() -> None:
    tokenizer = trained("digits", nfc=False, ignore_merges=False)
    turnfold.register_vocabulary("test of numbers", tokenizer.to_str().encode())
    newer = [*range(0x11DDF, 0x11DEB), *range(0x16FF3, 0x16FF8)]
    known = [code for code in range(0x20, 0x110000) if unicodedata.category(chr(code)) in {"Nd", "Nl", "No"}]
    for code in (*known, *newer):
        text = f"a{chr(code) * 2}b"
        assert _core.encode(text, "test of numbers") == tokenizer.encode(text, add_special_tokens=False).ids, hex(code)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "日", "ab", "9", "'", "\u0301"])
def test_long_runs_are_counted_in_time(unit: str) -> None:
    name = "test for runs"
    turnfold.register_vocabulary(name, trained("tekken", nfc=True, ignore_merges=False).to_str().encode())
    text = unit * (300_000 // len(unit))
    assert turnfold.count(text, name) == len(_core.encode(text, name)) > 0
    assert turnfold.count(turnfold.truncate(text, 1_000, name), name) <= 1_000


Change = Callable[[dict[str, Any]], object]
UNFIT: list[tuple[str, Change]] = [
    (r"model\.type.*Unigram", lambda root: root["model"].update(type="Unigram")),
    (r"model\.type.*WordPiece", lambda root: root["model"].update(type="WordPiece")),
    (r"model\.dropout", lambda root: root["model"].update(dropout=0.1)),
    (r"model\.end_of_word_suffix", lambda root: root["model"].update(end_of_word_suffix="</w>")),
    (r"model\.merges\[0\]", lambda root: root["model"]["merges"].insert(0, ["a", "no such token"])),
    (r"merge 0 does not join", lambda root: root["model"]["merges"].insert(0, ["q", "ÿ"])),
    (r"model\.merges.*a list", lambda root: root["model"].update(merges=None)),
    (r"model\.vocab", lambda root: root["model"].update(vocab=[["a", 0.5]])),
    (r"model\.vocab", lambda root: root["model"]["vocab"].update(a=True)),
    (r"byte 0xFF has no token", lambda root: root["model"]["vocab"].pop("ÿ")),
    (r"normalizer.*NFKC", lambda root: root.update(normalizer={"type": "NFKC"})),
    (
        r"normalizers\[1\].*Lowercase",
        lambda root: root.update(
            normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
        ),
    ),
    (r"pre_tokenizer.*ByteLevel", lambda root: root.update(pre_tokenizer=None)),
    (r"pre_tokenizer.*ByteLevel", lambda root: root.update(pre_tokenizer={"type": "Metaspace"})),
    (
        r"pretokenizers\[0\].*Whitespace",
        lambda root: root["pre_tokenizer"]["pretokenizers"].insert(0, {"type": "Whitespace"}),
    ),
    (
        r"pretokenizers\[1\]\.add_prefix_space",
        lambda root: root["pre_tokenizer"]["pretokenizers"][1].update(add_prefix_space=True),
    ),
    (
        r"pretokenizers\[1\].*bytes instead of text",
        lambda root: root["pre_tokenizer"]["pretokenizers"].append({"type": "Digits", "individual_digits": True}),
    ),
    ("added_tokens", lambda root: root.update(added_tokens=5)),
    (r"pre_tokenizer\.pretokenizers", lambda root: root["pre_tokenizer"].update(pretokenizers=5)),
    (r"normalizer\.normalizers", lambda root: root.update(normalizer={"type": "Sequence", "normalizers": 5})),
    (r"model\.ignore_merges", lambda root: root["model"].update(ignore_merges="no")),
    *(
        (
            rf"cannot be run exactly.*{why}",
            lambda root, pattern=pattern: root["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": pattern}),
        )
        for pattern, why in [
            (r"\p{L}++|\s", "possessive"),
            (r"\p{L}*{2}|\s", "quantifier on a quantifier"),
            (r"\p{L}{2}+|\s", "quantifier on a quantifier"),
            (r"\s+(?!\S)|\p{L}", "look-ahead"),
            (r"(?<=a)b", "look-behind"),
            (r"a$", "line"),
            (r"^a", "line"),
            (r"\w+", "word characters"),
            (r"(?i:straße)", "ignoring case"),
            (r"a*", "nothing at all"),
            (r"(a", "unclosed"),
            (r"\p{Nonsense}", "property"),
            (r"a\>|b", "word edges"),
            (r"[\pL]+", "without braces"),
            (r"[\xe9]+", "without braces"),
            (r"\U00000061", "escape"),
            (r"\h+", "escape"),
            (r"a{2}?b", "optional repetition"),
            (r"(?U)a+", "flags"),
        ]
    ),
]


@pytest.mark.parametrize(("place", "change"), UNFIT, ids=range(len(UNFIT)))
def test_what_cannot_be_exact_is_refused_with_its_place(place: str, change: Change) -> None:
    root = json.loads(LLAMA3_FILE)
    change(root)
    with pytest.raises(VocabularyError, match=place):
        turnfold.register_vocabulary("test of what is unfit", json.dumps(root).encode())


LLAMA3_FILE = trained("llama3", nfc=False, ignore_merges=True).to_str()


def test_what_is_no_vocabulary_file_is_refused(tmp_path: Path) -> None:
    for content, why in [
        (b"\x0a\x0e\x0a\x05<unk>\x15\x00", "no token in base64"),
        (b"YQ== 0\nnonsense\n", "line 2"),
        (b"YQ== -1\n", "line 1"),
        (b"{", "no JSON"),
        (b'{"a":' * 100_000, "no JSON"),
        (b'{"a": 1}', "no tokenizer.json"),
        (b"[]", "no tokenizer.json"),
        (b"\xef\xbb\xbf{}", "no tokenizer.json"),
        (b"YQ== 0\n", "0x00 has no token"),
        (b"YQ== 0\nYQ== 1\n", "twice"),
    ]:
        with pytest.raises(VocabularyError, match=why):
            turnfold.register_vocabulary(
                "test of nothing", content, pattern=None if content.strip(b"\xef\xbb\xbf")[:1] in b"{[" else GPT2
            )
    with pytest.raises(VocabularyError, match="pattern="):
        turnfold.register_vocabulary("test of nothing", b"YQ== 0\n")
    with pytest.raises(ArgumentError, match="leave both out"):
        turnfold.register_vocabulary("test of nothing", LLAMA3_FILE.encode(), pattern="a")
    with pytest.raises(FileNotFoundError):
        turnfold.register_vocabulary("test of nothing", tmp_path / "none")
    with pytest.raises(ArgumentError, match="as bytes"):
        turnfold.register_vocabulary("test of nothing", "YQ== 0\nYg== 1\n", pattern=GPT2)
    wrongs: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"special_tokens": {"<e>": -5}}, ArgumentError, "no id"),
        ({"special_tokens": {5: 5}}, ArgumentError, "no text"),
        ({"special_tokens": ["<e>"]}, TypeError, "maps texts to ids"),
        ({"pattern": "\ud800"}, ArgumentError, "surrogate"),
        ({"pattern": 5}, TypeError, "pattern is a str"),
    ]
    for wrong, kind, why in wrongs:
        arguments: dict[str, Any] = {"pattern": GPT2, **wrong}
        with pytest.raises(kind, match=why):
            turnfold.register_vocabulary("test of nothing", b"YQ== 0\n", **arguments)
    with pytest.raises(UnknownEncodingError):
        turnfold.count("x", "test of nothing")
