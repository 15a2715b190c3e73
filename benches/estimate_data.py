"""The texts that the estimator is fitted on: what a few pinned wheels and this Python ship, and what is made from that.

`documents(wheels)` yields `Document(source, kind, language, text)`. A source is a package, or `made`: texts of kinds
that agents read and no package holds (logs, listings, tool results, diffs), made from the packages' own words
(estimate_made.py). Nothing here is copied into the repository; anybody with `pip download` gets the same texts.
"""

import ast
import hashlib
import json
import random
import re
import sysconfig
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from estimate_made import MADE, MADE_EACH, Pool

PINNED = (
    "Django==5.1.4",
    "ckan==2.12.0",
    "home-assistant-frontend==20250109.2",
    "wagtail==8.0.1",
    "thonny==5.0.1",
    "sympy==1.14.0",
    "indico==3.2.9",
)
"""The wheels: interfaces translated into a hundred languages, Python, JavaScript, styles, pages, JSON."""

MESSAGE_BYTES = 1_600
"""Median size of a text; the sizes are log-normal, as in recorded conversations."""


@dataclass(frozen=True)
class Document:
    """One text. `language` is an ISO code for prose, the name of the notation for the rest."""

    source: str
    kind: str
    language: str
    text: str


def documents(wheels: Path, seed: int = 1) -> Iterator[Document]:
    """Yield every text, always the same ones in the same order."""
    chance = random.Random(seed)
    pool = Pool()
    for source, kind, language, text in _shipped(wheels):
        pool.learn(kind, language, text)
        limit = LIMITS.get(kind, 400_000)
        for piece in pieces(text[:limit], chance):
            if chance.random() < KEPT.get((kind, source), KEPT.get(kind, 1.0)):
                yield Document(source, kind, language, piece)
    for kind, make in MADE.items():
        for _ in range(MADE_EACH.get(kind, 160)):
            size = _size(chance)
            yield Document("made", kind, kind, make(chance, pool, size)[: size * 2])
    yield from _scripts(chance)


def _scripts(chance: random.Random) -> Iterator[Document]:
    """Letters of each half block of Unicode at random, in words.

    No package writes most scripts. Such text costs more than words of a language do, so what is fitted on it alone errs
    on the safe side.
    """
    for start in range(0x80, 0x30000, 0x40):
        letters = [c for c in map(chr, range(start, start + 0x40)) if unicodedata.category(c)[0] in "LMSN"]
        if len(letters) < 4 or 0xD800 <= start < 0xE000:
            continue
        for _ in range(1 if 0x3400 <= start < 0xD800 or start > 0x11FFF else 3):
            words = ("".join(chance.choices(letters, k=chance.randint(2, 8))) for _ in range(60))
            yield Document("made", "script", f"U+{start:04X}", " ".join(words))


LIMITS = {"prose": 150_000, "catalogue": 60_000, "json": 60_000, "minified": 40_000}
KEPT = {"code": 0.25, "catalogue": 0.3, "json": 0.5, "docstrings": 0.6, "page": 0.5}


def _size(chance: random.Random) -> int:
    return int(min(max(chance.lognormvariate(7.4, 1.0), 40), 20_000))


def pieces(text: str, chance: random.Random) -> Iterator[str]:
    """Cut a text into messages, at ends of lines where there are any."""
    at = 0
    while at < len(text):
        end = min(at + _size(chance), len(text))
        line = text.find("\n", end)
        end = line + 1 if 0 <= line < end + 400 else end
        if text[at:end].strip():
            yield text[at:end]
        at = end


Shipped = tuple[str, str, str, str]


def _shipped(wheels: Path) -> Iterator[Shipped]:
    for wheel in sorted(wheels.glob("*.whl")):
        source = wheel.name.split("-")[0].lower()
        if not any(source == pin.split("==")[0].lower().replace("-", "_") for pin in PINNED):
            continue
        with zipfile.ZipFile(wheel) as archive:
            for info in sorted(archive.infolist(), key=lambda i: i.filename):
                if info.file_size < 4_000_000:
                    yield from _member(source, info.filename, lambda i=info: archive.read(i))
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if "site-packages" not in path.parts and "test" not in path.parts:
            yield from _member("stdlib", path.relative_to(root).as_posix(), path.read_bytes)
    include = Path(sysconfig.get_path("include"))
    for path in sorted(include.rglob("*.h")):
        yield from _member("stdlib", path.relative_to(include).as_posix(), path.read_bytes)


def _member(source: str, name: str, read) -> Iterator[Shipped]:
    suffix = name.rsplit(".", 1)[-1] if "." in name else ""
    try:
        if suffix == "po":
            language = re.search(r"/([A-Za-z_@]+)/LC_MESSAGES/", name)
            if language:
                text = read().decode()
                yield source, "prose", language[1], "\n".join(translated(text))
                if hashlib.sha256(name.encode()).digest()[0] < 40:
                    yield source, "catalogue", language[1], text
        elif suffix == "json":
            yield from _json_member(source, name, read().decode())
        elif suffix == "py":
            text = read().decode()
            if "pydoc_data" in name:
                yield source, "prose", "en", "\n".join(_strings(text))
                return
            yield source, "code", "python", text
            documented = "\n".join(_docstrings(text))
            if len(documented) > 400:
                yield source, "docstrings", "en", documented
        elif suffix in CODE:
            text = read().decode()
            long = max(map(len, text.split("\n")), default=0) > 1_000
            if long and hashlib.sha256(name.encode()).digest()[0] > 25:
                return
            yield source, "minified" if long else CODE[suffix][0], CODE[suffix][1], text
        elif suffix == "rst" or name.endswith("METADATA"):
            match = re.search(r"locale/([a-z]{2}(?:_[A-Z]{2})?)/", name)
            yield source, "prose", match[1] if match else "en", read().decode()
    except UnicodeDecodeError:
        return


CODE = {
    "js": ("code", "javascript"),
    "css": ("code", "css"),
    "scss": ("code", "css"),
    "html": ("page", "html"),
    "svg": ("page", "svg"),
    "h": ("code", "c"),
    "pyi": ("code", "python"),
    "txt": ("listing", "text"),
}


def _json_member(source: str, name: str, text: str) -> Iterator[Shipped]:
    language = re.search(r"translations/(?:\w+/)?([a-z]{2,3}(?:-[A-Za-z]+)?)-[0-9a-f]{32}\.json$", name)
    value = json.loads(text)
    chosen = hashlib.sha256(name.encode()).digest()[0]
    if language:
        yield source, "prose", language[1], "\n".join(_leaves(value))
        if chosen < 30:
            yield source, "json", language[1], json.dumps(value, ensure_ascii=False, indent=2 if chosen < 15 else None)
    elif chosen < 60:
        yield source, "json", "json", text


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)


def translated(catalogue: str) -> Iterator[str]:
    for match in re.finditer(r'^msgstr(?:\[\d+\])? ((?:".*"\n?)+)', catalogue, re.MULTILINE):
        text = "".join(part[1:-1] for part in match[1].split("\n") if part)
        if text and "Project-Id-Version" not in text:
            yield text.replace("\\n", "\n").replace('\\"', '"')


def _strings(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 100:
            yield node.value


def _docstrings(code: str) -> Iterator[str]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text and len(text) > 80:
                yield text
