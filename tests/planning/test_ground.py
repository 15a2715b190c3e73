"""What is asked of a transcript from its end is what its groups say."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import Transcript
from turnfold.model.scan import BODY_ONLY
from turnfold.planning.ground import Ground
from turnfold.testing.generators import anthropic_messages, gemini_contents, openai_chat, openai_responses


@pytest.mark.parametrize("make", [anthropic_messages, gemini_contents, openai_chat, openai_responses])
@given(seed=st.integers(0, 200), turns=st.integers(0, 6), cut=st.integers(0, 3), count=st.integers(0, 8))
def test_the_last_tool_groups_start_where_they_do_among_all(
    make: Callable[..., dict[str, object]], seed: int, turns: int, cut: int, count: int
) -> None:
    whole = Transcript.from_json(json.dumps(make(seed, turns=turns)).encode())
    # A call that waits at the end stands behind the last legal cut.
    transcript = whole.splice([range(max(0, len(whole) - cut))])
    ground = Ground(transcript, BODY_ONLY)
    groups = ground.tool_groups
    expected = len(transcript) if count == 0 else groups[-count].start if count <= len(groups) else ground.start
    assert ground.start_of_tool_groups(count) == expected


@pytest.mark.parametrize("make", [anthropic_messages, gemini_contents, openai_chat, openai_responses])
@given(seed=st.integers(0, 200), turns=st.integers(0, 6), cut=st.integers(0, 3), asked=st.integers(0, 3))
def test_unanswered_is_what_the_user_says_behind_all_that_the_model_said(
    make: Callable[..., dict[str, object]], seed: int, turns: int, cut: int, asked: int
) -> None:
    whole = Transcript.from_json(json.dumps(make(seed, turns=turns)).encode())
    questions = [whole.text_message("user", f"Question {number}?") for number in range(asked)]
    transcript = whole.splice([range(max(0, len(whole) - cut)), *questions])
    ground = Ground(transcript, BODY_ONLY)
    answered = max((i for i, speaker in enumerate(transcript.speakers) if speaker == "assistant"), default=-1)
    assert ground.first_unanswered == min((i for i in ground.spoken if i > answered), default=len(transcript))
    assert ground.spoken == tuple(i for i in ground.layout.turns if i >= ground.start and i not in ground.summaries)
