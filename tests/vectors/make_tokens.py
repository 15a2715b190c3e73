"""Write `tokens.json` beside this file: texts and what tiktoken counts for them.

    TIKTOKEN_CACHE_DIR=DIR python make_tokens.py

DIR holds the two vocabularies under the names tiktoken looks for, so that nothing is downloaded; see
`rust/turnfold-tokens/data/README.md` for where they come from. Written with tiktoken 0.14.0.
"""

import json
from pathlib import Path

import tiktoken

Text = str | dict[str, list[object]]

ABOUT = (
    "Token counts by tiktoken 0.14.0 (encode_ordinary: text that looks like a special token is ordinary text). "
    "Each case: name; text, one of a string, {repeat: [string, times]}, {join: [texts]}, {utf16: [code units]} (pairs "
    "of surrogates join, a lone one becomes U+FFFD); counts by encoding; ids by encoding where they are few. "
    "Written by make_tokens.py."
)
ENCODINGS = ("o200k_base", "cl100k_base", "o200k_harmony")
FEW = 48

CODE = '''def fold(self, xs: list[int]) -> dict[str, int]:
    """Fold `xs`."""
    total_tokens = 0  # HTTPServer, camelCase, snake_case, SCREAMING_CASE
\tif not xs:\r\n\t\treturn {"n": 0x7F_FF, 'it\\'s': "don't"}


    return {f"k{i:03d}": x ** 2 for i, x in enumerate(xs) if x != -1_000_000}
'''

