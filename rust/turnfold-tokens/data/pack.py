"""Pack a published `.tiktoken` vocabulary into the form that `src/vocabulary.rs` unpacks.

    python pack.py o200k_base.tiktoken o200k_base.bin

A vocabulary made by byte-pair training needs no token bytes: the first 256 ranks are single bytes and every later
token is the join of two earlier ones. The file holds

    count           u32, little-endian, the number of tokens
    bytes           256 bytes, the byte of rank 0..255
    left parts      the ranks of the left parts of tokens 256.., as three planes (low, middle, high bytes)
    right parts     likewise

It is not compressed: a wheel is, and planes compress well in it, while a program would unpack them at every start.
The parts are those of the last merge when a token's own bytes are encoded with the ranks below its own. The script
refuses a vocabulary in which some token has no such parts, and checks its own output.
"""

import base64
import hashlib
import struct
import sys
from pathlib import Path

SHA256 = {
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k_base",
}


def read(path: Path) -> list[bytes]:
    """The tokens of a `.tiktoken` file in rank order."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest not in SHA256:
        raise SystemExit(f"{path}: sha256 {digest} is of no published vocabulary")
    tokens = []
    for rank, line in enumerate(content.splitlines()):
        token, number = line.split()
        if int(number) != rank:
            raise SystemExit(f"{path}:{rank + 1}: rank {int(number)} out of order")
        tokens.append(base64.b64decode(token))
    return tokens


def last_merge(token: bytes, rank: int, ranks: dict[bytes, int]) -> tuple[int, int]:
    """The ranks of the two parts that merge into `token`."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        candidates = [
            (joined, i) for i in range(len(parts) - 1) if (joined := ranks.get(parts[i] + parts[i + 1], rank)) < rank
        ]
        if not candidates:
            raise SystemExit(f"token {rank} {token!r} is not the join of two earlier tokens")
        _, i = min(candidates)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    left, right = parts
    return ranks[left], ranks[right]


def pack(tokens: list[bytes]) -> bytes:
    """The file for `tokens`."""
    ranks = {token: rank for rank, token in enumerate(tokens)}
    singles = b"".join(tokens[:256])
    if sorted(singles) != list(range(256)):
        raise SystemExit("the first 256 ranks are not the single bytes")
    merges = [last_merge(token, rank, ranks) for rank, token in enumerate(tokens) if rank >= 256]
    planes = []
    for side in range(2):
        column = b"".join(struct.pack("<I", merge[side]) for merge in merges)
        planes += [column[i::4] for i in range(3)]
    joined = list(tokens[:256])
    for left, right in merges:
        joined.append(joined[left] + joined[right])
    if joined != tokens:
        raise SystemExit("the merges do not give the tokens back")
    return struct.pack("<I", len(tokens)) + singles + b"".join(planes)


def main() -> None:
    """Read the first argument, write the second."""
    source, target = map(Path, sys.argv[1:])
    target.write_bytes(pack(read(source)))


if __name__ == "__main__":
    main()
