"""Warnings that point to the line of the user that led to them."""

from __future__ import annotations

import sys
import warnings


def warn_caller(warning: Warning) -> None:
    """Warn at the innermost line outside this library, however deep in it the cause lies."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
