"""The two sides of `peer_training`: ours, and the public code, at equal steps and sizes.

A side takes a frame and the facts of its columns, imports what it needs, and returns the training, which returns what
draws rows.
"""

from __future__ import annotations

import os
import sys
import tempfile
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
CRITIC_BATCH, CRITIC_LAYERS = 500, (256, 256)
"""Of DP-CTGAN."""
ARGN_BATCH, ARGN_EPOCHS, ARGN_TRAINED = 512, 5, 0.8
"""Of ARGN; both keep a fifth of the records back."""
ARGN_UNITS, ARGN_LAYERS = 64, 2
GREAT_UNITS, GREAT_LAYERS, GREAT_HEADS = 64, 2, 4
GREAT_BATCH, GREAT_STEPS = 64, 30

Draw = Callable[[int], object]
Train = Callable[[], Draw]
Side = Callable[[Any, dict[str, Any]], Train]


def _ours(method: Callable[[int], Any]) -> Side:
    def prepare(frame: Any, facts: dict[str, Any]) -> Train:
        import opendp.measurements  # noqa: F401 - imports are not timed
        import sklearn.tree  # noqa: F401
        import torch  # noqa: F401

        import syntabula as st
        import syntabula.prepare.privtree
        import syntabula.privacy.training.counts
        import syntabula.synthesizers.fitting
        import syntabula.table.database
        import syntabula.table.files.declared_cells
        import syntabula.table.finite
        import syntabula.table.frames.frames
        import syntabula.table.frames.pandas_columns

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


