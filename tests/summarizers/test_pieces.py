"""A source that is too long for a window: nothing is left out, every request fits, and one summary comes of it."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold.compactor import OnFailure, compact
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.result import Coverage
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SourceMessage, SourcePart, SummaryReply, SummaryRequest
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback, Rules
from turnfold.summarizers.pieces import (
    MOST_PIECES,
    Room,
    cut_request,
    group_partials,
    joined_request,
    partial_tokens,
    request_tokens,
)
from turnfold.testing.fakes import Scripted, Step, replying
from turnfold.testing.requests import summary_request
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

WORDS = ["alpha", "src/main.py", "x" * 40, "今天的会议", "👍🏽", "</turnfold-transcript>", "error: 17", "\n\n", "     "]
texts = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
parts = st.builds(SourcePart, st.sampled_from(["text", "reasoning", "tool_call", "tool_result"]), texts, st.none())
messages = st.lists(st.lists(parts, min_size=1, max_size=3), min_size=1, max_size=12)


def request_of(listed: list[list[SourcePart]], names: tuple[str, ...] = ()) -> SummaryRequest:
    source = summary_request((), identifiers=names, max_tokens=200)
    sources = (SourceMessage(k, "user" if k % 2 else "assistant", tuple(parts)) for k, parts in enumerate(listed))
    return SummaryRequest(
        **{name: getattr(source, name) for name in source.__struct_fields__} | {"messages": tuple(sources)}
    )


def texts_of(messages: tuple[SourceMessage, ...]) -> dict[int, str]:
    found: dict[int, str] = {}
    for message in messages:
        found[message.index] = found.get(message.index, "") + "".join(part.text for part in message.parts)
    return found


@settings(max_examples=60)
@given(
    messages, st.sampled_from([450, 600, 1_200]), st.sampled_from([(None,), (None, "claude-sonnet-4-5")]), st.booleans()
)
def test_pieces_fit_and_leave_nothing_out(listed, limit, models, named) -> None:
    room = Room(limit, 150, models)
    request = request_of(listed, ("src/main.py",) if named else ())
    pieces = cut_request(
        request, room, is_cut=lambda index: index % 3 == 0, names=lambda start, stop: request.identifiers
    )
    if not pieces:
        assert limit < 1_200
        return
    assert texts_of(tuple(message for piece in pieces for message in piece.messages)) == texts_of(request.messages)
    assert all(room.share(piece) <= 1 for piece in pieces)
    assert [piece.piece for piece in pieces] == [(k + 1, len(pieces)) for k in range(len(pieces))]
    assert all(piece.max_tokens <= room.reply_tokens for piece in pieces)


def test_cuts_are_legal_where_a_group_fits() -> None:
    listed = [[SourcePart("text", "word " * 60)] for _ in range(24)]
    pieces = cut_request(
        request_of(listed), Room(700, 100, (None,)), is_cut=lambda index: index % 2 == 0, names=lambda *_: ()
    )
    assert len(pieces) > 3
    assert all(piece.messages[0].index % 2 == 0 for piece in pieces)


def test_one_message_larger_than_the_window_is_cut_on_token_edges() -> None:
    text = "".join(f"Line {k}: the exporter keeps its columns in order.\n" for k in range(400))
    pieces = cut_request(
        request_of([[SourcePart("text", text)]]), Room(800, 100, (None,)), is_cut=lambda _: False, names=lambda *_: ()
    )
    assert len(pieces) > 5
    assert "".join(piece.messages[0].parts[0].text for piece in pieces) == text
    assert all(request_tokens(piece) <= 800 for piece in pieces)
    assert "\ufffd" not in "".join(piece.messages[0].parts[0].text for piece in pieces)


def test_what_cannot_be_cut_is_not_asked() -> None:
    request = request_of([[SourcePart("text", "word " * 5_000)]])
    for room in (Room(100, 50, (None,)), Room(330, 60, (None,)), Room(400, 20, (None,))):
        assert cut_request(request, room, is_cut=lambda _: True, names=lambda *_: ()) == ()
    endless = request_of([[SourcePart("text", "word " * 200 * MOST_PIECES)]])
    assert cut_request(endless, Room(450, 60, (None,)), is_cut=lambda _: True, names=lambda *_: ()) == ()


@settings(max_examples=40)
@given(st.lists(texts.filter(bool), min_size=2, max_size=20), st.sampled_from([700, 2_000]))
def test_summaries_are_put_together_in_requests_that_fit(partials, limit) -> None:
    request, room = summary_request(()), Room(limit, 150, (None,))
    groups = group_partials(request, partials, room)
    assert "".join("".join(group) for group in groups) == "".join(partials)
    assert all(len(group) > 1 for group in groups[:-1])
    assert all(room.share(joined_request(request, group, room, last=False)) <= 1 for group in groups)
    assert partial_tokens(request, room) <= 150
    if len(groups) == 1:
        assert room.share(joined_request(request, groups[0], room, last=True)) <= 1


POLICY = Policy(OnRequest(), (Summarize(KeepMessages(1), max_tokens=900, task_max_tokens=50),), name="test")


def long_chat(turns: int = 12) -> Transcript:
    said: list[Message] = [{"role": "system", "content": "You are careful."}]
    for k in range(turns):
        said.append({"role": "user", "content": f"Question {k} about src/a{k}.py. " + "The build failed again. " * 40})
        said.append({"role": "assistant", "content": f"Answer {k}. " + "Look at every line of the log. " * 40})
    return Transcript.from_messages(said, format="openai.chat")


def small(*steps: Step, window: int = 1_200, name: str = "small") -> Scripted:
    return Scripted(steps, name, window_tokens=window, reserve_tokens=200)


def done(result: CompactionResult | Skip) -> CompactionResult:
    assert isinstance(result, CompactionResult), result
    return result


class Naming:
    """Names the files that it is shown, so that what was shown can be read off the summary."""

    name = "naming"
    window_tokens = 1_200
    reserve_tokens = 200

    def __init__(self) -> None:
        self.requests: list[SummaryRequest] = []
        self.most_in_flight = 0
        self._in_flight = 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.requests.append(request)
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        await anyio.sleep(1)
        self._in_flight -= 1
        shown = "\n".join([*request.partials, *(part.text for message in request.messages for part in message.parts)])
        files = dict.fromkeys(word for word in shown.split() if word.startswith("src/"))
        return SummaryReply("The build failed: " + " ".join(files))


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_of_the_source_reaches_the_summary(backend: Backend) -> None:
    async def main() -> None:
        naming = Naming()
        result = done(await compact(long_chat(), POLICY, naming, calls=anyio.CapacityLimiter(3)))
        pieces = [request for request in naming.requests if request.piece]
        assert result.method == "naming"
        assert result.coverage == Coverage(1.0, len(pieces), 0)
        assert len(pieces) > 5
        assert all(request_tokens(request) <= 1_000 for request in naming.requests)
        assert naming.most_in_flight == 3
        assert result.summary is not None
        assert all(f"src/a{k}.py" in result.summary for k in range(12))
        numbers = [attempt.piece for attempt in result.attempts]
        assert sorted(filter(None, numbers)) == list(range(1, len(pieces) + 1))
        assert numbers[-1] is None
        # Again: the summary is continued, and still holds what it held.
        longer = Transcript.from_messages([*result.messages, *long_chat().messages[1:]], format="openai.chat")
        again = done(await compact(longer, POLICY, naming))
        assert again.summary is not None
        assert again.summary.count("src/a7.py") >= 1

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_fits_is_asked_for_at_once(backend: Backend) -> None:
    async def main() -> None:
        fake = small(Step(text="The build failed."), window=200_000)
        result = done(await compact(long_chat(), POLICY, fake))
        assert (len(fake.requests), result.coverage) == (1, Coverage(1.0, 1, 0))
        assert fake.requests[0].piece is None

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_piece_that_fails_is_written_by_rule_or_ends_it_all(backend: Backend) -> None:
    async def main(on_failure: OnFailure) -> CompactionResult | Skip:
        steps = [Step(text="The build failed.", seconds=1)] * 2 + [Step(error=OSError("gone"))]
        fake = small(*steps, *[Step(text="The build failed.", seconds=1)] * 60)
        return await compact(long_chat(), POLICY, fake, on_failure=on_failure)

    async def both() -> None:
        result = done(await main("rules"))
        assert result.method == "small"
        assert (result.coverage.share, result.coverage.by_rule) == (1.0, 1)
        skip = await main("skip")
        assert isinstance(skip, Skip)
        assert skip.reason == "no_summary"
        assert anyio.current_time() < 20

    run_virtual(both, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_at_the_deadline_what_is_done_is_kept(backend: Backend) -> None:
    async def main() -> None:
        texts = [Step(text=f"The build failed, said piece {k}.", seconds=1) for k in range(3)]
        fake = small(*texts, Step(way="hang"))
        result = done(await compact(long_chat(), POLICY, fake, deadline_seconds=30))
        assert anyio.current_time() == pytest.approx(30)
        assert result.method == "rules"
        assert result.summary is not None
        assert all(f"said piece {k}" in result.summary for k in range(3))
        assert result.coverage.share == 1.0
        assert result.coverage.by_rule == result.coverage.pieces - 3 > 0

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_window_that_is_too_small_is_named(backend: Backend) -> None:
    async def main() -> None:
        fake = small(Step(), window=300)
        result = done(await compact(long_chat(), POLICY, fake))
        assert [attempt.outcome for attempt in result.attempts] == ["too_long", "used"]
        assert (result.method, fake.requests, result.coverage) == ("rules", [], Coverage(1.0, 1, 1))

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_coverage_says_what_was_not_shown(backend: Backend) -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}},
    ]
    messages: list[Message] = [
        {"role": "user", "content": "Run it. " + "The build failed again. " * 40},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "one line of the log\n" * 500},
        {"role": "assistant", "content": "It ran."},
        {"role": "user", "content": "Next."},
    ]
    transcript = Transcript.from_messages(messages, format="openai.chat")

    async def main() -> None:
        clipped = Policy(OnRequest(), (Summarize(KeepMessages(1), result_tokens=200),))
        result = done(await compact(transcript, clipped, replying("The build failed.")))
        assert result.coverage.reason == "clipped"
        assert 0.1 < result.coverage.share < 0.5
        marked = Policy(OnRequest(), (Summarize(KeepMessages(1), schema="static_marker"),))
        assert done(await compact(transcript, marked)).coverage == Coverage(0.0, 0, 0, "marker")
        plain = Policy(OnRequest(), (Summarize(KeepMessages(1)),))
        chain = Fallback(replying("", name="a"), Rules())
        assert done(await compact(transcript, plain, chain)).coverage == Coverage(1.0, 1, 1)

    run_virtual(main, backend)
