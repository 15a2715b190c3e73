"""Texts as statements: where they are cut, what they stand under, what they hang on and what a later one replaces."""

import pytest

from turnfold.testing.statements import Statement, statements_of


def made(*texts: str) -> list[Statement]:
    return statements_of([("user", text) for text in texts])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Ada Lind owns it, e.g. the docs (see z. B. Kap. 3).", 2),
        ('Etc. is fine! "Really?" Yes… ok.', 3),
        ("数据。好！", 2),
        ("a. b. c", 1),
        ("One.two three . four", 1),
        ("One _end._ Two", 2),
        ("Nothing\tends here\x1cat all", 1),
    ],
)
def test_a_line_is_cut_at_the_ends_of_sentences(text: str, sentences: int) -> None:
    found = made(text)
    assert len(found) == sentences
    assert [text.find(one.text) for one in found] == sorted(text.find(one.text) for one in found)


def test_labels_and_headings_reach_as_far_as_they_stand_over() -> None:
    text = (
        "Deadline: May 4. It is firm.\nNote : see a\nhttps://x.y: no\n# Plan\n- b\nRules:\n* never push\n\tkeep it\nend"
    )
    assert [(one.text, one.label) for one in made(text)] == [
        ("Deadline: May 4. It is firm.", "Deadline"),
        ("Note : see a", "Note"),
        ("https://x.y: no", ""),
        ("b", "Plan"),
        ("never push", "Rules"),
        ("keep it", "Rules"),
        ("end", ""),
    ]


def test_a_text_is_compared_in_lower_case_and_with_single_spaces() -> None:
    assert made("ΑΣ  İß\t½ Up")[0].plain == "ας i̇ß ½ up"


def test_what_says_too_little_hangs_on_what_stands_before_it() -> None:
    found = made("Never write to src/a.py without Mira Olsen. It works well.", "It works well.")
    assert [one.after for one in found] == [None, 0, None]


@pytest.mark.parametrize(
    ("before", "after", "goes"),
    [
        ("The limit is 40 MB.", "The limit is 95 MB.", True),
        ("The cap is set to $300.", "The cap is set to $1,450.50.", True),
        ("The release is on may 4.", "The release is on june 30.", True),
        ("The release is on 2026-05-04.", "The release is on 2026-06-30.", True),
        ("The file is src/a.py.", "The file is src/b.py.", True),
        ("The share is 12%.", "The share is 15 %.", True),
        ("The zone is us-west-2 a.", "The zone is us-west-3 a.", True),
        ("Look in us-west-2: it is full.", "Look in us-west-3: it is full.", False),
        ("It is judge/004 that fails.", "It is judge/005 that fails.", True),
        ("Ada said three hundred dollars is it.", "Ada said four hundred dollars is it.", False),
        ("The price is three hundred dollars.", "The price is four hundred euros.", True),
    ],
)
def test_a_setting_is_replaced_by_the_same_with_another_value(before: str, after: str, goes: bool) -> None:
    assert [one.replaced for one in made(before, after)] == [goes, False]


def test_no_text_takes_longer_than_its_length_says() -> None:
    # Each of these would take minutes where a scan goes back.
    for part in ("1", "a-", "one ", ". ", "a. . ", "„", "f", "a/", "http://", "Ab ", "没有", "i must "):
        assert len(made(part * 40_000)) < 50_000
