"""Registering a vocabulary under a name."""

import codecs
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from turnfold import _core
from turnfold.errors import ArgumentError, VocabularyError
from turnfold.vocabularies.definition import Definition, is_id
from turnfold.vocabularies.rank_file import rank_definition, read_ranks
from turnfold.vocabularies.tokenizer_json import read_tokenizer_json


@runtime_checkable
class RankEncoding(Protocol):
    """A `tiktoken.Encoding`, by what is read of it."""

    _pat_str: str
    _mergeable_ranks: dict[bytes, int]
    _special_tokens: dict[str, int]


def register_vocabulary(
    name: str,
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | RankEncoding,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> None:
    r"""Register a vocabulary: from then on `name` is an encoding like those that ship, for the whole process.

    `source` is a tiktoken rank file or a `tokenizer.json`, as a path or as bytes, or a `tiktoken.Encoding`. A rank file
    says neither how text is cut nor which tokens are special: `pattern` must (in tiktoken's words), `special_tokens`
    may (they are decoded only). The patterns of gpt2, cl100k, o200k, Llama 3 and Qwen have scanners of their own; any
    other is run by an engine that takes time linear in what each search looks at (a pattern that looks far ahead for
    each short piece takes the square), and one that needs more (look-around but for a last `\s+(?!\S)|\s+`,
    possessive quantifiers) is refused.

    Counts are what tiktoken's `encode_ordinary` and the `tokenizers` package give for text without special and added
    tokens. What cannot be counted so raises a `VocabularyError` that says where it stands: other models than byte-level
    BPE, other normalizers than NFC, other pre-tokenizers than Split, Digits and ByteLevel.

    The same vocabulary again under the same name is no error. 29 vocabularies at most, which stay; some 0.3 s and 30 MB
    for 130,000 tokens. Other threads run meanwhile.
    """
    if not isinstance(name, str):
        raise TypeError(f"name is a str, not {type(name).__name__}")
    _check_pattern(pattern)
    _check_special(special_tokens)
    definition = _definition(source, pattern, special_tokens)
    _core.register_vocabulary(
        name,
        definition.tokens,
        definition.merges,
        definition.special_tokens,
        definition.cuts,
        (definition.whole_pieces, definition.nfc, definition.space_first),
    )


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, str | None):
        raise TypeError(f"pattern is a str, not {type(pattern).__name__}")
    if pattern is not None and not _is_unicode(pattern):
        raise ArgumentError("pattern holds half a surrogate pair, which no text has")


def _check_special(tokens: object) -> None:
    if tokens is None:
        return
    if not isinstance(tokens, Mapping):
        raise TypeError(f"special_tokens maps texts to ids, and is no {type(tokens).__name__}")
    for text, number in tokens.items():
        if not isinstance(text, str) or not _is_unicode(text):
            raise ArgumentError(f"special_tokens: {text!r} is no text")
        if not is_id(number):
            raise ArgumentError(f"special_tokens[{text!r}]: {number!r} is no id, which is a whole number of 32 bits")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _definition(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | RankEncoding,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
) -> Definition:
    if isinstance(source, RankEncoding):
        special = source._special_tokens if special_tokens is None else special_tokens  # noqa: SLF001
        ranks = list(source._mergeable_ranks.items())  # noqa: SLF001
        return rank_definition(ranks, pattern or source._pat_str, list(special.items()))  # noqa: SLF001
    if isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
    elif isinstance(source, str | os.PathLike):
        if isinstance(source, str) and "\n" in source:
            raise ArgumentError("source is a path here: pass the content of a file as bytes")
        content = Path(source).read_bytes()
    else:
        raise TypeError(f"source is a path, bytes or a tiktoken.Encoding, not {type(source).__name__}")
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.lstrip()[:1] in {b"{", b"["}:
        if pattern is not None or special_tokens is not None:
            raise ArgumentError("A tokenizer.json brings its own pattern and special tokens: leave both out")
        return read_tokenizer_json(content)
    ranks = read_ranks(content)
    if pattern is None:
        raise VocabularyError("a rank file does not say how text is cut: pass pattern=, as the model's own code has it")
    return rank_definition(ranks, pattern, list((special_tokens or {}).items()))
