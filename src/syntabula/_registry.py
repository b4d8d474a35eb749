"""Which synthesizers there are: a static table for our own, an entry-point group for those of others."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

from syntabula._arguments import shown
from syntabula.errors import ArgumentError

ENTRY_POINTS = "syntabula.synthesizers"


@dataclass(frozen=True, kw_only=True)
class MethodInfo:
    """A synthesizer that can be named in any command.

    Attributes:
        key: Its lower-case name.
        name: The paper's spelling.
        summary: What it does, in one sentence.
        paper: Where it comes from.
        home: Module and class, "module:Class".
    """

    key: str
    name: str
    summary: str
    paper: str
    home: str


_BUILT_IN = (
    MethodInfo(
        key="auto",
        name="Auto",
        summary="MargNet, Private-GSD, AIM, MST or single columns: what suits, chosen under privacy, with the reason.",
        paper="after Chen, Gong, Wang, MargNet",
        home="syntabula.synthesizers.auto:Auto",
    ),
    MethodInfo(
        key="independent",
        name="Independent",
        summary="Every column on its own: the baseline.",
        paper="HISTOGRAM in Du and Li, SynMeter",
        home="syntabula.synthesizers.independent:Independent",
    ),
    MethodInfo(
        key="mst",
        name="MST",
        summary="A maximum spanning tree of pairs, estimated by Private-PGM: fast and robust.",
        paper="McKenna, Miklau, Sheldon 2021",
        home="syntabula.synthesizers.mst:MST",
    ),
    MethodInfo(
        key="aim",
        name="AIM",
        summary="Adaptive measurements where the model is most wrong: accurate on most tables.",
        paper="McKenna, Mullins, Sheldon, Miklau 2022",
        home="syntabula.synthesizers.aim:AIM",
    ),
    MethodInfo(
        key="privsyn",
        name="PrivSyn",
        summary="Pairs far from independence, and records moved towards them: fast on dense tables.",
        paper="Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang 2021",
        home="syntabula.synthesizers.privsyn:PrivSyn",
    ),
    MethodInfo(
        key="private-gsd",
        name="Private-GSD",
        summary="All pairs at once, and records that evolve towards them: for ample budgets.",
        paper="Liu, Tang, Vietri, Wu 2023",
        home="syntabula.synthesizers.private_gsd:PrivateGSD",
    ),
    MethodInfo(
        key="privbayes",
        name="PrivBayes",
        summary="A Bayesian network with a few parents for each column: fast and readable.",
        paper="Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017",
        home="syntabula.synthesizers.privbayes:PrivBayes",
    ),
    MethodInfo(
        key="privmrf",
        name="PrivMRF",
        summary="Marginals of several columns within a graph of dependences: for columns that hang together.",
        paper="Cai, Lei, Wei, Xiao 2021",
        home="syntabula.synthesizers.privmrf:PrivMRF",
    ),
    MethodInfo(
        key="mwem",
        name="MWEM",
        summary="Multiplicative weights in as many rounds as columns: the classic baseline.",
        paper="Hardt, Ligett, McSherry 2012",
        home="syntabula.synthesizers.mwem:MWEM",
    ),
    MethodInfo(
        key="margnet",
        name="MargNet",
        summary="Adaptive pairs fitted by a neural network: for tables whose columns all hang together.",
        paper="Chen, Gong, Wang, MargNet",
        home="syntabula.synthesizers.margnet:MargNet",
    ),
    MethodInfo(
        key="margnet-q",
        name="MargNet-q",
        summary="MargNet with single cells instead of pairs: an ablation.",
        paper="Chen, Gong, Wang, MargNet",
        home="syntabula.synthesizers.margnet:MargNetQ",
    ),
    MethodInfo(
        key="margnet-s",
        name="MargNet-s",
        summary="MargNet in a fixed number of rounds: an ablation.",
        paper="Chen, Gong, Wang, MargNet",
        home="syntabula.synthesizers.margnet:MargNetS",
    ),
    MethodInfo(
        key="gem",
        name="GEM",
        summary="Single cells, chosen adaptively, fitted by a neural network.",
        paper="Liu, Vietri, Wu 2021",
        home="syntabula.synthesizers.gem:GEM",
    ),
    MethodInfo(
        key="rap",
        name="RAP",
        summary="A few single cells a round, fitted by free soft rows.",
        paper="Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva 2021",
        home="syntabula.synthesizers.rap:RAP",
    ),
    MethodInfo(
        key="rap++",
        name="RAP++",
        summary="Pairs and random linear thresholds, fitted by free soft rows.",
        paper="Vietri et al. 2022",
        home="syntabula.synthesizers.rap:RAPPlusPlus",
    ),
)


def list_synthesizers() -> list[MethodInfo]:
    """Return all synthesizers, ours first; nothing heavy is imported."""
    plugged = [
        MethodInfo(key=point.name, name=point.name, summary="Plug-in.", paper="", home=point.value)
        for point in metadata.entry_points(group=ENTRY_POINTS)
    ]
    return [*_BUILT_IN, *plugged]


def synthesizer(key: str) -> type[Any]:
    """Return the class of a synthesizer by its key, or by the name of its class or paper in any case of letters.

    Raises:
        ArgumentError: If there is none, with near misses.
    """
    known = {info.key: info for info in list_synthesizers()}
    aliases = {
        alias.lower(): own
        for own, info in known.items()
        for alias in (own.replace("-", "_"), info.home.partition(":")[2], info.name, own)
    }
    wanted = aliases.get(key.lower()) if isinstance(key, str) else None
    if wanted is None:
        near = difflib.get_close_matches(str(key).lower(), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ArgumentError(f"there is no method {shown(key)}; {hint}methods are {', '.join(sorted(known))}")
    module, _, name = known[wanted].home.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found
