"""The time that imports take: libraries are imported by the first fit that needs them, and by no other."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader, SourcelessFileLoader
from types import ModuleType
from typing import Any

_LOADERS = (SourceFileLoader, SourcelessFileLoader, ExtensionFileLoader)


class ImportSeconds:
    """Adds up the seconds in which this thread imports modules from files, within a `with` block.

    It stands first among the finders of `sys.meta_path`, and leaves the finding to the others.

    Attributes:
        seconds: Until now.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._thread = threading.get_ident()
        self._inside = False

    def __enter__(self) -> ImportSeconds:
        # A finder by its method, which is all that the protocol asks for.
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what another finder finds, with a loader whose work is timed."""
        if threading.get_ident() != self._thread:
            return None
        with self._timed():
            for finder in sys.meta_path:
                found = None
                if not isinstance(finder, ImportSeconds) and hasattr(finder, "find_spec"):
                    found = finder.find_spec(name, path, target)
                if found is not None:
                    self._watch(found.loader)
                    return found
        return None

    def _watch(self, loader: Any) -> None:
        """Time the work of a loader, which is that of this one module."""
        if not isinstance(loader, _LOADERS):
            return
        for name in ("create_module", "exec_module"):
            setattr(loader, name, self._once(loader, name))

    def _once(self, loader: Any, name: str) -> Callable[[Any], Any]:
        work: Callable[[Any], Any] = getattr(loader, name)

        def timed(given: Any) -> Any:
            loader.__dict__.pop(name, None)
            with self._timed():
                return work(given)

        return timed

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Count the time of a block, unless a module imports it whose own time is counted."""
        if self._inside or threading.get_ident() != self._thread:
            yield
            return
        self._inside, started = True, time.perf_counter()
        try:
            yield
        finally:
            self._inside = False
            self.seconds += time.perf_counter() - started
