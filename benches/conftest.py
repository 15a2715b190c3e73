"""What the benches share."""

from pathlib import Path

import pytest
import tiktoken

from turnfold.testing.oracle import tiktoken_encodings


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    """tiktoken's `o200k_base`."""
    folder: Path = tmp_path_factory.mktemp("vocabularies")
    return tiktoken_encodings(folder)["o200k_base"]
