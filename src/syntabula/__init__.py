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

from syntabula._version import __version__

if TYPE_CHECKING:
    from syntabula import attacks as attacks
    from syntabula import datasets as datasets
    from syntabula import errors as errors
    from syntabula import metrics as metrics
    from syntabula._registry import MethodInfo as MethodInfo
    from syntabula._registry import list_synthesizers as list_synthesizers
    from syntabula._registry import synthesizer as synthesizer
    from syntabula.attacks.disclosure import membership_disclosure as membership_disclosure
    from syntabula.attacks.membership import attack as attack
    from syntabula.discretize.rare import RareCategories as RareCategories
    from syntabula.metrics.evaluate import evaluate as evaluate
    from syntabula.metrics.evaluation import Evaluation as Evaluation
    from syntabula.metrics.registry import list_metrics as list_metrics
    from syntabula.models.kinds import register_model as register_model
    from syntabula.privacy.budget import NO_PRIVACY as NO_PRIVACY
    from syntabula.privacy.budget import Budget as Budget
    from syntabula.privacy.statement import PrivacyStatement as PrivacyStatement
    from syntabula.report.page import Report as Report
    from syntabula.report.page import make_report as make_report
    from syntabula.synthesizers.aim import AIM as AIM
    from syntabula.synthesizers.auto import Auto as Auto
    from syntabula.synthesizers.gem import GEM as GEM
    from syntabula.synthesizers.grid import PartInfo as PartInfo
    from syntabula.synthesizers.grid import grid_parts as grid_parts
    from syntabula.synthesizers.grid import list_models as list_models
    from syntabula.synthesizers.grid import list_selectors as list_selectors
    from syntabula.synthesizers.independent import Independent as Independent
    from syntabula.synthesizers.marginal import Marginal as Marginal
    from syntabula.synthesizers.margnet import MargNet as MargNet
    from syntabula.synthesizers.margnet import MargNetQ as MargNetQ
    from syntabula.synthesizers.margnet import MargNetS as MargNetS
    from syntabula.synthesizers.mst import MST as MST
    from syntabula.synthesizers.mwem import MWEM as MWEM
    from syntabula.synthesizers.options import method_options as method_options
    from syntabula.synthesizers.options import option_notes as option_notes
    from syntabula.synthesizers.options import with_options as with_options
    from syntabula.synthesizers.plan import Plan as Plan
    from syntabula.synthesizers.preprocessing import Preprocessing as Preprocessing
    from syntabula.synthesizers.private_gsd import PrivateGSD as PrivateGSD
    from syntabula.synthesizers.privbayes import PrivBayes as PrivBayes
    from syntabula.synthesizers.privmrf import PrivMRF as PrivMRF
    from syntabula.synthesizers.privsyn import PrivSyn as PrivSyn
    from syntabula.synthesizers.rap import RAP as RAP
    from syntabula.synthesizers.rap import RAPPlusPlus as RAPPlusPlus
    from syntabula.synthesizers.release import Release as Release
    from syntabula.synthesizers.release import load as load
    from syntabula.table.columns import Boolean as Boolean
    from syntabula.table.columns import Categorical as Categorical
    from syntabula.table.columns import Date as Date
    from syntabula.table.columns import Datetime as Datetime
    from syntabula.table.columns import Identifier as Identifier
    from syntabula.table.columns import Numeric as Numeric
    from syntabula.table.draft import draft_schema as draft_schema
    from syntabula.table.schema import Schema as Schema

# Where each public name lives; a module is imported when its name is first used.
_HOMES = {
    "Auto": "synthesizers.auto",
    "Boolean": "table.columns",
    "Budget": "privacy.budget",
    "Categorical": "table.columns",
    "Date": "table.columns",
    "Datetime": "table.columns",
    "Evaluation": "metrics.evaluation",
    "Identifier": "table.columns",
    "Independent": "synthesizers.independent",
    "AIM": "synthesizers.aim",
    "GEM": "synthesizers.gem",
    "MargNet": "synthesizers.margnet",
    "MargNetQ": "synthesizers.margnet",
    "MargNetS": "synthesizers.margnet",
    "RAP": "synthesizers.rap",
    "RAPPlusPlus": "synthesizers.rap",
    "MST": "synthesizers.mst",
    "MWEM": "synthesizers.mwem",
    "Marginal": "synthesizers.marginal",
    "MethodInfo": "_registry",
    "NO_PRIVACY": "privacy.budget",
    "Numeric": "table.columns",
    "PartInfo": "synthesizers.grid",
    "Plan": "synthesizers.plan",
    "Preprocessing": "synthesizers.preprocessing",
    "PrivBayes": "synthesizers.privbayes",
    "PrivMRF": "synthesizers.privmrf",
    "PrivSyn": "synthesizers.privsyn",
    "PrivacyStatement": "privacy.statement",
    "PrivateGSD": "synthesizers.private_gsd",
    "RareCategories": "discretize.rare",
    "Release": "synthesizers.release",
    "Report": "report.page",
    "Schema": "table.schema",
    "attack": "attacks.membership",
    "draft_schema": "table.draft",
    "evaluate": "metrics.evaluate",
    "grid_parts": "synthesizers.grid",
    "list_metrics": "metrics.registry",
    "list_models": "synthesizers.grid",
    "list_selectors": "synthesizers.grid",
    "list_synthesizers": "_registry",
    "load": "synthesizers.release",
    "make_report": "report.page",
    "membership_disclosure": "attacks.disclosure",
    "method_options": "synthesizers.options",
    "option_notes": "synthesizers.options",
    "register_model": "models.kinds",
    "synthesizer": "_registry",
    "with_options": "synthesizers.options",
}
_MODULES = ("attacks", "datasets", "errors", "metrics")

__all__ = [
    "AIM",
    "GEM",
    "MST",
    "MWEM",
    "NO_PRIVACY",
    "RAP",
    "Auto",
    "Boolean",
    "Budget",
    "Categorical",
    "Date",
    "Datetime",
    "Evaluation",
    "Identifier",
    "Independent",
    "MargNet",
    "MargNetQ",
    "MargNetS",
    "Marginal",
    "MethodInfo",
    "Numeric",
    "PartInfo",
    "Plan",
    "Preprocessing",
    "PrivBayes",
    "PrivMRF",
    "PrivSyn",
    "PrivacyStatement",
    "PrivateGSD",
    "RAPPlusPlus",
    "RareCategories",
    "Release",
    "Report",
    "Schema",
    "__version__",
    "attack",
    "attacks",
    "datasets",
    "draft_schema",
    "errors",
    "evaluate",
    "grid_parts",
    "list_metrics",
    "list_models",
    "list_selectors",
    "list_synthesizers",
    "load",
    "make_report",
    "membership_disclosure",
    "method_options",
    "metrics",
    "option_notes",
    "register_model",
    "synthesizer",
    "with_options",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"syntabula.{name}")
    if name in _HOMES:
        value = getattr(import_module(f"syntabula.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    # Python adds the nearest name to what it is told of.
    raise AttributeError(
        f"module 'syntabula' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
    )


def __dir__() -> list[str]:
    return __all__
