"""Synthetic tables under differential privacy, or without it, and measures of how good and private they are.

Examples:
    >>> import syntabula
    >>> frame = syntabula.datasets.census(n_rows=500)
    >>> release = syntabula.MST(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
    >>> synthetic = release.sample(100)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from syntabula._version import __version__ as __version__

if TYPE_CHECKING:
    from syntabula import attacks as attacks
    from syntabula import bench as bench
    from syntabula import datasets as datasets
    from syntabula import errors as errors
    from syntabula import metrics as metrics
    from syntabula._entries import Entry as Entry
    from syntabula._register import list_models as list_models
    from syntabula._register import list_selectors as list_selectors
    from syntabula._register import list_synthesizers as list_synthesizers
    from syntabula._register import register as register
    from syntabula._register import synthesizer as synthesizer
    from syntabula.attacks.disclosure import membership_disclosure as membership_disclosure
    from syntabula.attacks.membership import attack as attack
    from syntabula.metrics.evaluate import evaluate as evaluate
    from syntabula.metrics.evaluation import Evaluation as Evaluation
    from syntabula.metrics.registry import list_metrics as list_metrics
    from syntabula.prepare.preprocessing import Preprocessing as Preprocessing
    from syntabula.prepare.preprocessing import RareCategories as RareCategories
    from syntabula.privacy.budget import NO_PRIVACY as NO_PRIVACY
    from syntabula.privacy.budget import Budget as Budget
    from syntabula.privacy.statement import PrivacyStatement as PrivacyStatement
    from syntabula.report.page import Report as Report
    from syntabula.report.page import make_report as make_report
    from syntabula.synthesizers.aim import AIM as AIM
    from syntabula.synthesizers.argn import ARGN as ARGN
    from syntabula.synthesizers.auto import Auto as Auto
    from syntabula.synthesizers.circuit import Circuit as Circuit
    from syntabula.synthesizers.ctgan import CTGAN as CTGAN
    from syntabula.synthesizers.dpmerf import DPMERF as DPMERF
    from syntabula.synthesizers.gem import GEM as GEM
    from syntabula.synthesizers.great import GReaT as GReaT
    from syntabula.synthesizers.independent import Independent as Independent
    from syntabula.synthesizers.marginal import Marginal as Marginal
    from syntabula.synthesizers.margnet import MargNet as MargNet
    from syntabula.synthesizers.margnet import MargNetQ as MargNetQ
    from syntabula.synthesizers.margnet import MargNetS as MargNetS
    from syntabula.synthesizers.mst import MST as MST
    from syntabula.synthesizers.mwem import MWEM as MWEM
    from syntabula.synthesizers.pategan import PATEGAN as PATEGAN
    from syntabula.synthesizers.planned import Plan as Plan
    from syntabula.synthesizers.private_gsd import PrivateGSD as PrivateGSD
    from syntabula.synthesizers.privbayes import PrivBayes as PrivBayes
    from syntabula.synthesizers.privmrf import PrivMRF as PrivMRF
    from syntabula.synthesizers.privsyn import PrivSyn as PrivSyn
    from syntabula.synthesizers.rap import RAP as RAP
    from syntabula.synthesizers.rap import RAPPlusPlus as RAPPlusPlus
    from syntabula.synthesizers.release import Release as Release
    from syntabula.synthesizers.release import load as load
    from syntabula.synthesizers.settings import method_options as method_options
    from syntabula.synthesizers.settings import option_notes as option_notes
    from syntabula.synthesizers.synthesizer import Synthesizer as Synthesizer
    from syntabula.synthesizers.synthpop import Synthpop as Synthpop
    from syntabula.synthesizers.tabddpm import TabDDPM as TabDDPM
    from syntabula.synthesizers.tablediffusion import TableDiffusion as TableDiffusion
    from syntabula.synthesizers.tabpe import TabPE as TabPE
    from syntabula.synthesizers.tvae import TVAE as TVAE
    from syntabula.table.draft import draft_schema as draft_schema
    from syntabula.table.rules.rules import Rules as Rules
    from syntabula.table.schema.columns import Boolean as Boolean
    from syntabula.table.schema.columns import Categorical as Categorical
    from syntabula.table.schema.columns import Date as Date
    from syntabula.table.schema.columns import Datetime as Datetime
    from syntabula.table.schema.columns import Identifier as Identifier
    from syntabula.table.schema.columns import Numeric as Numeric
    from syntabula.table.schema.columns import Time as Time
    from syntabula.table.schema.schema import Schema as Schema
    from syntabula.tuning.objective import Objective as Objective
    from syntabula.tuning.search import tune as tune

# The module of each public name, imported when the name is first used. Methods are in the register.
_HOMES = {
    "attack": "attacks.membership",
    "Boolean": "table.schema.columns",
    "Budget": "privacy.budget",
    "Categorical": "table.schema.columns",
    "Choice": "_spaces",
    "Date": "table.schema.columns",
    "Datetime": "table.schema.columns",
    "draft_schema": "table.draft",
    "Entry": "_entries",
    "evaluate": "metrics.evaluate",
    "Evaluation": "metrics.evaluation",
    "Identifier": "table.schema.columns",
    "list_metrics": "metrics.registry",
    "list_models": "_register",
    "list_selectors": "_register",
    "list_synthesizers": "_register",
    "load": "synthesizers.release",
    "make_report": "report.page",
    "Marginal": "synthesizers.marginal",
    "membership_disclosure": "attacks.disclosure",
    "method_options": "synthesizers.settings",
    "NO_PRIVACY": "privacy.budget",
    "Numeric": "table.schema.columns",
    "Objective": "tuning.objective",
    "option_notes": "synthesizers.settings",
    "Plan": "synthesizers.planned",
    "Preprocessing": "prepare.preprocessing",
    "PrivacyStatement": "privacy.statement",
    "Range": "_spaces",
    "RareCategories": "prepare.preprocessing",
    "register": "_register",
    "Release": "synthesizers.release",
    "Report": "report.page",
    "Rules": "table.rules.rules",
    "Schema": "table.schema.schema",
    "synthesizer": "_register",
    "Synthesizer": "synthesizers.synthesizer",
    "Time": "table.schema.columns",
    "tune": "tuning.search",
}
_MODULES = ("attacks", "bench", "datasets", "errors", "metrics")


def _home(name: str) -> str | None:
    """Return the module of a public name; None if there is none."""
    from syntabula._entries import BUILT_IN

    for entry in BUILT_IN:
        module, _, method = entry.home.partition(":")
        if entry.kind == "synthesizer" and method == name:
            return module
    return f"syntabula.{_HOMES[name]}" if name in _HOMES else None


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _MODULES:
        return import_module(f"syntabula.{name}")
    home = None if name.startswith("_") else _home(name)
    if home is not None:
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value
    # With `name` and `obj`, Python suggests the nearest name.
    raise AttributeError(
        f"module 'syntabula' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
    )


def __dir__() -> list[str]:
    from syntabula._entries import BUILT_IN
    from syntabula._spaces import Choice as Choice
    from syntabula._spaces import Range as Range

    methods = [entry.home.partition(":")[2] for entry in BUILT_IN if entry.kind == "synthesizer"]
    return sorted([*methods, *_HOMES, *_MODULES, "__version__"])