def _our_ctgan(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.adversarial import Adversarial
    from syntabula.record_models.noisy_loop import NoisyTraining

    return st.CTGAN(
        epsilon=EPSILON,
        delta=DELTA,
        model=Adversarial(critic_units=CRITIC_LAYERS[0]),
        noisy=NoisyTraining(steps=EPOCHS * (n_rows // CRITIC_BATCH), rate=CRITIC_BATCH / n_rows),
    )


def _our_argn(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.autoregressive import Autoregressive
    from syntabula.record_models.loop import Training

    # The public code takes one more step than its epochs have.
    steps = ARGN_EPOCHS * (int(ARGN_TRAINED * n_rows) // ARGN_BATCH) + 1
    return st.ARGN(
        epsilon=float("inf"),
        seed=0,
        model=Autoregressive(units=ARGN_UNITS, layers=ARGN_LAYERS),
        # No look at the held-out records ends it early.
        training=Training(steps=steps, batch=ARGN_BATCH, held_out=1 - ARGN_TRAINED, patience=steps),
    )


def _our_great(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.language import LanguageModel
    from syntabula.record_models.loop import Training

    return st.GReaT(
        epsilon=float("inf"),
        seed=0,
        model=LanguageModel(units=GREAT_UNITS, layers=GREAT_LAYERS, heads=GREAT_HEADS),
        training=Training(steps=GREAT_STEPS, batch=GREAT_BATCH, held_out=0.0),
    )


def _our_dpmerf(n_rows: int) -> Any:
    import syntabula as st
    from syntabula.record_models.mean_embedding import MeanEmbedding

    return st.DPMERF(
        epsilon=EPSILON, delta=DELTA, model=MeanEmbedding(features=FEATURES, steps=GENERATOR_STEPS)
    )


def _our_synthpop(n_rows: int) -> Any:
    import syntabula as st

    return st.Synthpop(epsilon=EPSILON, delta=DELTA)


def _our_trees(n_rows: int) -> Any:
    import syntabula as st

    return st.Synthpop(epsilon=float("inf"), seed=0)


def _public_tabddpm(frame: Any, facts: dict[str, Any]) -> Train:
    sys.path.append(str(PEERS))
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
    sys.path.append(str(PEERS))
    import tablediffusion

    model = tablediffusion.TableDiffusion(EPSILON, DELTA, 0, batch_size=BATCH, epoch_target=EPOCHS)

    def trained() -> Draw:
        model.train(frame, facts)
        return model.sample

    return trained


def _public_ctgan(frame: Any, facts: dict[str, Any]) -> Train:
    from snsynth.pytorch.nn import DPCTGAN

    names = [name for name in frame.columns if "categories" in facts[name]]
    for name in frame.columns:
        frame[name] = frame[name].astype(str) if name in names else frame[name].astype(float)

    def trained() -> Draw:
        # At a noise of 5 deviations an epoch takes less than the budget, so that all its steps are done.
        model = DPCTGAN(
            epsilon=EPSILON,
            delta=DELTA,
            batch_size=CRITIC_BATCH,
            epochs=EPOCHS,
            generator_dim=CRITIC_LAYERS,
            discriminator_dim=CRITIC_LAYERS,
        )
        numbers = [name for name in frame.columns if name not in names]
        model.fit(
            frame, categorical_columns=names, continuous_columns=numbers, preprocessor_eps=0.4, nullable=True
        )
        return model.sample

    return trained


def _public_argn(frame: Any, facts: dict[str, Any]) -> Train:
    from mostlyai.engine import TabularARGN

    frame = _texts_of_categories(frame, facts)

    def trained() -> Draw:
        model = TabularARGN(max_epochs=ARGN_EPOCHS, batch_size=ARGN_BATCH, device="cpu", random_state=0)
        model.fit(X=frame)
        return lambda n: model.sample(n_samples=n)

    return trained


def _public_great(frame: Any, facts: dict[str, Any]) -> Train:
    from be_great import GReaT
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    frame, folder = _texts_of_categories(frame, facts), Path(tempfile.mkdtemp())
    # A tokenizer and a network that know nothing yet, in the place of those of GPT-2.
    rows = frame.astype(str).apply(lambda row: ", ".join(f"{c} is {v}" for c, v in row.items()), axis=1)
    letters = ByteLevelBPETokenizer()
    letters.train_from_iterator(rows, vocab_size=2000, special_tokens=["<|endoftext|>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters._tokenizer, eos_token="<|endoftext|>")
    tokenizer.save_pretrained(folder)
    shape = GPT2Config(
        vocab_size=len(tokenizer), n_embd=GREAT_UNITS, n_layer=GREAT_LAYERS, n_head=GREAT_HEADS
    )
    GPT2LMHeadModel(shape).save_pretrained(folder)

    def trained() -> Draw:
        model = GReaT(
            llm=str(folder),
            experiment_dir=str(folder / "run"),
            batch_size=GREAT_BATCH,
            max_steps=GREAT_STEPS,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        model.fit(frame)
        return lambda n: None  # so small a model writes hardly any row that the library can read

    return trained


def _public_dpmerf(frame: Any, facts: dict[str, Any]) -> Train:
    sys.path.append(str(PEERS))
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


def _public_trees(frame: Any, facts: dict[str, Any]) -> Train:
    from arfpy import arf

    frame = _texts_of_categories(frame, facts)
    for name in frame.columns:
        frame[name] = frame[name].astype("category" if "categories" in facts[name] else float)

    def trained() -> Draw:
        model = arf.arf(x=frame, random_state=0, verbose=False)
        model.forde()
        return lambda n: model.forge(n=n)

    return trained


def _texts_of_categories(frame: Any, facts: dict[str, Any]) -> Any:
    """Return the frame with categories as text, missing ones too."""
    names = [name for name in frame.columns if "categories" in facts[name]]
    return frame.assign(**{name: frame[name].astype(str) for name in names})


VARIABLES = {
    "tabddpm": "TABDDPM",
    "tablediffusion": "TABLEDIFFUSION",
    "ctgan": "SMARTNOISE",
    "dp-merf": "DPMERF",
    "synthpop": "DPART",
    "argn": "MOSTLYAI",
    "great": "GREAT",
    "trees": "ARF",
}
OURS: dict[str, Side] = {
    "tabddpm": _ours(_our_tabddpm),
    "tablediffusion": _ours(_our_tablediffusion),
    "ctgan": _ours(_our_ctgan),
    "dp-merf": _ours(_our_dpmerf),
    "synthpop": _ours(_our_synthpop),
    "argn": _ours(_our_argn),
    "great": _ours(_our_great),
    "trees": _ours(_our_trees),
}
THEIRS: dict[str, Side] = {
    "tabddpm": _public_tabddpm,
    "tablediffusion": _public_tablediffusion,
    "ctgan": _public_ctgan,
    "dp-merf": _public_dpmerf,
    "synthpop": _public_synthpop,
    "argn": _public_argn,
    "great": _public_great,
    "trees": _public_trees,
}
