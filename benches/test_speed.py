"""Ours beside the peers, one process, one group a claim; pytest-benchmark prints the ratios in parentheses.

    make bench

Each bench checks its answer before it is timed: a wrong answer fails it. No bench gates on wall time.
"""

import json

import pytest
import tiktoken
from bodies import body, session
from pytest_benchmark.fixture import BenchmarkFixture

import turnfold

ENCODING = "o200k_base"


def texts() -> list[str]:
    return [m["content"] for m in session() if isinstance(m["content"], str)]


def total_by(peer: tiktoken.Encoding) -> int:
    return sum(len(peer.encode_ordinary(text)) for text in texts())


@pytest.mark.benchmark(group="count 1 MB of texts")
class TestCount:
    def test_turnfold(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        strings = texts()
        assert sum(turnfold.count_many(strings, ENCODING)) == total_by(peer)
        benchmark(turnfold.count_many, strings, ENCODING)

    def test_tiktoken(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        strings = texts()
        benchmark(lambda: sum(len(peer.encode_ordinary(text)) for text in strings))


@pytest.mark.benchmark(group="meter a 1 MB body: bytes to tokens")
class TestMeter:
    def test_turnfold(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        raw = body()
        total = benchmark(lambda: turnfold.Transcript.from_json(raw).tokens())
        assert total.lo <= total.n <= total.hi
        assert total.n > total_by(peer)

    def test_json_and_tiktoken(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        raw = body()

        def run() -> int:
            total = 3
            for message in json.loads(raw)["messages"]:
                total += 3 + len(peer.encode_ordinary(message["content"] or ""))
                for call in message.get("tool_calls") or ():
                    total += len(peer.encode_ordinary(call["function"]["name"]))
                    total += len(peer.encode_ordinary(call["function"]["arguments"]))
            return total

        assert benchmark(run) > total_by(peer)


@pytest.mark.benchmark(group="read a 1 MB body")
class TestRead:
    def test_turnfold(self, benchmark: BenchmarkFixture) -> None:
        raw = body()
        assert len(benchmark(turnfold.Transcript.from_json, raw)) == 1_001

    def test_json_loads(self, benchmark: BenchmarkFixture) -> None:
        raw = body()
        assert len(benchmark(json.loads, raw)["messages"]) == 1_001


@pytest.mark.benchmark(group="scan 1,001 messages")
class TestScan:
    def test_turnfold(self, benchmark: BenchmarkFixture) -> None:
        transcript = turnfold.Transcript.from_json(body())
        report = benchmark(turnfold.scan, transcript)
        assert report.ok
        assert len(report.pairs) == 400

    def test_python_on_dicts(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        messages = session()

        def run() -> int:
            waiting: set[str] = set()
            paired = 0
            for message in messages:
                if message["role"] == "tool":
                    waiting.remove(str(message["tool_call_id"]))
                    paired += 1
                    continue
                assert not waiting
                waiting = {call["id"] for call in message.get("tool_calls") or ()}  # type: ignore[attr-defined]
            return paired

        assert benchmark(run) == 400


@pytest.mark.benchmark(group="trim 1,001 messages to a quarter of their tokens")
class TestTrim:
    @staticmethod
    def limit(peer: tiktoken.Encoding) -> int:
        return total_by(peer) // 4

    def test_turnfold_metered(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        """The transcript was metered before, as a gateway's is."""
        transcript, limit = turnfold.Transcript.from_json(body()), self.limit(peer)
        transcript.tokens()
        point = benchmark(turnfold.find_split, transcript, keep=turnfold.KeepTokens(limit))
        assert turnfold.scan(turnfold.Transcript.from_messages(session()[point.index :])).ok
        assert transcript.tokens(point.index, len(transcript)).n <= limit

    def test_turnfold_from_dicts(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        """From a list of dicts, nothing known before."""
        messages, limit = session(), self.limit(peer)

        def run() -> list[dict[str, object]]:
            transcript = turnfold.Transcript.from_messages(messages)
            return messages[turnfold.find_split(transcript, keep=turnfold.KeepTokens(limit)).index :]

        assert turnfold.scan(turnfold.Transcript.from_messages(benchmark(run))).ok

    def test_langchain_approximate(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        core = pytest.importorskip("langchain_core.messages")
        messages = core.convert_to_messages(session())
        kept = benchmark(
            core.trim_messages,
            messages,
            max_tokens=self.limit(peer),
            token_counter="approximate",
            strategy="last",
            start_on="human",
        )
        assert kept

    def test_langchain_exact(self, benchmark: BenchmarkFixture, peer: tiktoken.Encoding) -> None:
        core = pytest.importorskip("langchain_core.messages")
        messages = core.convert_to_messages(session())

        def tokens(batch: list[object]) -> int:
            return sum(3 + len(peer.encode_ordinary(str(m.content))) for m in batch)  # type: ignore[attr-defined]

        limit = self.limit(peer)

        def run() -> list[object]:
            return core.trim_messages(
                messages, max_tokens=limit, token_counter=tokens, strategy="last", start_on="human"
            )

        assert benchmark.pedantic(run, rounds=3)


@pytest.mark.benchmark(group="all split points of 1,001 messages")
def test_split_points(benchmark: BenchmarkFixture) -> None:
    transcript = turnfold.Transcript.from_json(body())
    points = benchmark(turnfold.split_points, transcript)
    # Of each round of five messages, the two cuts inside the batch of calls are illegal.
    assert len(list(points)) == 1_001 - 400


@pytest.mark.benchmark(group="compare two 1 MB bodies that differ at the end")
class TestPrefix:
    @staticmethod
    def bodies() -> tuple[bytes, bytes]:
        grown = [*session(), {"role": "user", "content": "And now?"}]
        return body(), json.dumps({"model": "gpt-4o", "messages": grown}).encode()

    def test_turnfold(self, benchmark: BenchmarkFixture) -> None:
        first, second = (turnfold.Transcript.from_json(raw) for raw in self.bodies())
        first.tokens(), second.tokens()
        report = benchmark(turnfold.compare_prefix, first, second)
        assert report.before_is_prefix
        assert report.messages == 1_001

    def test_python_on_dicts(self, benchmark: BenchmarkFixture) -> None:
        first, second = (json.loads(raw)["messages"] for raw in self.bodies())

        def run() -> int:
            return next((k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))

        assert benchmark(run) == 1_001


@pytest.mark.benchmark(group="compact a 1 MB body, offline")
def test_compact(benchmark: BenchmarkFixture) -> None:
    raw = body()
    policy = turnfold.presets.token_threshold(limit_tokens=50_000, keep_messages=40)

    def run() -> turnfold.CompactionResult | turnfold.Skip:
        return turnfold.compact_sync(turnfold.Transcript.from_json(raw), policy)

    result = benchmark(run)
    assert isinstance(result, turnfold.CompactionResult)
    assert result.after.n <= 50_000
    assert turnfold.scan(result.transcript).ok
