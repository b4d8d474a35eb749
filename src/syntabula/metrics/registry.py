"""Which metrics there are: a static table for our own, an entry-point group for those of others."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module, metadata
from typing import Any, Literal, Protocol

import numpy as np

from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Direction, Score

ENTRY_POINTS = "syntabula.metrics"

Group = Literal["fidelity", "queries", "utility", "privacy"]
Need = Literal["target", "holdout"]


class Metric(Protocol):
    """A pure function of tables; what can be set in it are the fields of a frozen dataclass."""

    @property
    def key(self) -> str:
        """Its name, options that change its meaning included."""

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table against the real one.

        Args:
            tables: Real and synthetic table in one coding; never changed.
            rng: Source of subsamples, splits and queries; the same state gives the same score.

        Returns:
            The score. Where the tables lack what the metric is about, such as a numeric column, its value is
            NaN and its note says so.
        """


@dataclass(frozen=True, kw_only=True)
class MetricInfo:
    """A metric that can be named in `evaluate`.

    Attributes:
        key: Its name.
        group: What it judges.
        summary: What it is, in one sentence without a full stop.
        direction: Whether lower or higher is better.
        best: Its value for a perfect table; None where that depends on the data.
        paper: Where it comes from.
        home: Module and class, "module:Class".
        options: Arguments of the class.
        needs: What `evaluate` must be given for it.
        quick: Whether it belongs to those that are computed if none is named.
        baselines: Whether its value for HALF, HISTOGRAM and SELF is its scale, computed as cheaply as its own.
    """

    key: str
    group: Group
    summary: str
    direction: Direction
    best: float | None
    paper: str
    home: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: tuple[Need, ...] = ()
    quick: bool = True
    baselines: bool = True

    def make(self) -> Metric:
        """Return the metric."""
        module, _, name = self.home.partition(":")
        metric: Metric = getattr(import_module(module), name)(**self.options)
        return metric


