"""Checks and fakes that users may import: the field-case runner."""
