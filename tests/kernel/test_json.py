"""Spans of JSON values: the bytes they name are the value."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import _core
from turnfold.errors import InvalidJsonError, InvalidUtf8Error, ReadError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def walk(value: Any, path: list[str | int]) -> list[tuple[list[str | int], Any]]:
    found = [(path, value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += walk(inner, [*path, key])
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found += walk(inner, [*path, index])
    return found


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_a_span_holds_the_value_at_its_path(value, ascii_only, indent):
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    kernel = _core.Json(data)
    for path, inner in walk(value, []):
        span = kernel.span(path)
        assert span is not None
        assert json.loads(data[slice(*span)]) == inner
        items = [json.loads(data[start:stop]) for start, stop in kernel.items(path)]
        assert items == (inner if isinstance(inner, list) else [])
        fields = {key: json.loads(data[start:stop]) for key, start, stop in kernel.fields(path)}
        assert fields == (inner if isinstance(inner, dict) else {})


def test_what_is_not_there_has_no_span():
    kernel = _core.Json(b'{"a": [1], "b": 2, "a": [3]}')
    nowhere: list[list[str | int]] = [["c"], ["a", 1], ["a", "a"], [0], ["b", 0], ["a", 0, "x", 3]]
    for path in nowhere:
        assert kernel.span(path) is None
        assert kernel.items(path) == []
        assert kernel.fields(path) == []
    # Of two equal keys the last one counts; both are fields.
    assert kernel.items(["a"]) == [(25, 26)]
    assert [key for key, _, _ in kernel.fields([])] == ["a", "b", "a"]


@pytest.mark.parametrize(("data", "error"), [(b"{", InvalidJsonError), (b'"\xff"', InvalidUtf8Error)])
def test_bad_bytes_give_a_typed_error(data, error):
    with pytest.raises(error):
        _core.Json(data)


def test_wrong_arguments_are_type_errors():
    with pytest.raises(TypeError, match="a body is bytes"):
        _core.Json("{}")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _core.Json(b"{}").span([None])  # type: ignore[list-item]
    with pytest.raises((TypeError, OverflowError)):
        _core.Json(b"{}").span([-1])


@given(st.binary(max_size=40))
def test_any_bytes_give_spans_or_a_typed_error(data):
    try:
        kernel = _core.Json(data)
    except ReadError:
        return
    assert kernel.span([]) is not None