_BUILT_IN: tuple[MetricInfo, ...] = (
    MetricInfo(
        key="tvd-1",
        group="fidelity",
        summary="Total variation distance of single columns",
        direction="lower",
        best=0.0,
        paper="Chen et al., tab_bench",
        home="syntabula.metrics.total_variation:TotalVariation",
        options={"way": 1},
    ),
    MetricInfo(
        key="tvd-2",
        group="fidelity",
        summary="Total variation distance of pairs of columns: fidelity error",
        direction="lower",
        best=0.0,
        paper="Chen et al., tab_bench",
        home="syntabula.metrics.total_variation:TotalVariation",
    ),
    MetricInfo(
        key="tvd-3",
        group="fidelity",
        summary="Total variation distance of triples of columns",
        direction="lower",
        best=0.0,
        paper="Chen et al., tab_bench",
        home="syntabula.metrics.total_variation:TotalVariation",
        options={"way": 3},
        quick=False,
    ),
    MetricInfo(
        key="wasserstein",
        group="fidelity",
        summary="Cost of moving real onto synthetic values, in columns and pairs",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter",
        home="syntabula.metrics.wasserstein:Wasserstein",
    ),
    MetricInfo(
        key="wasserstein-sinkhorn",
        group="fidelity",
        summary="As wasserstein, with plans that an entropy term blurs",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter; Cuturi 2013",
        home="syntabula.metrics.wasserstein:Wasserstein",
        options={"solver": "sinkhorn"},
        quick=False,
    ),
    MetricInfo(
        key="wasserstein-sliced",
        group="fidelity",
        summary="As wasserstein, with pairs projected on random directions",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter; Bonneel et al. 2015",
        home="syntabula.metrics.wasserstein:Wasserstein",
        options={"solver": "sliced"},
        quick=False,
    ),
    MetricInfo(
        key="ks",
        group="fidelity",
        summary="Kolmogorov-Smirnov distance of numeric columns",
        direction="lower",
        best=0.0,
        paper="Smirnov 1939",
        home="syntabula.metrics.kolmogorov_smirnov:KolmogorovSmirnov",
    ),
    MetricInfo(
        key="association",
        group="fidelity",
        summary="Difference of correlation, correlation ratio or Theil's U of pairs of columns",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter (v1), Section 3",
        home="syntabula.metrics.association:Association",
    ),
    MetricInfo(
        key="correlation-similarity",
        group="fidelity",
        summary="Similarity of the correlations of numeric columns",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.correlation_similarity:CorrelationSimilarity",
    ),
    MetricInfo(
        key="percentile-similarity",
        group="fidelity",
        summary="1 minus the largest gap between percentiles of numeric columns",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.percentiles:PercentileSimilarity",
    ),
    MetricInfo(
        key="record-similarity",
        group="fidelity",
        summary="1 minus the distance of real records to their nearest synthetic ones",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.record_similarity:RecordSimilarity",
    ),
    MetricInfo(
        key="discriminator-similarity",
        group="fidelity",
        summary="How unsure a classifier is that must tell synthetic from real rows",
        direction="higher",
        best=None,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.discriminator:DiscriminatorSimilarity",
    ),
    MetricInfo(
        key="pmse",
        group="fidelity",
        summary="Mean squared error of a logistic regression that tells synthetic from real rows",
        direction="lower",
        best=0.0,
        paper="Snoke et al. 2018",
        home="syntabula.metrics.propensity:PropensityError",
    ),
    MetricInfo(
        key="alpha-precision",
        group="fidelity",
        summary="Whether synthetic records lie where real ones do",
        direction="higher",
        best=1.0,
        paper="Alaa et al. 2022",
        home="syntabula.metrics.support:AlphaPrecision",
    ),
    MetricInfo(
        key="beta-recall",
        group="fidelity",
        summary="Whether synthetic records cover the real ones",
        direction="higher",
        best=1.0,
        paper="Alaa et al. 2022",
        home="syntabula.metrics.support:BetaRecall",
    ),
    MetricInfo(
        key="query-error-3",
        group="queries",
        summary="Error of random queries of three conditions",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter; Chen et al., tab_bench",
        home="syntabula.metrics.query_error:QueryError",
    ),
    MetricInfo(
        key="query-error-prefix",
        group="queries",
        summary="Error of random queries of one, two and three conditions",
        direction="lower",
        best=0.0,
        paper="Chen et al., tab_bench, as their code computes it",
        home="syntabula.metrics.query_error:QueryError",
        options={"prefixes": True},
    ),
    MetricInfo(
        key="query-similarity",
        group="queries",
        summary="Ratio of answers to random queries of one, two and three conditions",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.query_error:QuerySimilarity",
    ),
    MetricInfo(
        key="efficacy",
        group="utility",
        summary="Macro F1, on holdout records, of models trained on the synthetic table",
        direction="higher",
        best=None,
        paper="Chen et al., tab_bench",
        home="syntabula.metrics.utility.efficacy:Efficacy",
        needs=("target", "holdout"),
        quick=False,
        baselines=False,
    ),
    MetricInfo(
        key="efficacy-rmse",
        group="utility",
        summary="Error, on holdout records, of models of a number trained on the synthetic table",
        direction="lower",
        best=None,
        paper="Chen et al., tab_bench",
        home="syntabula.metrics.utility.efficacy:Efficacy",
        options={"target": "number"},
        needs=("target", "holdout"),
        quick=False,
        baselines=False,
    ),
    MetricInfo(
        key="affinity",
        group="utility",
        summary="What eight models lose by learning from the synthetic table (MLA), with fixed settings",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter",
        home="syntabula.metrics.utility.affinity:Affinity",
        needs=("target", "holdout"),
        quick=False,
        baselines=False,
    ),
    MetricInfo(
        key="affinity-tuned",
        group="utility",
        summary="What eight models lose by learning from the synthetic table (MLA), with tuned settings",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter",
        home="syntabula.metrics.utility.affinity:Affinity",
        options={"tuned": True},
        needs=("target", "holdout"),
        quick=False,
        baselines=False,
    ),
    MetricInfo(
        key="predictive-utility",
        group="utility",
        summary="F1 of a logistic regression trained on the synthetic table, relative to real training",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.utility.predictive_utility:PredictiveUtility",
        needs=("target", "holdout"),
    ),
    MetricInfo(
        key="dcr",
        group="privacy",
        summary="Distance to the closest real record, 5th percentile; small values show copies",
        direction="higher",
        best=None,
        paper="Zhao et al., CTAB-GAN",
        home="syntabula.metrics.privacy.closest_record:ClosestRecord",
    ),
)


def list_metrics() -> list[MetricInfo]:
    """Return all metrics, ours first; nothing heavy is imported."""
    return [*_BUILT_IN, *_plugged()]


def describe_metric(key: str) -> MetricInfo:
    """Return what is known of a metric; raises ArgumentError, with near misses, if there is none."""
    known = {info.key: info for info in list_metrics()}
    if not isinstance(key, str) or key.lower() not in known:
        near = difflib.get_close_matches(str(key).lower(), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"there is no metric {key!r}; metrics are {', '.join(known)}{hint}")
    return known[key.lower()]


def _plugged() -> list[MetricInfo]:
    """Return the metrics of other packages; each entry point names a MetricInfo."""
    found = [point.load() for point in metadata.entry_points(group=ENTRY_POINTS)]
    return [info for info in found if isinstance(info, MetricInfo)]
