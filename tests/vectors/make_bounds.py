"""Write bounds.json: bounds of small texts as the kernel gives them; each is checked by the count that tiktoken gives.

python tests/vectors/make_bounds.py
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import turnfold
from turnfold.testing.oracle import tiktoken_encodings

CASES: dict[str, tuple[str, int]] = {
    "empty": ("", 1),
    "one letter": ("a", 1),
    "a word": (" international", 1),
    "letters that no pair of is a token": ("qj", 8),
    "digits": ("1234567", 3),
    "digits of two scripts": ("12٣4", 5),
    "spaces": (" ", 40),
    "as many spaces as a block has": (" ", 64),
    "spaces in several tokens": (" ", 1_000),
    "newlines": ("\n", 5),
    "newlines many": ("\n", 1_000),
    "spaces, then a newline": ("    \n", 1),
    "indented code": ("    def read(self, path: str) -> bytes:\n        return self._store[path]\n\n", 3),
    "prose": ("The harbour office moves the meeting to Thursday. ", 4),
    "log": ("2024-05-01 12:30:01,417 INFO [worker-3] GET /items/99812 200 51ms\n", 2),
    "json": ('{"id": 17, "tags": ["red", "blue"], "ok": true}', 2),
    "signs": ("=", 300),
    "signs of several kinds": ("=-+", 60),
    "letters many": ("ab", 100),
    "camel": ("getHTTPResponseCode", 2),
    "russian": ("Собрание перенесли на четверг. ", 3),
    "chinese": ("会议改到星期四，因为报告还没有到。", 6),
    "korean": ("회의는 목요일로 연기되었습니다. ", 3),
    "thai without spaces": ("การประชุมถูกเลื่อนไปเป็นวันพฤหัสบดี", 4),
    "emoji": ("👍", 5),
    "marks": ("e\u0301", 30),
    "special token look-alike": ("<|endoftext|>", 2),
    "controls": ("\x00\x01", 6),
}


def main() -> None:
    """Write the table."""
    cases = []
    with TemporaryDirectory() as folder:
        judges = tiktoken_encodings(Path(folder))
        for name, (text, times) in CASES.items():
            bounds = {}
            for encoding in ("o200k_base", "cl100k_base", "o200k_harmony"):
                found = turnfold.bounds(text * times, encoding)
                count = len(judges[encoding].encode_ordinary(text * times))
                if not found.lo <= count <= found.hi:
                    raise SystemExit(f"{name}: {count} {encoding} tokens are not in {found}")
                bounds[encoding] = [found.lo, found.hi]
            cases.append({"name": name, "text": text, "times": times, "bounds": bounds})
    about = "Bounds of texts, made by make_bounds.py: the kernel's own; each held tiktoken's count when it was written."
    table = json.dumps({"about": about, "cases": cases}, ensure_ascii=False, indent=1)
    Path(__file__).with_name("bounds.json").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
