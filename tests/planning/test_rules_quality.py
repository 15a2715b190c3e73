"""What a summary by rule keeps where not all fits: rules and values that hold, failures by their number."""

import sys
from collections.abc import Callable
from types import FrameType

import msgspec
import pytest

from turnfold import Skip, Transcript, compact_sync, meter, presets
from turnfold.model.summary import SourceMessage, SourcePart, SummaryRequest, ToolDigest
from turnfold.summarizers.rules import Rules
from turnfold.testing.statements import Statement, statements_of

TALK = (
    "The chart in the corner looked fine when we went through it, and the colours were all right.",
    "My train was late, so we talked about the old dashboard for a while.",
    "Das Treffen heute früh hat etwas länger gedauert als gedacht.",
    "El panel antiguo me pareció un poco confuso cuando lo miramos.",
    "那次会议比预期的久，感觉有些奇怪。",
)
RULES = {
    "en": "Never write to the billing table without asking Mira Olsen first.",
    "de": "Ohne Freigabe von Mira Olsen darf niemand in die Tabelle billing schreiben.",
    "fr": "N'écris jamais dans la table billing sans l'accord de Mira Olsen.",
    "es": "Nunca escribas en la tabla billing sin preguntar a Mira Olsen.",
    "ru": "Нельзя писать в таблицу billing без согласия Mira Olsen.",
    "zh": "没有Mira Olsen的批准，不得写入billing表。",
    "ja": "Mira Olsenの承認なしにbilling表へ書き込まないでください。",
}


def said(index: int, role: str, text: str) -> SourceMessage:
    return SourceMessage(index, role, (SourcePart("text", text),))


def request(texts: list[str], *, digests: tuple[ToolDigest, ...] = (), max_tokens: int) -> SummaryRequest:
    messages = tuple(said(k, ("user", "assistant")[k % 2], text) for k, text in enumerate(texts))
    return SummaryRequest(messages, None, None, None, digests, (), max_tokens, 10**6, "o200k_base", "ledger")


def talk(turns: int) -> list[str]:
    return [text for k in range(turns) for text in (f"{TALK[k % 5]} {TALK[(k * 3 + 1) % 5]}", "I see, thanks.")]


def marked(*texts: str) -> list[Statement]:
    return statements_of([("user", text) for text in texts])


@pytest.mark.parametrize("language", RULES)
@pytest.mark.parametrize("place", [0, 30, 58])
def test_a_rule_of_the_user_survives_at_a_fifth(language: str, place: int) -> None:
    texts = talk(30)
    texts[place] = f"{TALK[1]} {RULES[language]} {TALK[2]}"
    messages = [{"role": ("user", "assistant")[k % 2], "content": text} for k, text in enumerate(texts)]
    transcript = Transcript.from_messages(messages, format="openai.chat")
    limit = transcript.tokens().hi // 5
    policy = presets.ledger(0, fraction=None, limit_tokens=limit, ledger_tokens=limit, user_verbatim=False)
    result = compact_sync(transcript, policy)
    assert not isinstance(result, Skip)
    assert result.after.hi <= limit
    assert RULES[language] in str(result.transcript.messages[0]["content"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The limit of the importer is 40 MB.", "The limit of the importer is 95 MB."),
        ("Das Limit des Importers ist 40 MB.", "Das Limit des Importers ist 95 MB."),
        ("进口器的上限是40 MB。", "进口器的上限是95 MB。"),
        ("The release branch is kestrel-40.", "The release branch is kestrel-95."),
    ],
)
def test_a_value_that_was_replaced_goes(before: str, after: str) -> None:
    texts = [before, "Noted.", *talk(2), after, "Noted."]
    roomy = Rules().write(request(texts, max_tokens=2_000))
    tight = Rules().write(request([*texts, *talk(20)], max_tokens=120))
    assert [(before in text, after in text) for text in (roomy, tight)] == [(False, True)] * 2


@pytest.mark.parametrize(
    "texts",
    [
        ("The production database is Postgres 16.", "The staging database is MySQL 8."),
        ("Close ticket ABC-12.", "Close ticket ABC-13."),
        ("Server 12 is down.", "Server 13 is down."),
        ("Done: src/a.py", "Done: src/b.py"),
        ("Never push to main.", "Never push to release."),
    ],
)
def test_what_only_looks_alike_stays(texts: tuple[str, ...]) -> None:
    assert not any(one.replaced or one.doubtful for one in marked(*texts))


def test_an_update_in_other_words_puts_the_old_value_last() -> None:
    old, other, new = marked(
        "Keep the cost of the trip under $300.",
        "The hall seats 300 people.",
        "Update: the trip may now cost 450 dollars.",
    )
    assert (old.doubtful, other.doubtful, new.doubtful) == (True, False, False)


def test_what_failed_again_and_again_says_how_often() -> None:
    def failed(index: int, error: str) -> ToolDigest:
        return ToolDigest(
            index, "shell", "bash", "pytest -k lexer", error, f"ran pytest -k lexer: {error}", is_error=True
        )

    chatter = [ToolDigest(k, "other", "look", None, "", f"look {k} " + "x " * 30, is_error=False) for k in range(60)]
    digests = (*[failed(k, "exit 1") for k in range(7)], failed(8, "exit 2"), *chatter)
    text = Rules().write(request(talk(20), digests=digests, max_tokens=150))
    assert "ran pytest -k lexer: exit 1 (7 of the 8 times that this failed)" in text
    only = Rules().write(request(talk(20), digests=digests[:7] + tuple(chatter), max_tokens=150))
    assert "ran pytest -k lexer: exit 1 (7 times)" in only


