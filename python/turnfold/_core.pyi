# The compiled kernel. The floors above give it types and defaults: here every option is explicit.

__all__ = ["__version__"]

__version__: str
