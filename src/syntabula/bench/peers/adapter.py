"""The adapters: which code of others there is, and how each is installed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from syntabula._arguments import near
from syntabula.errors import ArgumentError, BudgetError


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """Code of others.

    Attributes:
        script: File of this folder that runs it.
        word: The method, as the script takes it.
        installed_by: How it is installed.
        learns: "codes", if it gets the integer codes of the cell's bins as our methods see them; or "rows", if it gets
            the cells themselves, as it prepares columns on its own.
        is_private: Whether it spends the budget; otherwise its rows have an infinite one.
        checkout: Repository on GitHub that is no package, and of which the user names a checkout; empty for none.
    """

    script: str
    word: str
    installed_by: str
    learns: Literal["codes", "rows"] = "codes"
    is_private: bool = True
    checkout: str = ""

    @property
    def variable(self) -> str:
        """Environment variable that names its Python."""
        return f"SYNTABULA_PEER_{Path(self.script).stem.upper()}"

    @property
    def checkout_variable(self) -> str:
        """Environment variable that names the checkout."""
        return f"{self.variable}_CODE"


_DPMM = "pip install dpmm 'pyarrow<20'"
_SMARTNOISE = "pip install smartnoise-synth"
_DPSYNTH = "pip install git+https://github.com/google/dpsynth, for Python 3.12"
_SDV = "pip install sdv pyarrow"
_SYNTHCITY = "pip install synthcity 'pyarrow<20'"


# Their code needs these versions, or older ones.
_OLD = "torch pyarrow 'numpy<1.24' 'pandas<2'"
_TABDDPM = (
    f"pip install {_OLD} 'scikit-learn<1.2' 'category_encoders<2.7' icecream tomli tomli-w skorch nvidia-ml-py pynvml, "
    "and with --no-deps libzero rtdl"
)
_TABLEDIFFUSION = f"pip install {_OLD} opacus 'scikit-learn<1.4' prettytable tqdm"
_DPMERF = f"pip install {_OLD} 'scikit-learn<1.4' 'autodp<0.2.1' future"


def _rows(
    script: str, word: str, installed_by: str, *, is_private: bool = False, checkout: str = ""
) -> Adapter:
    return Adapter(
        script=script,
        word=word,
        installed_by=installed_by,
        learns="rows",
        is_private=is_private,
        checkout=checkout,
    )


ADAPTERS: Mapping[str, Adapter] = {
    "mbi-aim": Adapter(script="mbi.py", word="aim", installed_by="pip install mbi"),
    "mbi-independent": Adapter(script="mbi.py", word="independent", installed_by="pip install mbi"),
    "dpmm-mst": Adapter(script="dpmm.py", word="mst", installed_by=_DPMM),
    "dpmm-aim": Adapter(script="dpmm.py", word="aim", installed_by=_DPMM),
    "dpmm-privbayes": Adapter(script="dpmm.py", word="privbayes", installed_by=_DPMM),
    "smartnoise-mst": Adapter(script="smartnoise.py", word="mst", installed_by=_SMARTNOISE),
    "smartnoise-aim": Adapter(script="smartnoise.py", word="aim", installed_by=_SMARTNOISE),
    "smartnoise-dpctgan": Adapter(script="smartnoise.py", word="dpctgan", installed_by=_SMARTNOISE),
    "smartnoise-patectgan": Adapter(script="smartnoise.py", word="patectgan", installed_by=_SMARTNOISE),
    "dpsynth-mst": Adapter(script="dpsynth.py", word="mst", installed_by=_DPSYNTH),
    "dpsynth-aim": Adapter(script="dpsynth.py", word="aim", installed_by=_DPSYNTH),
    "dpsynth-swift": Adapter(script="dpsynth.py", word="swift", installed_by=_DPSYNTH),
    "sdv-copula": _rows("sdv.py", "copula", _SDV),
    "sdv-ctgan": _rows("sdv.py", "ctgan", _SDV),
    "sdv-tvae": _rows("sdv.py", "tvae", _SDV),
    "arfpy": _rows("arf.py", "arf", "pip install arfpy pyarrow 'numpy<2.3' 'pandas<3'"),
    "mostlyai": _rows("mostlyai.py", "argn", "pip install mostlyai-engine"),
    "synthcity-arf": _rows("synthcity.py", "arf", _SYNTHCITY),
    "synthcity-bayesian": _rows("synthcity.py", "bayesian_network", _SYNTHCITY),
    "synthcity-ctgan": _rows("synthcity.py", "ctgan", _SYNTHCITY),
    "synthcity-ddpm": _rows("synthcity.py", "ddpm", _SYNTHCITY),
    "synthcity-tvae": _rows("synthcity.py", "tvae", _SYNTHCITY),
    "synthcity-dpgan": _rows("synthcity.py", "dpgan", _SYNTHCITY, is_private=True),
    "synthcity-pategan": _rows("synthcity.py", "pategan", _SYNTHCITY, is_private=True),
    "synthcity-privbayes": _rows("synthcity.py", "privbayes", _SYNTHCITY, is_private=True),
    "tabddpm": _rows("tabddpm.py", "ddpm", _TABDDPM, checkout="yandex-research/tab-ddpm"),
    "tablediffusion": _rows(
        "tablediffusion.py", "dp", _TABLEDIFFUSION, is_private=True, checkout="gianlucatruda/TableDiffusion"
    ),
    "dp-merf": _rows("dpmerf.py", "merf", _DPMERF, is_private=True, checkout="ParkLabML/DP-MERF"),
}
"""Adapters by the name that follows "peer:". SDV and CTGAN are not open source: they stand here to be compared with, and
nothing of this library needs them."""


def check_peer(name: str, epsilon: float, options: Mapping[str, object]) -> Adapter:
    """Return the adapter of this name.

    Raises:
        ArgumentError: If there is none (suggests similar names), or it has options.
        BudgetError: If it is private and the budget infinite, or the other way round.
    """
    if name not in ADAPTERS:
        raise ArgumentError(
            f"there is no peer {name!r}{near(name, ADAPTERS) or ';'} peers are {', '.join(ADAPTERS)}"
        )
    if options:
        raise ArgumentError(f"the peer {name!r} runs with its own defaults; leave out its options")
    adapter = ADAPTERS[name]
    if math.isinf(epsilon) is adapter.is_private:
        wanted = (
            "needs a finite epsilon" if adapter.is_private else "has no private form: give it `epsilons: inf`"
        )
        raise BudgetError(f"the peer {name!r} {wanted}")
    return adapter
