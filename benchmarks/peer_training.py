"""Compares trainings with the public code of their papers on one table, in one run, at equal steps and sizes.

    SYNTABULA_PEER_TABDDPM=../peers/tabddpm/bin/python SYNTABULA_PEER_TABDDPM_CODE=tab-ddpm ... \\
        python benchmarks/peer_training.py --methods tabddpm tablediffusion dp-merf --repeats 2

Needs SYNTABULA_DATA, and for each method the Python and the checkout that docs/studies.md says; for synthpop
SYNTABULA_PEER_DPART, a Python 3.9 with dpart and pyarrow. Each run is a process of
one thread, and the sides take turns. Training is timed from the frame to the trained model, preparation included and
imports not; so many rows are drawn then. Seconds are processor seconds, the least of the repeats; the peak is the
largest memory of the process, libraries included. "Others" are the peer's seconds over ours.

What is equal: the steps; the records of a step, on average with a budget; the width of two layers; the levels of noise;
the number of features of DP-MERF. Rows that DP-MERF's step generates are each side's own, as ours are distributions.
dpart's DPsynthpop and our Synthpop have no steps.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parents[1] / "src" / "syntabula" / "bench" / "peers"
EPSILON, DELTA = 1.0, 1e-5
BATCH = 1024
LAYERS = (512, 512)
EPOCHS = 1
DIFFUSION_STEPS = 1000
FEATURES, GENERATOR_STEPS = 2000, 200


def main() -> None:
    """Parse arguments, run each side in turn, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=list(OURS), choices=list(OURS))
    parser.add_argument("--table", default="adult")
    parser.add_argument("--rows", type=int, default=200, help="rows to draw")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        side, method, table, facts, rows = options.one
        sides = OURS if side == "ours" else THEIRS
        print(json.dumps(timed(sides[method], Path(table), Path(facts), int(rows))))
        return
    import syntabula as st
    from syntabula.bench.peers.rows import facts_of

    with tempfile.TemporaryDirectory() as place:
        table, facts = Path(place) / "rows.parquet", Path(place) / "columns.json"
        frame = st.datasets.load(options.table).frame
        frame.astype(dict.fromkeys(frame.select_dtypes("str").columns, object)).to_parquet(table)
        columns = st.datasets.schema_of(options.table).columns
        facts.write_text(json.dumps({"name": options.table, **{k: facts_of(c) for k, c in columns.items()}}))
        print("| method | side | train s | draw s | peak MB after training | after drawing | others / ours |")
        print("|---|---|---|---|---|---|---|")
        for method in options.methods:
            pythons = {"ours": sys.executable, "public": os.environ[f"SYNTABULA_PEER_{VARIABLES[method]}"]}
            found: dict[str, list[dict[str, float]]] = {side: [] for side in pythons}
            for _ in range(options.repeats):
                for side, python in pythons.items():
                    one = [side, method, str(table), str(facts), str(options.rows)]
                    found[side].append(run([python, "-W", "ignore", __file__, "--one", *one]))
            ours = min(run["training"] for run in found["ours"])
            for side, runs in found.items():
                least = {key: min(run[key] for run in runs) for key in runs[0]}
                others = "" if side == "ours" else f"{least['training'] / ours:.1f}"
                print(
                    f"| {method} | {side} | {least['training']:.1f} | {least['drawing']:.1f} | "
                    f"{least['trained_mb']:,.0f} | {least['peak_mb']:,.0f} | {others} |",
                    flush=True,
                )


