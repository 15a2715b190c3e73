"""Texts to count, a megabyte of each kind, from what is installed on the machine; nothing of them is kept here.

| kind | taken from |
|---|---|
| prose | the Debian handbook in English (package debian-handbook); else Python's help and the READMEs of packages |
| code | the standard library of this Python, C headers of Python, JavaScript and shell where packages ship them |
| json | the tau-bench recordings of a corpus folder; else the metadata of installed packages |
| logs | /var/log/dpkg.log, the RECORD files of installed packages, access logs and hashes made here |
| scripts | the handbook in Chinese, Japanese, Korean, Russian, Arabic, Greek, Vietnamese, Persian; else gettext's |
| transcripts | recordings of a corpus folder; left out without one |

`TURNFOLD_BENCH_DOCS` names the folder that holds debian-handbook (default /usr/share/doc; an unpacked .deb will do),
`TURNFOLD_BENCH_CORPUS` a folder of gzipped recordings.
"""

import gettext
import gzip
import html
import json
import os
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MEGABYTE = 1_000_000
SCRIPTS = ("zh-CN", "ja-JP", "ko-KR", "ru-RU", "ar-MA", "el-GR", "vi-VN", "fa-IR")
DOCS = Path(os.environ.get("TURNFOLD_BENCH_DOCS", "/usr/share/doc"))
CORPUS = Path(os.environ.get("TURNFOLD_BENCH_CORPUS", "corpus"))


def neutral(text: str) -> str:
    """Take apart what looks like a special token: some peers count `<|endoftext|>` as one whatever is asked."""
    return text.replace("<|", "< |")


def _cut(parts: Iterator[str], size: int = MEGABYTE) -> str:
    taken: list[str] = []
    left = size
    for part in parts:
        data = part.encode("utf-8", "replace")[:left]
        taken.append(data.decode("utf-8", "ignore"))
        left -= len(data)
        if left <= 0:
            break
    return neutral("".join(taken))


def _handbook(language: str) -> Iterator[str]:
    for page in sorted((DOCS / "debian-handbook" / "html" / language).glob("*.html")):
        text = page.read_text(encoding="utf-8", errors="replace")
        body = text[text.find("<body") :]
        yield html.unescape(re.sub(r"<[^>]*>", "", body))


def _metadata() -> Iterator[Path]:
    for folder in sorted({Path(sysconfig.get_path("purelib")), *(Path(p) for p in sys.path if "site-packages" in p)}):
        yield from sorted(folder.glob("*.dist-info/METADATA"))


def _prose() -> Iterator[str]:
    yield from _handbook("en-US")
    from pydoc_data import topics

    yield from topics.topics.values()
    for path in _metadata():
        yield path.read_text(encoding="utf-8", errors="replace").partition("\n\n")[2]


def _code() -> Iterator[str]:
    library = Path(sysconfig.get_path("stdlib"))
    python = [path for path in sorted(library.glob("*/*.py")) if "test" not in str(path)]
    headers = sorted(Path(sysconfig.get_path("include")).glob("**/*.h"))
    others = [*sorted(Path("/usr/share").glob("*/*.js")), *sorted(Path("/etc/init.d").glob("*"))]
    random.Random(7).shuffle(python)
    for i, path in enumerate(python):
        yield path.read_text(encoding="utf-8", errors="replace")
        for more in (headers, others):
            if i < len(more) and more[i].is_file():
                yield more[i].read_text(encoding="utf-8", errors="replace")[:20_000]


