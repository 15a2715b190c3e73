"""Rank files, as tiktoken reads them: one token a line, its bytes in base64 and its rank."""

import base64
import binascii

from turnfold.errors import VocabularyError
from turnfold.vocabularies.definition import Cut, Definition, is_id


def rank_definition(ranks: list[tuple[bytes, int]], pattern: str, special_tokens: list[tuple[str, int]]) -> Definition:
    """Return the vocabulary of a list of tokens and ranks, cut by a pattern as tiktoken cuts."""
    # tiktoken keeps the matches and drops what lies between them.
    cut: Cut = (pattern, "tiktoken", "removed", True)
    return Definition(ranks, None, special_tokens, [cut], whole_pieces=True)


def read_ranks(content: bytes) -> list[tuple[bytes, int]]:
    """Read the lines of a rank file. Raises a `VocabularyError` that names the first line that is none."""
    ranks = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line:
            continue
        token, _, rank = line.partition(b" ")
        try:
            ranks.append((base64.b64decode(token, validate=True), int(rank)))
        except (binascii.Error, ValueError):
            raise VocabularyError(
                f"line {number} is no token in base64 and its rank, as a tiktoken file has them, and the file is no "
                "tokenizer.json either: of a SentencePiece model take the tokenizer.json, if its type is byte-level BPE"
            ) from None
        if not is_id(ranks[-1][1]):
            raise VocabularyError(f"line {number}: a rank is from 0 to 4294967295")
    return ranks
