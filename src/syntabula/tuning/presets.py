"""Spaces to search, by method: ours, and those of SynMeter."""

from __future__ import annotations

from collections.abc import Mapping

from syntabula._arguments import near, shown
from syntabula.errors import ArgumentError
from syntabula.tuning.space import Choice, Range, Space, space_of

_Space = dict[str, Range | Choice]

_BINS: _Space = {
    "bins": Range(low=10, high=200, log=True),
    "discretizer": Choice(("privtree", "uniform", "quantile")),
}
_TRAINING: _Space = {
    "learning_rate": Range(low=3e-4, high=1e-2, log=True),
    "batch": Choice((128, 256, 512, 1024, 2048)),
}
_NETWORK: _Space = {"units": Choice((64, 128, 256, 512)), "layers": Range(low=1, high=4)}
_ROUNDS: _Space = {
    "rounds_per_column": Range(low=2, high=32, log=True),
    "measure_share": Range(low=0.5, high=0.95),
}
_GENERATOR: _Space = {
    "iterations": Range(low=50, high=1000, log=True),
    "learning_rate": Range(low=1e-4, high=1e-2, log=True),
}

USUAL: Mapping[str, Space] = {
    "independent": _BINS,
    "mst": _BINS | {"records_per_noise": Range(low=1.0, high=16.0, log=True)},
    "aim": _BINS | _ROUNDS | {"max_model_mb": Range(low=10.0, high=160.0, log=True)},
    "mwem": _BINS | {"measure_share": Range(low=0.5, high=0.95)},
    "privsyn": _BINS | {"dependence_share": Range(low=0.05, high=0.3), "passes": Range(low=20, high=100)},
    "private-gsd": _BINS | {"mutations": Range(low=100, high=1000, log=True)},
    "privbayes": _BINS | {"theta": Range(low=1.0, high=8.0), "structure_share": Range(low=0.1, high=0.5)},
    "privmrf": _BINS | {"theta": Range(low=3.0, high=12.0), "graph_share": Range(low=0.05, high=0.2)},
    "margnet": _BINS | _ROUNDS | _GENERATOR,
    "margnet-q": _BINS | _ROUNDS | _GENERATOR,
    "gem": _BINS | {"rounds_per_column": Range(low=2, high=16, log=True)} | _GENERATOR,
    "rap": _BINS | {"learning_rate": Range(low=0.01, high=0.2, log=True)},
    "argn": _TRAINING | _NETWORK | {"dropout": Range(low=0.0, high=0.3)},
    "tabddpm": _TRAINING | _NETWORK,
    "tablediffusion": _TRAINING | {"units": Choice((64, 128, 256)), "levels": Range(low=3, high=8)},
    "great": _TRAINING | {"units": Choice((32, 64, 128)), "layers": Range(low=1, high=4)},
    "tvae": _TRAINING | _NETWORK | {"emphasis": Range(low=0.5, high=4.0, log=True)},
    "ctgan": _TRAINING | _NETWORK | {"critic_units": Choice((128, 256, 512))},
    "circuit": {
        "smoothing": Range(low=1.0, high=300.0, log=True),
        "learning_rate": Range(low=0.05, high=0.5),
    },
    "synthpop": {
        "least_leaf": Range(low=2, high=50, log=True),
        "complexity": Range(low=1e-9, high=1e-3, log=True),
        "levels": Range(low=2, high=6),
        "crowd": Range(low=2.0, high=8.0, log=True),
    },
    "pategan": _TRAINING | {"strength": Range(low=0.5, high=8.0, log=True)},
    "tab-pe": {"rounds": Range(low=10, high=80, log=True), "columns": Range(low=2, high=8)},
    "dp-merf": {
        "features": Choice((1000, 3000, 10_000)),
        "learning_rate": Range(low=3e-4, high=1e-2, log=True),
    },
}
"""Our own, by the key of the method."""

SYNMETER: Mapping[str, Space] = {
    "mst": {"bins": Range(low=5, high=20), "iterations": Range(low=3000, high=5000)},
    "privsyn": {"bins": Range(low=5, high=20), "passes": Range(low=10, high=100)},
    "tvae": {
        "epochs": Range(low=100, high=500),
        "batch": Range(low=500, high=5000),
        "emphasis": Range(low=1.0, high=5.0),
        "units": Range(low=128, high=512),
    },
    "ctgan": {
        "epochs": Range(low=100, high=500),
        "batch": Range(low=500, high=5000),
        "units": Range(low=128, high=512),
        "critic_units": Range(low=128, high=512),
        "learning_rate": Range(low=1e-5, high=1e-3, log=True),
    },
    "tabddpm": {
        "layers": Range(low=2, high=8),
        "units": Range(low=128, high=512),
        "levels": Range(low=100, high=10_000),
        "steps": Range(low=5000, high=30_000),
        "learning_rate": Range(low=1e-5, high=3e-3, log=True),
    },
    "great": {"steps": Range(low=5000, high=30_000), "batch": Range(low=8, high=32)},
    "pategan": {
        "teachers": Range(low=5, high=20),
        "layers": Range(low=1, high=3),
        "units": Range(low=50, high=200),
        "steps": Range(low=1000, high=5000),
        "learning_rate": Range(low=1e-5, high=1e-3, log=True),
    },
    "tablediffusion": {
        "layers": Range(low=1, high=6),
        "levels": Range(low=3, high=20),
        "epochs": Range(low=5, high=20),
        "batch": Range(low=128, high=1024),
        "learning_rate": Range(low=1e-4, high=1e-2, log=True),
    },
}
"""Du and Li, SynMeter (2024), Appendix A, Tables A1 to A8, where our methods have the option.

Left out are, for MST, the numbers of pairs and triples, as ours measures a tree; for TVAE the weight decay, and for
TVAE and CTGAN the sizes of embeddings, which our networks do not have apart; for CTGAN the critic's own learning rate;
for GReaT the temperature and the epochs. The network of our PATE-GAN is not the paper's.
"""

PRESETS = {"usual": USUAL, "synmeter": SYNMETER}


def space_for(key: str, wanted: object) -> dict[str, Range | Choice]:
    """Return the space of a method: a preset by its name, or the user's own.

    Args:
        key: Key of the method.
        wanted: "usual", "synmeter", or a mapping as `space_of` takes it.

    Raises:
        ArgumentError: If there is no such preset, or it has no space for the method.
    """
    if not isinstance(wanted, str):
        return space_of(wanted)
    if wanted not in PRESETS:
        known = ", ".join(PRESETS)
        raise ArgumentError(
            f"there is no space {shown(wanted)}{near(wanted, PRESETS)}; give {known}, or a mapping of options"
        )
    try:
        return dict(PRESETS[wanted][key])
    except KeyError:
        methods = ", ".join(PRESETS[wanted])
        raise ArgumentError(
            f"the space {wanted!r} has no options of {key!r}; it has those of {methods}. Give a space of your own"
        ) from None
