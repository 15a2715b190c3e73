"""A small run of what `benches/count_exact.py` does with a million strings."""

from pathlib import Path

import pytest
import tiktoken
from count_exact import differences, strings

from turnfold.testing.oracle import tiktoken_encodings


@pytest.fixture(scope="module")
def encodings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tiktoken.Encoding]:
    folder: Path = tmp_path_factory.mktemp("vocabularies")
    return tiktoken_encodings(folder)


def test_strings_over_all_of_unicode_count_as_tiktoken_counts_them(encodings: dict[str, tiktoken.Encoding]) -> None:
    made = list(strings(2_000, seed=20_261))
    assert {0x41, 0x4E2D, 0x1F600, 0x301} <= {ord(character) for whole in made for character in whole}
    assert max(ord(character) for whole in made for character in whole) > 0x100000
    assert list(differences(made, encodings)) == []


def test_a_wrong_count_is_seen(encodings: dict[str, tiktoken.Encoding]) -> None:
    swapped = {"o200k_base": encodings["cl100k_base"]}
    assert [whole for _, whole in differences(["中文字", "a"], swapped)] == ["中文字"]
