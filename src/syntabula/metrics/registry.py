"""The register of metrics: ours, in the order in which they are shown, and those of plug-ins."""

from __future__ import annotations

from syntabula._entries import Entry
from syntabula._register import entries, find, load
from syntabula.errors import ArgumentError, MissingExtraError
from syntabula.metrics.metric import MetricInfo, MetricOfClass

BUILT_IN: tuple[MetricInfo, ...] = (
    MetricInfo(
        key="spikes",
        group="rows",
        summary="Part of the mass of heavy single values, such as zero, that numeric columns keep",
        direction="higher",
        best=1.0,
        paper="",
        home="syntabula.metrics.heavy_values:Spikes",
    ),
    MetricInfo(
        key="round-values",
        group="rows",
        summary="Whether numbers are as round as the real ones",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.heavy_values:RoundValues",
    ),
    MetricInfo(
        key="rhythm",
        group="rows",
        summary="Whether days and times fall on the real weekdays, days of the month and times of day",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.rhythm:Rhythm",
    ),
    MetricInfo(
        key="rhythm-pairs",
        group="rows",
        summary="Whether weekdays and hours go with the other columns as the real ones do",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.rhythm:RhythmPairs",
    ),
    MetricInfo(
        key="spread",
        group="rows",
        summary="Factor by which standard deviations of numeric columns differ, in the median",
        direction="lower",
        best=1.0,
        paper="",
        home="syntabula.metrics.numeric_columns:Spread",
    ),
    MetricInfo(
        key="far-out",
        group="rows",
        summary="Share of values far outside the bulk of a numeric column, against the real share",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.numeric_columns:FarOut",
    ),
    MetricInfo(
        key="missing-cells",
        group="rows",
        summary="Difference between the shares of missing cells",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.cells:MissingCells",
    ),
    MetricInfo(
        key="invented-values",
        group="rows",
        summary="Share of categories that the real table does not have",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.cells:InventedValues",
    ),
    MetricInfo(
        key="broken-rules",
        group="rows",
        summary="Share of rows that break a rule of the schema",
        direction="lower",
        best=0.0,
        paper="",
        home="syntabula.metrics.rules:BrokenRules",
        needs=("rules",),
        baselines=False,
    ),
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
        summary="Least cost of moving real values onto synthetic ones, in columns and pairs",
        direction="lower",
        best=0.0,
        paper="Du and Li, SynMeter",
        home="syntabula.metrics.wasserstein:Wasserstein",
        quick=False,
    ),
    MetricInfo(
        key="wasserstein-sinkhorn",
        group="fidelity",
        summary="As wasserstein, with entropy-regularised transport",
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
    ),
    MetricInfo(
        key="ks",
        group="fidelity",
        summary="Kolmogorov-Smirnov distance of numeric columns",
        direction="lower",
        best=0.0,
        paper="Smirnov 1939",
        home="syntabula.metrics.numeric_columns:KolmogorovSmirnov",
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
        home="syntabula.metrics.association:CorrelationSimilarity",
    ),
    MetricInfo(
        key="percentile-similarity",
        group="fidelity",
        summary="1 minus the largest gap between percentiles of numeric columns",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.numeric_columns:PercentileSimilarity",
    ),
    MetricInfo(
        key="record-similarity",
        group="fidelity",
        summary="1 minus the distance of real records to their nearest synthetic ones",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.closest_record:RecordSimilarity",
    ),
    MetricInfo(
        key="discriminator-similarity",
        group="fidelity",
        summary="How uncertain a classifier is in telling synthetic from real rows",
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
        home="syntabula.metrics.discriminator:PropensityError",
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
        home="syntabula.metrics.queries:QueryError",
    ),
    MetricInfo(
        key="query-error-prefix",
        group="queries",
        summary="Error of random queries of one, two and three conditions",
        direction="lower",
        best=0.0,
        paper="Chen et al., tab_bench, as their code computes it",
        home="syntabula.metrics.queries:QueryError",
        options={"prefixes": True},
    ),
    MetricInfo(
        key="query-similarity",
        group="queries",
        summary="Ratio of answers to random queries of one, two and three conditions",
        direction="higher",
        best=1.0,
        paper="Ganev et al., Discretization",
        home="syntabula.metrics.queries:QuerySimilarity",
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
        summary="Error, on holdout records, of regression models trained on the synthetic table",
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
        summary="Fraction of their score that models lose by training on the synthetic table (MLA), fixed settings",
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
        summary="Fraction of their score that models lose by training on the synthetic table (MLA), tuned settings",
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
        key="predictive-error",
        group="utility",
        summary="Error of a linear regression trained on the synthetic table, relative to real training",
        direction="lower",
        best=1.0,
        paper="as predictive-utility, for numbers",
        home="syntabula.metrics.utility.predictive_utility:PredictiveUtility",
        options={"target": "number"},
        needs=("target", "holdout"),
    ),
    MetricInfo(
        key="dcr",
        group="privacy",
        summary="Distance to the closest real record, 5th percentile; small values show copies",
        direction="higher",
        best=None,
        paper="Zhao et al., CTAB-GAN",
        home="syntabula.metrics.closest_record:ClosestRecord",
    ),
)


def list_metrics() -> list[MetricInfo]:
    """Return all metrics, ours first; nothing heavy is imported except what plug-ins import.

    Raises:
        ArgumentError: If a plug-in cannot be loaded, or does not describe its metric.
    """
    return [*BUILT_IN, *(_plugged(entry) for entry in entries("metric"))]


def loaded_metrics() -> tuple[list[MetricInfo], tuple[str, ...]]:
    """Return the metrics that can be loaded, ours first, and one sentence for each plug-in that cannot."""
    found, faults = [*BUILT_IN], []
    for entry in entries("metric"):
        try:
            found.append(_plugged(entry))
        except (ArgumentError, MissingExtraError) as error:
            faults.append(f"{error}")
    return found, tuple(faults)


def describe_metric(key: str) -> MetricInfo:
    """Return the info of a metric; plug-ins are imported only if the key is theirs.

    Raises:
        ArgumentError: If there is none (the message has similar names), or its plug-in cannot be loaded.
    """
    found: Entry = find("metric", key, [*BUILT_IN, *entries("metric", asked=key)])
    return found if isinstance(found, MetricInfo) else _plugged(found)


def _plugged(entry: Entry) -> MetricInfo:
    """Return the info of a metric from another package or this session, from its class or a MetricInfo."""
    part = load("metric", entry.key)
    if isinstance(part, MetricInfo):
        return part
    if not isinstance(part, type):
        raise ArgumentError(
            f"the metric {entry.key!r} ({entry.home}) is neither a class nor an object of MetricInfo"
        )
    return MetricOfClass.of(entry, part)
