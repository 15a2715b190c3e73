"""The list of errors: one code, one class, one docstring that says what to do."""

import pickle

import pytest

from turnfold import errors


def subclasses(cls: type[errors.TurnfoldError]) -> set[type[errors.TurnfoldError]]:
    return {cls}.union(*(subclasses(c) for c in cls.__subclasses__()))


def test_each_concrete_class_is_listed_under_its_own_code() -> None:
    families = {errors.TurnfoldError, errors.ReadError}
    assert set(errors.ERRORS.values()) == subclasses(errors.TurnfoldError) - families
    assert all(cls.code == code and "code" in vars(cls) for code, cls in errors.ERRORS.items())


@pytest.mark.parametrize("code", sorted(errors.ERRORS))
def test_an_error_says_what_happened_and_survives_pickling(code: str) -> None:
    error = errors.from_kernel(code, "It broke", 7, "messages[1]")
    assert type(error) is errors.ERRORS[code]
    assert "It broke" in str(error)
    if isinstance(error, errors.ReadError):
        assert str(error) == "It broke at byte 7 (messages[1])"
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.args, vars(copy)) == (type(error), error.args, vars(error))
    doc = type(error).__doc__
    assert doc is not None
    assert doc.count(".") >= 2, "one sentence for what happened, one for what to do"


def test_a_code_that_nobody_listed_is_an_internal_error() -> None:
    assert type(errors.from_kernel("?", "odd", None, None)) is errors.InternalError
