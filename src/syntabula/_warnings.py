"""Warnings that point to the user's line that caused them."""

from __future__ import annotations

import sys
import warnings


def warn_caller(warning: Warning) -> None:
    """Warn at the line that called this library from outside, however deep the cause lies.

    Frames are recognised by their module. Python 3.12's `skip_file_prefixes` goes by file names, and would stop at the
    constructors that dataclasses generate, which have none.
    """
    frame = caller = sys._getframe(1)
    while frame.f_back is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
            # Other libraries may lie between our frames; the caller of our outermost frame is the user's.
            caller = frame.f_back
        frame = frame.f_back
    warnings.warn_explicit(
        warning,
        category=type(warning),
        filename=caller.f_code.co_filename,
        lineno=caller.f_lineno,
        module=str(caller.f_globals.get("__name__")),
        registry=caller.f_globals.setdefault("__warningregistry__", {}),
    )
