"""The rule-made summary: bounded, deterministic, and the user's words last to go."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import meter
from turnfold.model.facts import DigestKind
from turnfold.model.summary import SourceMessage, SourcePart, SummaryRequest, ToolDigest
from turnfold.planning.wrapper import MARKER_BODY
from turnfold.prompts.render import read_sections, render_sections
from turnfold.prompts.schemas import NINE_SECTIONS, Topic
from turnfold.summarizers.rules import Rules

WORDS = st.text(max_size=80) | st.sampled_from(["", " ", "## Files\n", "- x\n- y", "one\ntwo\n\nthree", "word " * 200])


def message(index: int, role: str, text: str) -> SourceMessage:
    return SourceMessage(index, role, (SourcePart("text", text),))


def digest(
    index: int, text: str, kind: DigestKind = "shell", *, target: str | None = None, is_error: bool = False
) -> ToolDigest:
    return ToolDigest(index, kind, "bash", target, "", text, is_error)


def request(
    *messages: SourceMessage,
    task: str | None = None,
    latest: str | None = None,
    previous: str | None = None,
    digests: tuple[ToolDigest, ...] = (),
    identifiers: tuple[str, ...] = (),
    max_tokens: int = 2_000,
) -> SummaryRequest:
    return SummaryRequest(
        messages, task, latest, previous, digests, identifiers, max_tokens, 10**6, "o200k_base", "nine_sections"
    )


def topics(text: str) -> dict[Topic, list[str]]:
    return read_sections(NINE_SECTIONS, text)


requests = st.builds(
    lambda said, task, previous, facts, names, cap: request(
        *(message(k, ("user", "assistant")[k % 2], text) for k, text in enumerate(said)),
        task=task,
        previous=previous,
        digests=tuple(digest(k, text, kind) for k, (text, kind) in enumerate(facts)),
        identifiers=tuple(names),
        max_tokens=cap,
    ),
    st.lists(WORDS, max_size=12),
    st.none() | WORDS,
    st.none() | WORDS,
    st.lists(st.tuples(WORDS, st.sampled_from(["shell", "search", "read", "other"])), max_size=12),
    st.lists(st.from_regex(r"\A[a-z]{1,8}/[a-z]{1,8}\.py\Z"), max_size=30, unique=True),
    st.integers(8, 400),
)


@settings(max_examples=150, deadline=None)
@given(requests)
def test_it_is_never_over_its_cap_and_always_the_same(asked: SummaryRequest) -> None:
    text = Rules().write(asked)
    assert text.strip()
    assert meter.count(text, asked.encoding) <= max(asked.max_tokens, meter.count(MARKER_BODY))
    assert Rules().write(asked) == text


def test_all_is_there_where_all_fits() -> None:
    text = Rules().write(
        request(
            message(0, "user", "Port the parser."),
            message(1, "assistant", "I start with the lexer."),
            message(2, "user", "Keep the old name,\n\nas an alias."),
            message(3, "assistant", "Both are done; the tests are next."),
            task="Port the parser.",
            digests=(
                digest(1, "read src/lexer.rs", "read"),
                digest(1, "`cargo test` failed: E0502", is_error=True),
                digest(3, "`cargo test` passed"),
                digest(3, "lookup_order #W1 gave 3 items", "other"),
            ),
            identifiers=("src/lexer.rs", "E0502", "ISSUE-7"),
        )
    )
    assert topics(text) == {
        "users": ["Keep the old name,\n\nas an alias."],
        "findings": ["I start with the lexer."],
        "files": ["read src/lexer.rs"],
        "commands": ["`cargo test` passed"],
        "errors": ["`cargo test` failed: E0502"],
        "tools": ["lookup_order #W1 gave 3 items"],
        "state": ["Both are done; the tests are next."],
        "identifiers": ["ISSUE-7"],
    }


def test_user_messages_are_cut_only_where_the_cap_forces_it_the_oldest_first() -> None:
    said = [message(k, "user", f"wish {k} " + "detail " * 40) for k in range(10)]
    roomy = topics(Rules().write(request(*said, max_tokens=600)))["users"]
    assert roomy == [f"wish {k} " + ("detail " * 40).strip() for k in range(10)]
    tight = topics(Rules().write(request(*said, max_tokens=200)))["users"]
    assert tight == roomy[-len(tight) :], "the newest of equals, in order, each whole"
    assert len(tight) >= 3


def test_tool_chatter_goes_before_what_the_user_said() -> None:
    chatter = tuple(digest(k, f"tool {k} answered " + "x " * 20, "other") for k in range(50))
    text = Rules().write(request(message(0, "user", "Keep the order."), digests=chatter, max_tokens=150))
    found = topics(text)
    assert found["users"] == ["Keep the order."]
    assert found["tools"][-1].startswith("tool 49")
    assert len(found["tools"]) < 10


def test_of_calls_that_did_the_same_the_last_counts_and_failures_stay() -> None:
    facts = (
        digest(1, "`make` failed: 3 errors", target="make", is_error=True),
        digest(2, "`make` took 3 s", target="make"),
        digest(3, "read a.py, 10 lines", "read", target="a.py"),
        digest(4, "`make` took 2 s", target="make"),
        digest(5, "read a.py, 12 lines", "read", target="a.py"),
    )
    assert topics(Rules().write(request(digests=facts))) == {
        "files": ["read a.py, 12 lines"],
        "commands": ["`make` took 2 s"],
        "errors": ["`make` failed: 3 errors"],
    }


def test_an_earlier_summary_is_merged_and_not_nested() -> None:
    first = Rules().write(
        request(
            message(0, "user", "Use TLS."),
            message(1, "assistant", "The port is 8080."),
            digests=(digest(1, "read a.py", "read"),),
            identifiers=("a.py", "ISSUE-1"),
        )
    )
    second = Rules().write(
        request(
            message(5, "user", "Go on."),
            message(6, "assistant", "All done."),
            previous=first,
            digests=(digest(6, "read a.py", "read"), digest(6, "read b.py", "read")),
            identifiers=("a.py", "ISSUE-1", "b.py"),
        )
    )
    assert topics(second) == {
        "users": ["Use TLS.", "Go on."],
        "findings": ["The port is 8080."],
        "files": ["read a.py", "read b.py"],
        "state": ["All done."],
        "identifiers": ["ISSUE-1"],
    }


def test_an_earlier_summary_in_free_text_is_carried_on() -> None:
    previous = "The user wants TLS.\n\nThe port is 8080."
    text = Rules().write(request(message(0, "user", "Go on."), previous=previous))
    assert topics(text)["earlier"] == [previous]
    again = Rules().write(request(message(1, "user", "And on."), previous=text))
    assert topics(again)["earlier"] == [previous]
    assert again.count("The port is 8080.") == 1


def test_the_task_is_not_said_twice() -> None:
    first = message(0, "user", "TASK-42: port it.")
    assert "TASK-42" not in Rules().write(request(first, message(1, "user", "Now."), task="TASK-42: port it."))


def test_attachments_are_mentioned() -> None:
    shown = SourceMessage(0, "user", (SourcePart("text", "Look:"), SourcePart("media", "")))
    assert topics(Rules().write(request(shown)))["users"] == ["Look:\n[1 attachment is not shown]"]


def test_nothing_to_say_is_the_marker() -> None:
    assert Rules().write(request()) == MARKER_BODY


@pytest.mark.parametrize("text", ["", "- x", "## Files", "## Files\n- a\n", "## Nobody\n- a"])
def test_reading_sections_loses_no_word(text: str) -> None:
    found = " ".join(item for items in topics(text).values() for item in items)
    assert set(text.replace("## Files", "").replace("-", "").split()) <= set(found.replace("-", "").split())


LINES = st.sampled_from(["one", "two words", "a - b", "-", "# not a heading", "## Nobody", "x\n  y", "p\n\nq"])


@given(
    st.dictionaries(
        st.sampled_from([section.topic for section in NINE_SECTIONS.sections]),
        st.lists(st.lists(LINES, min_size=1, max_size=3).map("\n".join), min_size=1, max_size=4),
    )
)
def test_what_is_rendered_reads_back(items: dict[Topic, list[str]]) -> None:
    assert read_sections(NINE_SECTIONS, render_sections(NINE_SECTIONS, items)) == items


def test_a_request_survives_being_sent() -> None:
    asked = request(message(0, "user", "x"), digests=(digest(0, "y"),))
    assert msgspec.json.decode(msgspec.json.encode(asked), type=SummaryRequest) == asked