def test_code_is_left_out_and_list_items_stand_under_their_heading() -> None:
    text = "Rules:\n- no tabs\n- no new files\n\nSee e.g. this:\n```\nx = 1. And\n```\nIt works. 这样可以。真的。"
    assert [(one.text, one.label, one.enclosed) for one in marked(text)] == [
        ("no tabs", "Rules", False),
        ("no new files", "Rules", False),
        ("It works.", "", False),
        ("这样可以。", "", False),
        ("真的。", "", False),
    ]


def calls_of(work: Callable[[], object]) -> int:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def test_twice_the_text_is_twice_the_work() -> None:
    # What was weighed before costs less, so no two hold the same statements.
    def texts(first: int, turns: int) -> list[str]:
        return [
            t
            for k in range(first, first + turns)
            for t in (f"Change of plan {k}: port {k} is now {k + 7} MB. {TALK[k % 5]}", "Ok.")
        ]

    other, half, whole = (request(texts(1_000 * n, turns), max_tokens=200) for n, turns in enumerate((150, 150, 300)))
    Rules().write(other)
    assert calls_of(lambda: Rules().write(whole)) < 2.6 * calls_of(lambda: Rules().write(half))


@pytest.mark.parametrize("max_tokens", [12, 40, 90, 200, 500, 1_200])
def test_the_cap_holds_and_the_text_is_always_the_same(max_tokens: int) -> None:
    asked = request([*talk(10), *RULES.values(), *talk(10)], max_tokens=max_tokens)
    text = Rules().write(asked)
    assert meter.count(text) <= max_tokens
    assert Rules().write(asked) == text


@pytest.mark.parametrize("max_tokens", [18, 24, 30, 45, 60])
def test_what_goes_on_behind_a_label_never_stands_without_its_beginning(max_tokens: int) -> None:
    limit = "RULE: The Zorvex quota is 412 GB. Never go over it without an explicit yes."
    text = Rules().write(request([*talk(12), limit, "Noted.", *talk(12)], max_tokens=max_tokens))
    assert "Never go over it" not in text or "RULE: The Zorvex quota is 412 GB. Never go over it" in text
    assert max_tokens < 45 or "412 GB" in text


def test_a_label_that_lines_share_is_written_once_with_the_sentences_of_a_line_together() -> None:
    lines = ["RULE: Keep Zorvex at 412 GB. Never go over it.", "RULE: Ask Mira Olsen before a restart of Kuvati."]
    text = Rules().write(request([*talk(12), lines[0], "Noted.", *talk(6), lines[1], "Noted."], max_tokens=60))
    assert text.count("RULE") == 1
    assert "  Keep Zorvex at 412 GB. Never go over it.\n  Ask Mira Olsen before a restart of Kuvati." in text


PASTED = {
    "source": """import { useState, useEffect } from "react";
const [openPanel, setOpenPanel] = useState(
<PanelView className="wide-view" onOpen={setOpenPanel} />
key: currentPanel.key,
return openPanel(currentPanel);""",
    "terminal": """root@box_12:/srv/app# ls -l src/main_loop.py
-rw-r--r-- 1 root root 503 Jul 17 01:31 src/main_loop.py
File "/srv/app/src/main_loop.py", line 88, in run_loop
root@box_12:/srv/app# cat src/other_loop.py""",
    "tags": """<reminder>
The tools run_all and stop_all need the file conf/run_all.toml.
Use run_all for src/main_loop.py.
The report_all tool is in tools/report_all.py, which must be read.
</reminder>""",
}


@pytest.mark.parametrize("pasted", PASTED)
@pytest.mark.parametrize("rule", ["In your replies, give lengths in ells.", "When you quote a poem, name its author."])
def test_what_the_user_asks_for_comes_before_what_was_pasted(pasted: str, rule: str) -> None:
    texts = [*talk(4), f"{rule}\n{PASTED[pasted]}", "I see, thanks.", *talk(4)]
    text = Rules().write(request(texts, max_tokens=24))
    assert rule in text


@pytest.mark.parametrize(
    "text", ["Never call run() twice;", "from now on use the old form,", "return the form to Mira", "max_open = 40"]
)
def test_what_is_said_is_no_code_for_a_sign_in_it(text: str) -> None:
    assert marked(text)[0].score > 1.5


def test_a_tag_that_is_never_closed_encloses_nothing() -> None:
    parts = marked("<b> is bold.\n<log>\nNever read it.\n</log>\nNever write it.\n<end>\nNever mind.")
    assert [one.text for one in parts if one.enclosed] == ["<log>", "Never read it.", "</log>"]


def test_a_wish_that_is_said_again_counts_no_less() -> None:
    once, again = marked("I want the long form."), marked("I want the long form.", "Well.", "I want the long form.")
    assert again[-1].score >= 0.9 * once[0].score


def test_names_from_small_talk_come_last_in_the_ledger() -> None:
    earnest = f"You must quote VPX-4471 {'in the mails that we send to each of the customers ' * 4}before the release."
    asked = request([earnest, "Noted.", *["By the way, old_helper went well.", "Fine."] * 6], max_tokens=16)
    text = Rules().write(msgspec.structs.replace(asked, identifiers=("VPX-4471", "old_helper")))
    assert text.partition("## Ledger\n- ")[2].startswith("VPX-4471")
