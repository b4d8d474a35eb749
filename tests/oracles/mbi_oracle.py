"""Answers of the mbi library to questions on standard input, as JSON.

In a process of its own: jax, which it needs, brings threads, and other tests fork their process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import mbi
import numpy as np
from mbi.estimation import MirrorDescent
from mbi.junction_tree import hypothetical_model_size


def estimated(question: dict[str, Any]) -> dict[str, Any]:
    """Fit measurements, and answer marginals."""
    model = MirrorDescent().estimate(
        mbi.Domain(question["columns"], question["sizes"]),
        [
            mbi.LinearMeasurement(np.array(m["values"]), tuple(m["clique"]), m["sigma"])
            for m in question["measurements"]
        ],
        iters=question["iterations"],
    )
    tables = [
        np.asarray(model.project(tuple(clique)).datavector(flatten=False)) for clique in question["asked"]
    ]
    return {"total": float(model.total), "tables": [table.tolist() for table in tables]}


def tree_size(question: dict[str, Any]) -> dict[str, Any]:
    """Say how large a junction tree is, in MB."""
    domain = mbi.Domain(question["columns"], question["sizes"])
    return {"size": float(hypothetical_model_size(domain, [tuple(c) for c in question["cliques"]]))}


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    answers = [
        estimated(question) if "measurements" in question else tree_size(question)
        for question in json.load(sys.stdin)
    ]
    json.dump(answers, sys.stdout)
