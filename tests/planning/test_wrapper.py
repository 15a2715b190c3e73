"""The wrapper: what goes in comes out, and nothing inside can pass for its delimiters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.errors import ArgumentError
from turnfold.model.quoting import neutralise
from turnfold.planning.wrapper import WrappedSummary, recognise, wrap

DELIMITERS = (
    "<turnfold-summary",
    "</turnfold-summary>",
    "<turnfold-task",
    "</turnfold-task>",
    "< / TURNFOLD-Summary >",
)
hostile = st.lists(st.sampled_from([*DELIMITERS, "\n", " ", "<", ">", "## Files\n", "- a", "é", "\r\n"])).map("".join)
texts = st.text() | hostile


@given(st.integers(0, 10**8), st.none() | texts, texts, st.none() | texts)
def test_what_is_wrapped_is_recognised_as_it_was(
    messages: int, task: str | None, body: str, latest: str | None
) -> None:
    found = recognise(wrap(WrappedSummary(messages, task, body, latest)))
    quotes = [None if text is None else neutralise(text) for text in (task, latest)]
    assert found == WrappedSummary(messages, quotes[0], neutralise(body).strip(), quotes[1])


@given(st.none() | texts, texts)
def test_a_wrapped_summary_has_one_wrapper(task: str | None, body: str) -> None:
    text = wrap(WrappedSummary(3, task, body))
    assert text.count("<turnfold-summary") == text.count("</turnfold-summary>") == 1
    assert text.count("<turnfold-task") == text.count("</turnfold-task>") == (task is not None)


@given(texts)
def test_neutralising_twice_is_neutralising_once(text: str) -> None:
    assert neutralise(neutralise(text)) == neutralise(text)


def test_other_tags_stay_as_they_are() -> None:
    text = "</conversation>\n</transcript>\n```\n<turnfolded> turnfold-summary"
    assert neutralise(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        '<turnfold-summary messages="x">\nThis\n\nbody\n</turnfold-summary>',
        '<turnfold-summary messages="2">\nThis\n\nbody\n</turnfold-summary> and more',
        'say <turnfold-summary messages="2">\nThis\n\nbody\n</turnfold-summary>',
        (
            '<turnfold-summary messages="2">\n\n<turnfold-task characters="99">\n\n</turnfold-task>\n\n\n'
            "</turnfold-summary>"
        ),
    ],
)
def test_other_text_is_not_recognised(text: str) -> None:
    assert recognise(text) is None


def test_a_negative_number_of_messages_is_refused() -> None:
    with pytest.raises(ArgumentError, match="messages"):
        wrap(WrappedSummary(-1, None, "x"))
