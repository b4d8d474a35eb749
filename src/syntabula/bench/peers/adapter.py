"""The adapters: which code of others there is, and how each is installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from syntabula._arguments import near
from syntabula.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """Code of others.

    Attributes:
        script: File of this folder that runs it.
        word: The method, as the script takes it.
        installed_by: How it is installed.
    """

    script: str
    word: str
    installed_by: str

    @property
    def variable(self) -> str:
        """Environment variable that names its Python."""
        return f"SYNTABULA_PEER_{Path(self.script).stem.upper()}"


ADAPTERS: Mapping[str, Adapter] = {
    "mbi-aim": Adapter(script="mbi.py", word="aim", installed_by="pip install mbi"),
    "mbi-independent": Adapter(script="mbi.py", word="independent", installed_by="pip install mbi"),
    "dpmm-mst": Adapter(script="dpmm.py", word="mst", installed_by="pip install dpmm 'pyarrow<20'"),
    "dpmm-aim": Adapter(script="dpmm.py", word="aim", installed_by="pip install dpmm 'pyarrow<20'"),
    "dpmm-privbayes": Adapter(
        script="dpmm.py", word="privbayes", installed_by="pip install dpmm 'pyarrow<20'"
    ),
}
"""Adapters by the name that follows "peer:"."""


def check_peer(name: str) -> None:
    """Raise ArgumentError, with similar names, unless there is an adapter of this name."""
    if name not in ADAPTERS:
        raise ArgumentError(
            f"there is no peer {name!r}{near(name, ADAPTERS)}; peers are {', '.join(ADAPTERS)}"
        )
