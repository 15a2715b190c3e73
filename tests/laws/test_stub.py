"""The kernel takes every option explicitly: defaults live once, in Python."""

import ast
import inspect
from pathlib import Path

from turnfold import _core

STUB = Path(_core.__file__ or "").with_name("_core.pyi")


def functions() -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(STUB.read_text())) if isinstance(node, ast.FunctionDef)]


def test_the_stub_has_functions() -> None:
    assert functions()


def test_no_stub_function_has_a_default() -> None:
    defaulted = [f.name for f in functions() if f.args.defaults or any(f.args.kw_defaults)]
    assert not defaulted


def test_no_kernel_function_has_a_default() -> None:
    owners = [_core, *(value for value in vars(_core).values() if inspect.isclass(value))]
    exported = [value for owner in owners for name, value in vars(owner).items() if not name.startswith("_")]
    signed = [getattr(value, "__text_signature__", None) for value in exported]
    assert not [signature for signature in signed if signature and "=" in signature]
