"""JSON inside a string: what it says, and edits of it that leave all other bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.containers.edits import Edit, apply_edits
from turnfold.containers.embedded import Embedded

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=4), max_leaves=12
)


@given(VALUES, st.booleans())
def test_the_text_is_what_the_string_says(value: object, ascii_only: bool):
    inner = json.dumps(value, ensure_ascii=ascii_only)
    try:
        literal = json.dumps(inner, ensure_ascii=ascii_only).encode()
        expected = inner.encode()
    except UnicodeEncodeError:
        return
    assert Embedded(literal, 0).text == expected


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (rb'"[\"a\"]"', b'["a"]'),
        (rb'"[\"\u00e9\/\\n\"]"', '["é/\\n"]'.encode()),
        (rb'"[\"\ud83d\ude00\"]"', '["\U0001f600"]'.encode()),
        (rb'"[\"\ud83d\"]"', b'["\\ud83d"]'),
        (rb'"[\"\ud83d\u0041\"]"', b'["\\ud83dA"]'),
        (rb'""', b""),
    ],
)
def test_escapes(literal: bytes, text: bytes):
    assert Embedded(literal, 0).text == text


def test_an_edit_leaves_the_escapes_outside_of_it():
    data = rb'{"a": "[\"\u00e9\", \"gone\", \"\/\"]", "b": 1}'
    embedded = Embedded(data[6:-9], 6)
    at = embedded.text.index(b'"gone"')
    written = apply_edits(data, embedded.edits([Edit(at, at + 6, '"né\n"'.encode())]))
    assert written == r'{"a": "[\"\u00e9\", \"né\n\", \"\/\"]", "b": 1}'.encode()


def test_strings_in_strings():
    inner = json.dumps(["one", "two"])
    middle = json.dumps({"list": inner})
    data = json.dumps([middle]).encode()
    outer = Embedded(data[1:-1], 1)
    start = outer.text.index(b'"[')
    nested = Embedded(outer.text[start:-1], start)
    at = nested.text.index(b'"two"')
    written = apply_edits(data, outer.edits(nested.edits([Edit(at, at + 5, b'"2\\""')])))
    assert json.loads(json.loads(json.loads(written)[0])["list"]) == ["one", '2"']