def run(command: list[str]) -> dict[str, float]:
    """Run one side, and return what it printed last."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, env=os.environ | one_thread, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


Draw = Callable[[int], object]
Train = Callable[[], Draw]


def timed(
    prepare: Callable[[Any, dict[str, Any]], Train], table: Path, facts: Path, rows: int
) -> dict[str, float]:
    """Train and draw, and return processor seconds and memory."""
    import pandas

    train = prepare(pandas.read_parquet(table), json.loads(facts.read_text()))
    times = [time.process_time()]
    draw = train()
    times.append(time.process_time())
    trained_mb = _peak_mb()
    draw(rows)
    times.append(time.process_time())
    return {
        "training": times[1] - times[0],
        "drawing": times[2] - times[1],
        "trained_mb": trained_mb,
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _ours(method: Callable[[int], Any]) -> Callable[[Any, dict[str, Any]], Train]:
    def prepare(frame: Any, facts: dict[str, Any]) -> Train:
        import torch  # noqa: F401 - imports are not timed

        import syntabula as st

        schema = st.datasets.schema_of(facts["name"])
        synthesizer = method(len(frame))
        return lambda: synthesizer.fit(frame, schema).sample

    return prepare


def _our_tabddpm(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.loop import Training
    from syntabula.record_models.tabular_diffusion import TabularDiffusion

    return st.TabDDPM(
        epsilon=float("inf"),
        seed=0,
        model=TabularDiffusion(units=LAYERS[0], layers=len(LAYERS)),
        # Nothing is held out, so that all steps are done.
        training=Training(steps=DIFFUSION_STEPS, batch=BATCH, held_out=0.0, average=0.999),
    )


def _our_tablediffusion(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.noisy_loop import NoisyTraining

    noisy = NoisyTraining(steps=EPOCHS * -(-n_rows // BATCH), rate=BATCH / n_rows)
    return st.TableDiffusion(epsilon=EPSILON, delta=DELTA, noisy=noisy)


def _our_dpmerf(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.mean_embedding import MeanEmbedding

    return st.DPMERF(
        epsilon=EPSILON, delta=DELTA, model=MeanEmbedding(features=FEATURES, steps=GENERATOR_STEPS)
    )


def _our_synthpop(n_rows: int) -> Any:
    import syntabula as st

    return st.Synthpop(epsilon=EPSILON, delta=DELTA)


def _public_tabddpm(frame: Any, facts: dict[str, Any]) -> Train:
    import tabddpm

    folder = tempfile.mkdtemp()
    sys.path[:0] = [str(Path(os.environ["SYNTABULA_PEER_TABDDPM_CODE"]) / part) for part in ("", "scripts")]
    import sample  # noqa: F401 - imports are not timed
    import train  # noqa: F401

    def trained() -> Draw:
        model = tabddpm.TabDDPM(frame, facts, Path(folder), 0, layers=LAYERS)
        model.train(steps=DIFFUSION_STEPS, batch_size=BATCH)
        return model.sample

    return trained


def _public_tablediffusion(frame: Any, facts: dict[str, Any]) -> Train:
    import tablediffusion

    model = tablediffusion.TableDiffusion(EPSILON, DELTA, 0, batch_size=BATCH, epoch_target=EPOCHS)

    def trained() -> Draw:
        model.train(frame, facts)
        return model.sample

    return trained


def _public_dpmerf(frame: Any, facts: dict[str, Any]) -> Train:
    import dpmerf
    import sklearn.ensemble  # noqa: F401 - imports are not timed
    import torch  # noqa: F401

    def trained() -> Draw:
        # It draws as many rows as it learns at once, which takes little beside training.
        codes, _, categorical = dpmerf.encoded(frame, facts)
        rows = dpmerf.learned(
            codes,
            categorical,
            (EPSILON, DELTA),
            0,
            batch=0.1,
            features=FEATURES,
            steps=GENERATOR_STEPS,
        )
        return lambda n: rows[:n]

    return trained


def _public_synthpop(frame: Any, facts: dict[str, Any]) -> Train:
    from dpart.engines import DPsynthpop

    bounds: dict[str, Any] = {}
    for name in frame.columns:
        if "categories" in facts[name]:
            frame[name] = frame[name].fillna("missing").astype(str)
            bounds[name] = {"categories": [*map(str, facts[name]["categories"]), "missing"]}
        else:
            frame[name] = frame[name].astype(float)
            bounds[name] = {"min": facts[name]["lower"], "max": facts[name]["upper"]}

    def trained() -> Draw:
        model = DPsynthpop(epsilon=EPSILON, bounds=bounds)
        model.fit(frame)
        return model.sample

    return trained


VARIABLES = {
    "tabddpm": "TABDDPM",
    "tablediffusion": "TABLEDIFFUSION",
    "dp-merf": "DPMERF",
    "synthpop": "DPART",
}
OURS = {
    "tabddpm": _ours(_our_tabddpm),
    "tablediffusion": _ours(_our_tablediffusion),
    "dp-merf": _ours(_our_dpmerf),
    "synthpop": _ours(_our_synthpop),
}
THEIRS = {
    "tabddpm": _public_tabddpm,
    "tablediffusion": _public_tablediffusion,
    "dp-merf": _public_dpmerf,
    "synthpop": _public_synthpop,
}

if __name__ == "__main__":
    sys.path.append(str(PEERS))
    main()
