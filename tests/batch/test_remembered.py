"""Remembered: one call for equal requests, at once or later; nothing kept that is no whole answer."""

import anyio
import anyio.lowlevel
import pytest
from msgspec import structs

from turnfold.batch.journal import Journal
from turnfold.batch.remembered import Remembered, SharedReplies
from turnfold.errors import JournalError, SummarizerError
from turnfold.model.facts import ToolFacts
from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest, ToolDigest, Usage
from turnfold.testing.fakes import Step, scripted
from turnfold.testing.requests import summary_request
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual


class Kept:
    """Replies in a dict."""

    def __init__(self) -> None:
        self.replies: dict[bytes, bytes] = {}

    def reply(self, key: bytes) -> bytes | None:
        return self.replies.get(key)

    def remember(self, key: bytes, reply: bytes) -> None:
        self.replies.setdefault(key, reply)


class Costly:
    """Answers, and says what it cost."""

    name = "costly"

    def __init__(self, reply: SummaryReply) -> None:
        self.reply = reply
        self.calls = 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.calls += 1
        await anyio.lowlevel.checkpoint()
        return self.reply


class Repeating:
    """Says what it was asked of, a second later."""

    name = "repeating"

    def __init__(self) -> None:
        self.calls = 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.calls += 1
        await anyio.sleep(1)
        return SummaryReply(f"Of {request.messages[0].parts[0].text}.")


def asking(text: str) -> SummaryRequest:
    return summary_request((("user", "text", text),))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def test_equal_requests_are_one_call(backend: Backend) -> None:
    inner = Repeating()
    summarizer = Remembered(inner, SharedReplies(Kept()), "m")
    told: list[str] = []

    async def ask(text: str) -> None:
        told.append((await summarizer.summarize(asking(text))).text)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for text in ("a", "a", "b", "a"):
                group.start_soon(ask, text)
        await ask("a")

    run_virtual(main, backend)
    assert sorted(told) == ["Of a."] * 4 + ["Of b."]
    assert (inner.calls, summarizer.reused) == (2, 3)


def test_who_waits_asks_where_the_first_one_failed(backend: Backend) -> None:
    inner = scripted((Step(seconds=1, error=SummarizerError("no", "unavailable")), Step(text="Then this.")))
    summarizer = Remembered(inner, SharedReplies(Kept()), "m")
    told: list[str] = []

    async def ask() -> None:
        try:
            told.append((await summarizer.summarize(asking("a"))).text)
        except SummarizerError:
            told.append("failed")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)

    run_virtual(main, backend)
    assert sorted(told) == ["Then this.", "Then this.", "failed"]
    assert summarizer.reused == 1


def test_what_was_kept_costs_nothing(backend: Backend) -> None:
    inner = Costly(SummaryReply("Kept.", Usage(100, 10), stop="end", model="m-1"))
    kept = Kept()

    async def main() -> list[SummaryReply]:
        return [
            await Remembered(inner, SharedReplies(kept), name).summarize(asking("a")) for name in ("m", "m", "other")
        ]

    first, second, other = run_virtual(main, backend)
    assert (first.usage, second.usage, other.usage) == (Usage(100, 10), NO_USAGE, Usage(100, 10))
    assert (second.text, second.model, inner.calls) == ("Kept.", "m-1", 2)


def test_requests_that_differ_in_any_row_are_two(backend: Backend) -> None:
    base = structs.replace(
        summary_request(tuple(("user", "text", f"Text {number}.") for number in range(600))),
        identifiers=tuple(f"id_{number}" for number in range(600)),
    )
    others = [
        structs.replace(base, messages=base.messages[:-1]),
        structs.replace(base, messages=(*base.messages[:300], base.messages[299], *base.messages[301:])),
        structs.replace(base, identifiers=(*base.identifiers[:255], "id_x", *base.identifiers[256:])),
        structs.replace(base, identifiers=base.identifiers[1:]),
        structs.replace(base, digests=(ToolDigest(0, "read", "read", None, "1 line", "read: 1 line", False),)),
        structs.replace(base, facts=(ToolFacts(0, "read", "success", ()),)),
        structs.replace(base, task="Do it."),
        structs.replace(base, identifiers=(), partials=base.identifiers),
    ]
    inner = Costly(SummaryReply("Kept.", stop="end"))
    summarizer = Remembered(inner, SharedReplies(), "m")

    async def main() -> None:
        for request in (base, *others, *others, structs.replace(base)):
            await summarizer.summarize(request)

    run_virtual(main, backend)
    assert (inner.calls, summarizer.reused) == (1 + len(others), 1 + len(others))


@pytest.mark.parametrize("reply", [SummaryReply(" \n"), SummaryReply("Half of", stop="length")])
def test_what_is_no_whole_answer_is_not_kept(backend: Backend, reply: SummaryReply) -> None:
    kept = Kept()

    async def main() -> SummaryReply:
        return await Remembered(Costly(reply), SharedReplies(kept), "m").summarize(asking("a"))

    assert run_virtual(main, backend) == reply
    assert kept.replies == {}


def test_a_journal_keeps_replies_and_files(tmp_path):
    path = tmp_path / "journal"
    with Journal(path, "run") as journal:
        journal.remember(b"k", b"first")
        journal.remember(b"k", b"second")
        with Journal(path, "run") as other:
            assert journal.claim("a", "out/a") is not None
            assert other.claim("a", "out/a") is None
            assert other.reply(b"k") == b"first"
        assert len(list(tmp_path.glob("*.lock"))) == 1
    with Journal(path, "run") as later:
        assert later.claim("a", "out/a") is not None
    assert list(tmp_path.glob("*.lock")) == []
    with pytest.raises(JournalError, match="other options"):
        Journal(path, "another run")
