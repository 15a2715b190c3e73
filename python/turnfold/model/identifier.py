"""What an identifier is: something that a summary must say letter for letter."""

from typing import Literal

import msgspec

IdentifierKind = Literal[
    "url",
    "email",
    "uuid",
    "digest",
    "reference",
    "version",
    "address",
    "path",
    "location",
    "constant",
    "error",
    "symbol",
    "id",
]
"""What an identifier names.

`digest`: a git hash or a hex digest; `reference`: an issue or pull request (`#12`, `ABC-123`); `address`: a host,
`host:port`, an IP address; `location`: a path with a line; `constant`: an environment variable or a constant; `error`:
the name or code of an error, an exit code; `symbol`: a name of code, a test's among them; `id`: any other of letters
and digits.
"""


class Identifier(msgspec.Struct, frozen=True, gc=False):
    """One identifier, spelled as the text spells it."""

    kind: IdentifierKind
    text: str
