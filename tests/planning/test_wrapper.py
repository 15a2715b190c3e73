"""The wrapper: what goes in comes out, and nothing inside can pass for its delimiters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.errors import ArgumentError
from turnfold.planning.wrapper import WrappedSummary, recognise, wrap
from turnfold.quoting import neutralise

DELIMITERS = (
    "<turnfold-summary",
    "</turnfold-summary>",
    "<turnfold-transcript",
    "</turnfold-transcript>",
    "< / TURNFOLD-Summary >",
)
hostile = st.lists(
    st.sampled_from([*DELIMITERS, "\n", " ", "<", ">", "## Files\n", "- a", "  b", "Task:", "é", "\r\n"])
).map("".join)
WRAPPED = "<turnfold-summary>\nReplaces 2 earlier messages. Go on from there.\nbody\n</turnfold-summary>"
texts = st.text() | hostile


@given(
    st.integers(0, 10**8),
    st.none() | texts,
    texts,
    st.none() | texts,
    st.none() | st.tuples(st.integers(1, 10**8), st.integers(0, 9)).map(lambda t: (t[0], sum(t))),
    st.sampled_from([(1, None), (2, None), (31, "2026-01-31T09:00:00Z")]),
)
def test_what_is_wrapped_is_recognised_as_it_was(
    messages: int,
    task: str | None,
    body: str,
    latest: str | None,
    turns: tuple[int, int] | None,
    made: tuple[int, str | None],
) -> None:
    found = recognise(wrap(WrappedSummary(messages, task, body, latest, turns, made[0], made[1], made[1])))
    quotes = [None if text is None else neutralise(text) for text in (task, latest)]
    assert found == WrappedSummary(
        messages, quotes[0], neutralise(body).strip(), quotes[1], turns, made[0], made[1], made[1]
    )


def test_the_first_line_says_what_is_gone_once() -> None:
    text = wrap(WrappedSummary(36, "Mend it.", "Done.", turns=(1, 18)))
    assert text == (
        "<turnfold-summary>\nReplaces 36 earlier messages, turns 1-18. Go on from there. Task:\n"
        "- Mend it.\nDone.\n</turnfold-summary>"
    )
    text = wrap(WrappedSummary(1, None, "Done.", turns=(4, 4)))
    assert text.splitlines()[1] == "Replaces 1 earlier message, turn 4. Go on from there."


@given(st.none() | texts, texts)
def test_a_wrapped_summary_has_one_wrapper(task: str | None, body: str) -> None:
    text = wrap(WrappedSummary(3, task, body))
    assert text.count("<turnfold-summary") == text.count("</turnfold-summary>") == 1


@given(
    texts | st.lists(st.sampled_from([*DELIMITERS, "<", "/", "\x1c", "\u3000", "turnfold", "-", "\ufeff"])).map("".join)
)
def test_what_imitates_a_delimiter_is_what_a_pattern_finds(text: str) -> None:
    assert neutralise(text) == re.sub(r"(?i)<(?=\s*+(?:/\s*+)?turnfold-)", "&lt;", text)


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
        WRAPPED.replace("2", "x"),
        "<turnfold-summary>\nReplaces\nbody\n</turnfold-summary>",
        f"{WRAPPED} and more",
        f"say {WRAPPED}",
        WRAPPED.replace("there.\n", "there. Task:\n"),
        WRAPPED.replace("there.\nbody", "there. Task, request in work:\n- Mend it.\nbody"),
    ],
)
def test_other_text_is_not_recognised(text: str) -> None:
    assert recognise(text) is None


def test_a_negative_number_of_messages_is_refused() -> None:
    with pytest.raises(ArgumentError, match="messages"):
        wrap(WrappedSummary(-1, None, "x"))