CASES: list[tuple[str, Text]] = [
    ("empty", ""),
    ("one letter", "a"),
    ("hello", "hello world"),
    ("nul", "\0"),
    ("nul inside", "a\0b\0\0c"),
    ("controls", "\x01\x1b[31mred\x1b[0m\x7f\x1c\x1d"),
    ("special endoftext", "<|endoftext|>"),
    ("special inside", "a<|endoftext|>b <|im_start|>user\n<|im_end|>"),
    ("special prompt", "<|endofprompt|><|fim_prefix|>"),
    ("special harmony", "<|start|>assistant<|channel|>final<|message|>hi<|return|>"),
    ("special reserved", "<|reserved_200000|>"),
    ("contractions", "I'm you're he'll it's we've they'd don't"),
    ("contractions upper", "I'M YOU'RE HE'LL IT'S WE'VE THEY'D DON'T"),
    ("contractions mixed", "it'Street 'sup 'Re x'lL y'v"),
    ("long s", "it'\u017f wa\u017f '\u017f"),
    ("kelvin", "\u212aelvin \u212a's"),
    ("apostrophes", "'' ''' 'a' \u2019s rock 'n' roll"),
    ("spaces before word", "a  b   c    d"),
    ("spaces before number", "a  1   2    3"),
    ("spaces before sign", "a  .   +    ("),
    ("tab before word", "\tfoo\t\tbar \tbaz\t bat"),
    ("trailing spaces", "foo  \n bar \n\n  \n   "),
    ("trailing newline", "foo\n"),
    ("newline then spaces at end", "foo\n   "),
    ("crlf", "a\r\nb\r\n\r\nc\r\rd\n\r\n"),
    ("slashes after newline", "//\n/// x\n\n/*\n*/\n/"),
    ("indent", "{\n    foo: [\n\t\t1,\n        2\n    ]\n}\n"),
    ("nbsp", "a\u00a0b \u00a0c\u00a0\u00a0d"),
    ("ideographic space", "\u3000\u4e2d\u6587\u3000\u3000 x"),
    ("next line", "a\u0085b\u2028c\u2029d\u1680e"),
    ("zero width", "a\u200bb\u200cc\u200dd\ufeffe\u2060f"),
    ("marks", "e\u0301 \u0301a \u0301\u0301 \u0301ABC n\u0303o"),
    ("mark after space and sign", " \u0301.\u0301 (\u0345)"),
    ("devanagari", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e"),
    ("thai", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01"),
    ("arabic", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0661\u0662\u0663\u0664"),
    ("hebrew", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"),
    ("chinese", "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff01"),
    ("japanese", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u3001\u30c6\u30b9\u30c8\u3067\u3059\u3002"),
    ("korean", "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4 \u1112\u1161\u11ab"),
    (
        "russian",
        "\u041f\u0440\u0438\u0432\u0435\u0442, \u041c\u0418\u0420! \u042d\u0442\u043e \u0442\u0435\u0441\u0442.",
    ),
    ("greek", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u039a\u03cc\u03c3\u03bc\u03b5"),
    ("german", "Gr\u00fc\u00dfe, \u00dcBERMUT und \u1e9e"),
    ("title case letters", "\u01c5ara \u01c8 \u1f88x"),
    ("modifier letters", "\u02b0a A\u02b0B \u02b0"),
    ("case and caseless", "ABC\u4e2dD \u4e2dAb A\u4e2d B\u4e2dc"),
    (
        "other numbers",
        "\u00bd \u2167 \u0663\u0664\u0665\u0666 \u0be7\u0be8 \u2460\u2461\u2462\u2463 \U0001d7d8\U0001d7d9",
    ),
    ("emoji", "\U0001f600\U0001f603 \U0001f680"),
    ("emoji zwj", "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308"),
    ("emoji skin", "\U0001f44b\U0001f3fd\U0001f44d\U0001f3ff \U0001f1e9\U0001f1ea"),
    ("keycap", "1\ufe0f\u20e3 #\ufe0f\u20e3"),
    ("deseret", "\U00010400\U00010428\U00010401x"),
    ("private use", "\ue000\uf8ff\U000f0000\U0010fffd"),
    ("unassigned", "\u0378\U000e0001\U0002ffff"),
    ("replacement", "\ufffd\ufffd a\ufffdb"),
    ("lone high surrogate", {"utf16": [0x61, 0xD83D, 0x62]}),
    ("lone low surrogate", {"utf16": [0xDC00]}),
    ("surrogate pair", {"utf16": [0xD83D, 0xDE00]}),
    ("surrogates reversed", {"utf16": [0xDE00, 0xD83D, 0xD83D, 0xDE00]}),
    ("digits", "1 12 123 1234 1234567 1,234.56 0x1F 1e10 3.14159"),
    ("camel case", "fooBarBaz HTTPServer XMLHttpRequest iPhone aB AbC ABc"),
    ("url", "https://example.com/a/b?c=d&e=%20f#g-h_i~j"),
    ("uuid", "550e8400-e29b-41d4-a716-446655440000"),
    ("json", '{"a":[1,2,{"b":null}],"c":"d\\"e\\u0041\\n","f":-1.5e-3,"g":true}'),
    ("markdown", "# Title\n\n- [x] **bold** _it_ `code`\n\n```rust\nfn x() {}\n```\n| a | b |\n|---|---|\n"),
    ("diff", "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n-old\n+new\n \n"),
    ("code", CODE),
    ("sixteen bytes", "aaaaaaaaaaaaaaaa counterrevolution"),
    ("long word", "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft"),
    ("ruler", "=" * 79 + "\n" + "-" * 80 + "\n" + "#" * 81),
    ("base64", "SGVsbG8sIHdvcmxkISBUaGlzIGlzIGEgdGVzdCBvZiBiYXNlNjQgZW5jb2Rpbmc+/w=="),
    ("code many times", {"repeat": [CODE, 300]}),
    (
        "mixed many times",
        {"repeat": ["\u4e16\u754c Gr\u00fc\u00dfe it's 12345 \U0001f469\u200d\U0001f467\r\n  x\u3000", 2000]},
    ),
    ("digits many", {"repeat": ["1234567890", 100_000]}),
    ("arabic digits many", {"repeat": ["\u0661\u0662\u0663\u0664", 20_000]}),
    ("one letter many", {"repeat": ["a", 1_000_000]}),
    ("capitals many", {"repeat": ["A", 300_000]}),
    ("equals signs many", {"repeat": ["=", 1_000_000]}),
    ("spaces many", {"repeat": [" ", 600_000]}),
    ("spaces many then word", {"join": [{"repeat": [" ", 300_000]}, "x"]}),
    ("newlines many", {"repeat": ["\n", 1_000_000]}),
    ("crlf many", {"repeat": ["\r\n", 100_000]}),
    ("tabs many", {"repeat": ["\t", 200_000]}),
    ("nul many", {"repeat": ["\0", 100_000]}),
    ("apostrophes many", {"repeat": ["'", 100_000]}),
    ("abc many", {"repeat": ["abc", 100_000]}),
    ("signs many", {"repeat": ["=-", 100_000]}),
    ("camel many", {"repeat": ["aB", 100_000]}),
    ("han many", {"repeat": ["\u4e2d", 100_000]}),
    ("rare han many", {"repeat": ["\U0002000b", 50_000]}),
    ("emoji many", {"repeat": ["\U0001f600", 50_000]}),
    ("zwj many", {"repeat": ["\U0001f469\u200d", 30_000]}),
    ("marks many", {"repeat": ["\u0301", 100_000]}),
    ("specials many", {"repeat": ["<|endoftext|>", 10_000]}),
    ("spaces and newlines many", {"repeat": ["  \n \t\n\n   ", 20_000]}),
    ("letters then signs", {"join": [{"repeat": ["xq", 20_000]}, {"repeat": ["*", 20_000]}, "end"]}),
]


def spell(text: object) -> str:
    """The string that a case's text stands for."""
    match text:
        case str():
            return text
        case {"repeat": [str() as part, int() as times]}:
            return part * times
        case {"join": list() as parts}:
            return "".join(spell(part) for part in parts)
        case {"utf16": list() as units}:
            raw = b"".join(int(unit).to_bytes(2, "little") for unit in units)
            return raw.decode("utf-16-le", "replace")
    raise ValueError(text)


def main() -> None:
    """Count everything and write the file."""
    tokenizers = {name: tiktoken.get_encoding(name) for name in ENCODINGS}
    lines = []
    for name, text in CASES:
        ids = {encoding: tokenizer.encode_ordinary(spell(text)) for encoding, tokenizer in tokenizers.items()}
        case: dict[str, object] = {
            "name": name,
            "text": text,
            "counts": {key: len(value) for key, value in ids.items()},
        }
        if all(len(value) <= FEW for value in ids.values()):
            case["ids"] = ids
        lines.append(json.dumps(case))
    content = f'{{"about": {json.dumps(ABOUT)},\n"cases": [\n' + ",\n".join(lines) + "\n]}\n"
    Path(__file__).with_name("tokens.json").write_text(content)


if __name__ == "__main__":
    main()
