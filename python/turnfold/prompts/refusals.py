"""Refusals in words: many servers say nowhere but in the text that their model will not do it."""

import re
from typing import Final

_MOST_CHARACTERS: Final = 600

# How one begins, in the languages in which models are asked most. Each needs the first person: a summary speaks of
# others, or of what was not possible in the work.
_BEGINNINGS: Final = (
    (
        r"(?:i(?:'m| am) (?:very |so |truly )?sorry|sorry|(?:my )?apologies|i apologi[sz]e|unfortunately)\b"
        r"[^.!?\n]{0,60}?"
        r"\bi(?:'m| am)? (?:can(?:no|')t|can not|won't|not able|unable|must decline)\b"
    ),
    (
        r"i(?:'m| am)? (?:can(?:no|')t|can not|won't|will not|not able to|unable to|must decline to) "
        r"(?:help|assist|comply|fulfil|engage|provide|support|continue with|do (?:that|this)|summari[sz]e)"
    ),
    r"as an ai\b",
    r"(?:es tut mir (?:sehr )?leid|leider|entschuldigung)\b[^.!?\n]{0,40}?\b(?:(?:kann|darf) ich|ich (?:kann|darf))\b",
    r"(?:je suis )?désolée?\b[^.!?\n]{0,40}?\bje ne (?:peux|suis)\b",
    r"je ne (?:peux pas|suis pas en mesure de) (?:vous )?(?:aider|répondre|faire)",
    r"(?:lo siento|lo lamento|disculpa)\b[^.!?\n]{0,40}?\bno puedo\b",
    r"no puedo (?:ayudar|asistir|cumplir)",
    r"(?:desculpe|sinto muito|lamento)\b[^.!?\n]{0,40}?\bnão posso\b",
    r"não posso (?:ajudar|atender)",
    r"mi dispiace\b[^.!?\n]{0,40}?\bnon posso\b",
    r"non posso (?:aiutar|assister)",
    r"(?:извините|к сожалению|простите)\b[^.!?\n]{0,40}?\bя не (?:могу|в состоянии)\b",
    r"(?:很|非常)?(?:对不起|抱歉)[^。\n]{0,20}?我(?:不能|无法)",
    r"我(?:不能|无法)(?:帮|协助|提供|完成)",
    r"(?:申し訳|すみません)[^。\n]{0,40}?(?:できません|いたしかねます)",
    r"(?:죄송|미안)[^.\n]{0,40}?(?:수 없|못)",
)
_BEGINNING: Final = re.compile(rf"\W*(?:{'|'.join(_BEGINNINGS)})", re.IGNORECASE)


def refuses(text: str) -> bool:
    """Whether a short text begins as refusals do. What it goes on with is not looked at."""
    return len(text) <= _MOST_CHARACTERS and _BEGINNING.match(text.replace("\u2019", "'")) is not None
