"""MST of google/dpsynth through its Beam adapter, for big_tables.py; its checkout is that which DPSYNTH names.

    git clone https://github.com/google/dpsynth ../peers/dpsynth && python3.12 -m venv ../peers/beam
    ../peers/beam/bin/pip install apache-beam pipeline-dp mbi dp-accounting "jax[cpu]==0.11.0" pandas attrs pydantic \\
        more-itertools etils importlib_resources fsspec zipp
    DPSYNTH=../peers/dpsynth ../peers/beam/bin/python benchmarks/peer_dpsynth.py FOLDER SCHEMA OUT

Settings are its own: 32 bins at quantiles of a grid, a tenth of the budget for columns. Beam runs in this process.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import sys
from pathlib import Path
from typing import Any

import yaml

RHO = 0.0118
"""What epsilon 1 at delta 1e-9 buys."""

UTC = dt.timezone.utc  # noqa: UP017  the name in all versions that it runs in


def main() -> None:
    """Fit and write as many rows as it estimates; print processor seconds by stage."""
    folder, schema, out = sys.argv[1:4]
    sys.path.insert(0, os.environ["DPSYNTH"])
    logging.getLogger().setLevel(logging.INFO)
    logging.getLogger().addHandler(Stages())
    import apache_beam as beam
    import numpy as np
    from apache_beam.options.pipeline_options import PipelineOptions
    from dpsynth import data_generation_v3, discrete_mechanisms, domain
    from dpsynth.adapters.beam import BeamTabularConfig

    logging.getLogger("absl").setLevel(logging.INFO)
    columns = {
        name: _attribute(domain, facts)
        for name, facts in yaml.safe_load(Path(schema).read_text())["columns"].items()
    }

    def rows(pipeline: Any) -> Any:
        return pipeline | beam.io.ReadFromParquet(f"{folder}/*.parquet") | beam.Map(_numbers)

    mechanism = data_generation_v3.TabularConfig(
        domains=columns, discrete_mechanism=discrete_mechanisms.MSTConfig()
    )
    options = PipelineOptions(["--runner=FnApiRunner"])
    run = BeamTabularConfig(mechanism, pipeline_options=options).configure(zcdp_rho=RHO)
    run(np.random.default_rng(0), rows).synthetic_data.to_parquet(out)
    stage("model and rows")


def _attribute(domain: Any, facts: dict[str, Any]) -> Any:
    kind = facts["kind"]
    if kind == "categorical":
        return domain.CategoricalAttribute(facts["categories"])
    if kind == "boolean":
        return domain.CategoricalAttribute([False, True])
    if kind == "numeric":
        return domain.NumericalAttribute(
            facts["lower"],
            facts["upper"],
            clip_to_range=not facts.get("nullable"),
            dtype="int" if facts.get("integer") else "float",
        )
    return domain.NumericalAttribute(_seconds(facts["lower"]), _seconds(facts["upper"]))


def _seconds(time: Any) -> float:
    return dt.datetime.fromisoformat(str(time)).replace(tzinfo=UTC).timestamp()


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its day and its time as seconds, as dpsynth knows no times."""
    for name in ("d", "at"):
        row[name] = _seconds(row[name])
    return row


class Stages(logging.Handler):
    """Prints the processor seconds at the end of each stage that the adapter logs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print those of the two passes."""
        message = record.getMessage()
        if "complete" in message:
            stage("columns" if "Pass 1" in message else "pairs")


def stage(name: str) -> None:
    """Print the processor seconds until the end of a stage."""
    print(f"stage {name} {sum(os.times()[:4]):.1f} s", flush=True)


if __name__ == "__main__":
    main()
