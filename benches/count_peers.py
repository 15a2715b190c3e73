"""The counters that are compared, each by its fastest exact call: a name, and a function from texts to counts.

Every one is loaded from the same two vocabulary files, offline. One that is not installed is left out.
"""

import os

# Before any of them starts its threads.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import tempfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from turnfold.testing.oracle import tiktoken_encodings

Counter = Callable[[list[str]], list[int]]
DISTRIBUTIONS = {
    "turnfold": "turnfold",
    "tiktoken": "tiktoken",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "toktok": "toktok-rs",
    "quicktok": "quicktok-v1",
}
PEERS = tuple(name for name in DISTRIBUTIONS if name not in {"turnfold", "tiktoken"})
_FILES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}


def versions() -> dict[str, str]:
    """The version of each counter that is installed."""
    found = {}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def vocabulary(encoding: str) -> Path:
    """The published vocabulary as a file of its own name, verified."""
    folder = Path(os.environ.get("TURNFOLD_BENCH_VOCABULARIES") or tempfile.mkdtemp(prefix="turnfold-bench-"))
    path = folder / f"{encoding}.tiktoken"
    if not path.exists():
        tiktoken_encodings(folder)
        for name, cached in _FILES.items():
            (folder / f"{name}.tiktoken").write_bytes((folder / cached).read_bytes())
    os.environ["TURNFOLD_BENCH_VOCABULARIES"] = str(folder)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    return path


def _turnfold(encoding: str) -> Counter:
    import turnfold

    return lambda texts: turnfold.count_many(texts, encoding)


def _tiktoken(encoding: str) -> Counter:
    vocabulary(encoding)
    import tiktoken

    ordinary = tiktoken.get_encoding(encoding).encode_ordinary
    return lambda texts: [len(ordinary(text)) for text in texts]


def _gigatoken(encoding: str) -> Counter:
    import gigatoken

    encode = gigatoken.Tokenizer.from_tiktoken(vocabulary(encoding)).encode
    return lambda texts: [len(encode(text)) for text in texts]


def _fastokens(encoding: str) -> Counter:
    from fastokens._native import Tokenizer

    vocabulary(encoding)
    import tiktoken

    pattern = tiktoken.get_encoding(encoding)._pat_str  # noqa: SLF001
    ordinary = Tokenizer.from_tiktoken(str(vocabulary(encoding)), pattern=pattern, special_tokens={}).encode_ordinary
    return lambda texts: [len(ordinary(text)) for text in texts]


def _toktok(encoding: str) -> Counter:
    import toktok

    return lambda texts: toktok.batch_count(texts, encoding, threads=1)


def _quicktok(encoding: str) -> Counter:
    import quicktok

    count = quicktok.get_encoding(encoding).count
    return lambda texts: [count(text) for text in texts]


_MAKERS = {
    "turnfold": _turnfold,
    "tiktoken": _tiktoken,
    "gigatoken": _gigatoken,
    "fastokens": _fastokens,
    "toktok": _toktok,
    "quicktok": _quicktok,
}


def counter(name: str, encoding: str) -> Counter:
    """Load a counter. Raises `ImportError` where it is not installed."""
    return _MAKERS[name](encoding)
