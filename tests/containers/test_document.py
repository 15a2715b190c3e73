"""A log's bytes as lines, and as one value."""

from hypothesis import given
from hypothesis import strategies as st

from turnfold import _core
from turnfold.containers.document import Document, decode
from turnfold.errors import ReadError

PIECES = st.sampled_from(
    [b"{}", b'{"a": 1}', b'{"a": [', b"]}", b"[", b"]", b"{", b"}", b",", b"1", b"x", b"", b" ", b"\r", b"\xef\xbb\xbf"]
)


def is_value(data: bytes) -> bool:
    try:
        _core.Json(data)
    except ReadError:
        return False
    return True


@given(st.lists(st.tuples(PIECES, st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"])), max_size=7))
def test_lines_are_objects_that_are_no_one_value(pieces):
    data = b"".join(piece + end for piece, end in pieces)
    ends = data.count(b"\n") + (not data.endswith(b"\n"))
    expected = any(record.value is not None for record in Document(data).lines)
    assert Document(data).is_lines == (expected and not (is_value(data) and ends > 1))


@given(st.lists(st.one_of(PIECES, st.sampled_from([b"\n", b"}\n{", b'["}'])), max_size=9))
def test_the_whole_is_a_value_where_it_is_read_as_one(pieces):
    data = b"".join(pieces)
    assert (Document(data).value is not None) == is_value(data)


@given(st.integers(1, 2_000), st.booleans(), st.booleans())
def test_what_nests_deeper_than_spans_go_is_no_value(depth, is_long, is_whole):
    text = b" " * (20_000 * is_long) + b"[" * depth + b"]" * (depth - 1 + is_whole)
    assert (decode(text) is not None) == (is_whole and is_value(text))