def recordings() -> Iterator[str]:
    """Every recording of the corpus folder, as it is."""
    for path in sorted(CORPUS.rglob("*.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            yield file.read()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _transcripts() -> Iterator[str]:
    for path in sorted(CORPUS.rglob("*.json.gz")):
        try:
            document = json.loads(gzip.decompress(path.read_bytes()))
        except ValueError:  # lines of JSON
            continue
        texts = [text for text in _strings(document) if len(text) > 60]
        random.Random(len(texts)).shuffle(texts)
        yield "\n".join(texts)[:40_000]


def _json() -> Iterator[str]:
    for path in sorted(CORPUS.glob("tau*/*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield file.read(300_000)
    for path in _metadata():
        head = path.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        rows = [line.partition(": ") for line in head.split("\n")]
        yield json.dumps([{"field": name, "value": value} for name, _, value in rows])


def _logs() -> Iterator[str]:
    made = random.Random(11)
    paths = ["/", "/api/v1/items", "/static/app.js", "/login", "/api/v1/users/{}", "/health"]
    agents = ["curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "kube-probe/1.29"]
    dpkg = Path("/var/log/dpkg.log")
    lines = dpkg.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True) if dpkg.exists() else []
    records = [path.with_name("RECORD") for path in _metadata()]
    for i in range(400):
        yield "".join(lines[i * 20 : i * 20 + 20])
        for _ in range(20):
            at = f"2026-0{made.randint(1, 9)}-{made.randint(10, 28)}T{made.randint(10, 23)}:{made.randint(10, 59)}"
            path = made.choice(paths).format(made.randint(1, 99_999))
            yield (
                f'10.0.{made.randint(0, 255)}.{made.randint(0, 255)} - - [{at}:07Z] "GET {path} HTTP/1.1" '
                f'{made.choice([200, 200, 304, 404, 500])} {made.randint(100, 99_999)} "-" "{made.choice(agents)}"\n'
            )
            request = made.getrandbits(128)
            moment = f"{at}:{made.randint(10, 59)}.{made.randint(0, 999):03}"
            yield f"{moment} INFO worker-{i % 8} req={request:032x} took={made.random():.4f}s\n"
        if i < len(records) and records[i].exists():
            yield records[i].read_text(encoding="utf-8", errors="replace")[:6_000]


def _scripts() -> Iterator[str]:
    size = MEGABYTE // len(SCRIPTS)
    for language in SCRIPTS:
        yield _cut(_handbook(language), size)
        yield "👍🏽 👩‍💻 🎉🎉 🇫🇷 ✅ ❌ → " * 20
    for language in ("zh_CN", "ja", "ko", "ru", "ar", "el", "vi", "fa", "th", "hi"):
        for path in sorted(Path(f"/usr/share/locale/{language}/LC_MESSAGES").glob("*.mo")):
            with path.open("rb") as file:
                yield "\n".join(str(text) for text in vars(gettext.GNUTranslations(file))["_catalog"].values())


KINDS = {
    "prose": _prose,
    "code": _code,
    "json": _json,
    "logs": _logs,
    "scripts": _scripts,
    "transcripts": _transcripts,
}


@cache
def text(kind: str) -> str:
    """A megabyte of a kind; less, or nothing, where the machine holds less."""
    return _cut(KINDS[kind]())


def messages(whole: str, mean: int = 1_000) -> list[str]:
    """A text as messages of uneven length."""
    sizes = random.Random(3)
    cut: list[str] = []
    at = 0
    while at < len(whole):
        size = 1 + int(sizes.lognormvariate(0, 1) * mean * 0.6)
        cut.append(whole[at : at + size])
        at += size
    return cut


def pathological() -> dict[str, str]:
    """A megabyte (of UTF-8) each of what counters are slow on."""
    made = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"
    base64 = letters + letters.upper() + "0123456789+/"

    def drawn(alphabet: str, size: int = MEGABYTE) -> str:
        return "".join(made.choices(alphabet, k=size))

    return {
        "a": "a" * MEGABYTE,
        "spaces": " " * MEGABYTE,
        "newlines": "\n" * MEGABYTE,
        "tabs": "\t" * MEGABYTE,
        "=": "=" * MEGABYTE,
        "digits": drawn("0123456789"),
        "letters": drawn(letters),
        "capitals": drawn(letters.upper()),
        "base64": drawn(base64),
        "hex": drawn("0123456789abcdef"),
        "white space": drawn(" \t\n"),
        "signs": drawn("!@#$%^&*()-=+[]{};:,.<>?"),
        "Han": drawn("".join(map(chr, range(0x4E00, 0x9FA5))), MEGABYTE // 3),
        "one Han": "的" * (MEGABYTE // 3),
        "emoji": drawn("".join(map(chr, range(0x1F600, 0x1F640))), MEGABYTE // 4),
        "one emoji": "😀" * (MEGABYTE // 4),
        "marks": "\u0301" * (MEGABYTE // 2),
    }
