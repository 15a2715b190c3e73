"""Which encoding a model is counted in, and how sure that is."""

import pytest
import tiktoken.model
from hypothesis import given
from hypothesis import strategies as st

import turnfold
from turnfold import ModelEncoding, Transcript
from turnfold.errors import ArgumentError, UnknownEncodingError

SHIPPED = ("o200k_base", "cl100k_base", "o200k_harmony")
NAMES = st.one_of(st.text(max_size=30), st.text(st.characters(codec=None, exclude_categories=()), max_size=8))


def as_tiktoken_has_it(encoding: str) -> tuple[ModelEncoding, ...]:
    """A vocabulary that does not ship makes an interval, never an exact count."""
    if encoding in SHIPPED:
        return (ModelEncoding(encoding, "exact"),)
    return (ModelEncoding("o200k_base", "estimate"),)


@pytest.mark.parametrize(("model", "encoding"), tiktoken.model.MODEL_TO_ENCODING.items())
@pytest.mark.parametrize("before", ["", "openai/", "azure/", "azure/eu/", "openrouter/openai/"])
def test_every_model_of_tiktokens_table(before: str, model: str, encoding: str) -> None:
    assert turnfold.encoding_for_model(before + model) in as_tiktoken_has_it(encoding)
    assert turnfold.encoding_for_model(before + model.upper()) in as_tiktoken_has_it(encoding)


@pytest.mark.parametrize(("prefix", "encoding"), tiktoken.model.MODEL_PREFIX_TO_ENCODING.items())
def test_every_prefix_of_tiktokens_table(prefix: str, encoding: str) -> None:
    for rest in ("", "2030-01-31", "mini", "mini-2030-01-31") if prefix.endswith("-") else ("", "-x", ":org::id"):
        assert turnfold.encoding_for_model(prefix + rest) in as_tiktoken_has_it(encoding)


@given(name=NAMES)
def test_any_name_has_an_answer_and_only_tiktokens_are_exact(name: str) -> None:
    found = turnfold.encoding_for_model(name)
    assert found.encoding in SHIPPED
    assert found.label == "exact" or found.encoding == "o200k_base"
    if found.label == "exact":
        assert any(family in name.lower() for family in ("gpt", "o1", "o3", "o4", "text-embedding", "-002"))


def test_a_name_that_nobody_knows_makes_an_interval() -> None:
    transcript = Transcript.from_messages([{"role": "user", "content": "How many?"}], format="openai.chat")
    assert turnfold.encoding_for_model("model-of-nobody") == ModelEncoding("o200k_base", "assumed")
    count = transcript.tokens(model="model-of-nobody")
    assert count.source == "estimate"
    assert count.lo < count.n < count.hi


def test_a_registered_name_is_used_wherever_a_model_is_named() -> None:
    transcript = Transcript.from_messages([{"role": "user", "content": "今天的会议"}], format="openai.chat")
    turnfold.register_model("Test-House-Model", "cl100k_base")
    for name in ("test-house-model", "house/test-house-model-2030-01-31", "TEST-HOUSE-MODEL:free"):
        assert turnfold.encoding_for_model(name) == ModelEncoding("cl100k_base", "exact")
        assert transcript.tokens(model=name) == transcript.tokens(encoding="cl100k_base")
    assert turnfold.encoding_for_model("test-house-models").label == "assumed"
    turnfold.register_model("test-house-model", "o200k_base", label="assumed")
    assert turnfold.encoding_for_model("test-house-model") == ModelEncoding("o200k_base", "assumed")


def test_what_cannot_be_registered_is_refused() -> None:
    with pytest.raises(UnknownEncodingError, match="no_such_encoding"):
        turnfold.register_model("x", "no_such_encoding")
    with pytest.raises(ArgumentError, match="name"):
        turnfold.register_model("", "o200k_base")
    with pytest.raises(ArgumentError, match="sure"):
        turnfold.register_model("x", "o200k_base", label="sure")  # type: ignore[arg-type]
