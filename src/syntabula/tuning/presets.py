"""Spaces to search: the one that the options of a method declare, and those of SynMeter."""

from __future__ import annotations

from collections.abc import Mapping

from syntabula._arguments import near, shown
from syntabula._spaces import Choice, Range, Space
from syntabula.errors import ArgumentError
from syntabula.synthesizers.synthesizer import Synthesizer
from syntabula.tuning.space import declared_space, space_of

USUAL = "usual"
"""What the options of a method and of its parts declare."""

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

PRESETS: Mapping[str, Mapping[str, Space]] = {"synmeter": SYNMETER}


def space_for(method: Synthesizer, wanted: object) -> dict[str, Range | Choice]:
    """Return the space of a method: the one it declares, a preset by its name, or the user's own.

    Args:
        method: The method.
        wanted: "usual", "synmeter", or a mapping as `space_of` takes it.

    Raises:
        ArgumentError: If there is no such preset, or it has no space for the method.
    """
    if not isinstance(wanted, str):
        return space_of(wanted)
    if wanted == USUAL:
        if not (declared := declared_space(method)):
            raise ArgumentError(
                f"the options of {method.name!r} declare no values to search; give a space of your own"
            )
        return declared
    known = (USUAL, *PRESETS)
    if wanted not in known:
        raise ArgumentError(
            f"there is no space {shown(wanted)}{near(wanted, known) or ';'} give {', '.join(known)}, a "
            "mapping of options, or a file named .yaml that holds one"
        )
    try:
        return dict(PRESETS[wanted][method.key])
    except KeyError:
        methods = ", ".join(PRESETS[wanted])
        raise ArgumentError(
            f"the space {wanted!r} has no options of {method.name!r}; it has those of {methods}. Give a space of your own"
        ) from None
