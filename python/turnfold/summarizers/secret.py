"""A value that must not be seen: API keys."""


class Secret:
    """Holds a string that no repr, log, error or copy of its owner shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value, for the one who must send it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret([hidden])"

    def __reduce__(self) -> str:
        raise TypeError("A secret is not pickled: give the key where it is used")
