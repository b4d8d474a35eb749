"""Import optional libraries."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from syntabula.errors import MissingExtraError


def require(module: str, extra: str) -> ModuleType:
    """Import an optional library when it is first needed.

    Args:
        module: Dotted name of the module, such as "pyarrow.feather".
        extra: Name of the extra that installs it.

    Returns:
        The module.

    Raises:
        MissingExtraError: If it is not installed; the message gives the install line.
    """
    try:
        return import_module(module)
    except ImportError:
        raise _missing(module, extra) from None


def require_installed(module: str, extra: str) -> None:
    """Raise MissingExtraError if an optional library is not installed, without importing it."""
    if not is_installed(module):
        raise _missing(module, extra)


def is_installed(module: str) -> bool:
    """Return whether an optional library is installed, without importing it."""
    return find_spec(module) is not None


def _missing(module: str, extra: str) -> MissingExtraError:
    library = module.partition(".")[0]
    return MissingExtraError(
        f'this needs {library}, which is not installed; run: pip install "syntabula[{extra}]"'
    )
