"""What a package hands out and loads when it is first asked for."""

from collections.abc import Mapping
from importlib import import_module


def loaded(package: str, homes: Mapping[str, str], name: str) -> object:
    """Return what a package calls `name`, from the module that `homes` says; raise an `AttributeError` without one."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)
