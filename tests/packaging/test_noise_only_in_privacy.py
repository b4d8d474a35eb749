"""No file outside privacy/ makes random numbers of its own or loads OpenDP."""

from __future__ import annotations

import ast
from pathlib import Path

import syntabula

SOURCE = Path(syntabula.__file__).parent

MAY_DRAW = {
    # Studies split tables and compare them with seeds that are stated; they are experiments, not releases.
    "bench": "numpy.random",
    # A peer's own draws, in an environment of its own.
    "bench/peers/dpmerf": "torch",
    "bench/peers/sdv": "torch",
    "bench/peers/tablediffusion": "torch",
    # A released model is sampled: post-processing, on which no privacy rests.
    "synthesizers/drawing": "numpy.random",
    "table/files/row_parts": "numpy.random",
    # Random records are moved towards marginals that are noisy already: post-processing likewise.
    "models/hard_rows": "numpy.random",
    "models/row_set": "numpy.random",
    # A plug-in's model is tried on counts that are made up.
    "models/trial": "numpy.random",
    # Rows of a released model are tried, to say how many satisfy conditions: post-processing.
    "models/restricted": "numpy.random",
    "synthesizers/ruled_conditions": "numpy.random",
    # Likewise, to see whether columns follow each other within bins.
    "synthesizers/conditions": "numpy.random",
    "synthesizers/known_parts": "numpy.random",
    # And to count the bins of models that know no marginals.
    "synthesizers/fitted_rhythms": "numpy.random",
    "synthesizers/fitted_lifts": "numpy.random",
    "synthesizers/fitted_ends": "numpy.random",
    # Public example tables are simulated; they hold nobody's data.
    "datasets": "numpy.random",
    # Synthetic columns are shuffled for a comparison: post-processing as well.
    "demo": "numpy.random",
    # Shadow models of an attack get records and seeds at random; an attack releases nothing.
    "attacks": "numpy.random",
    # Thresholds of RAP++ are drawn before anything is asked, from a seed that is no secret.
    "select/top_q": "numpy.random",
    # Rows of a model of noisy counts stand for it, drawn by a fixed seed.
    "select/interactions": "numpy.random",
    # Soft rows start at random parameters, from a seed that is no secret: post-processing.
    "models/soft_rows": "numpy.random",
    # Batches of a training that has no privacy to protect, first weights, and sets of columns to be asked for.
    "record_models/loop": "torch",
    "record_models/looks": "torch",
    "record_models/noisy_loop": "torch",
    # Rows of a network that was trained with noise are tried, to set its marginals: post-processing.
    "record_models/autoregressive": "numpy.random",
    "record_models/codes_network": "numpy.random",
    "record_models/latent_with_noise": "numpy.random",
    "record_models/torch_model": "torch",
    "record_models/any_order": "torch",
    "record_models/denoiser": "torch",
    "record_models/blocks": "torch",
    "record_models/encoding": "torch",
    "record_models/conditioned": "torch",
    "record_models/variational": "torch",
    "record_models/noisy_critic": "torch",
    "record_models/adversarial": "torch",
    "record_models/expectation": "torch",
    "record_models/causal": "torch",
    "record_models/pretrained": "torch",
    "record_models/pretrained_writing": "torch",
    "record_models/pretrained_folder": "torch",
    # Rows of a released model are tried and counted: post-processing.
    "record_models/conditions_first": "numpy.random",
    "record_models/column_trees": "numpy.random",
    "record_models/tree_seconds": "numpy.random",
    "record_models/latent": "numpy.random",
    "record_models/evolution": "numpy.random",
    "record_models/base": "numpy.random",
    "record_models/astray": "numpy.random",
    # Rows of a network, and records, are looked at where there is no privacy to protect.
    "record_models/dependence_kept": "numpy.random",
    # Rows are generated for teachers to vote on or to have a released mean, from a seed that is no secret: likewise.
    "record_models/generated_rows": "numpy.random",
    "record_models/mean_embedding": "numpy.random",
    "record_models/teaching": "numpy.random",
    # Rows are drawn from trees of released counts, to weigh leaves by: likewise.
    "record_models/tree_learner": "numpy.random",
    # Made-up tables on which plug-ins are tried; they hold nobody's data.
    "testing": "numpy.random",
    # Scores of tables rest on samples, splits and queries; they are not private, and say so.
    "metrics/evaluate": "numpy.random",
    # Rows of persons are held out to find the settings of a judge; it judges a released table.
    "metrics/utility/affinity": "numpy.random",
    # A picture, which is not private and says so; its scores take a generator that they do not use.
    "report/marginal_picture": "numpy.random",
    # Options to try are drawn without a look at the table, as the guarantee of a private search takes it; how many
    # trials there are is drawn in privacy/. A search that is not private says so.
    "tuning": "numpy.random",
    # A page, which is not private and says so, shows some rows, and what two halves of a table differ by.
    "metrics/plane": "numpy.random",
    "report/differences": "numpy.random",
    # Weights and batches of a model that only judges a released table.
    "metrics/utility/transformer": "torch",
    # A draft of a schema looks for sums in some rows; it is not private, and says so.
    "table/rules/near_sums": "numpy.random",
    # A file is written under a temporary name that nothing else has.
    "table/schema/file": "secrets",
    "table/files/files": "secrets",
}
"""Files (without .py) or folders, and the one module each may draw from, with the reason above it."""

RANDOM_MODULES = ("random", "secrets", "numpy.random", "jax.random", "torch.random", "scipy.stats")
RANDOM_NAMES = {
    "os": {"urandom", "getrandom"},
    "uuid": {"uuid1", "uuid4"},
    "torch": {
        "Generator", "bernoulli", "manual_seed", "multinomial", "normal", "poisson", "rand", "rand_like",
        "randint", "randint_like", "randn", "randn_like", "randperm", "seed",
    },
}  # fmt: skip
TYPES_ONLY = {"numpy.random.Generator", "numpy.random", "torch.Generator"}
"""May be named, as a generator that is passed in must be; not called."""


WORDS = ("opendp", "random", "secrets", "uuid", "torch", "scipy")
"""Each of those names has one of these in it, so that a program without them does nothing of this."""


def offences(program: str) -> list[str]:
    """List what a program does that only privacy/ may do, as "line: what"."""
    if not any(word in program for word in WORDS):
        return []
    nodes = [*ast.walk(ast.parse(program))]
    aliases = _aliases(nodes)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    found = []
    for node in nodes:
        for name in _imported(node):
            if name.split(".")[0] == "opendp" or (_is_random(name) and name not in TYPES_ONLY):
                found.append(f"{node.lineno}: import of {name}")
        if isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in inner:
            name = _full_name(node, aliases)
            if _is_random(name) and (name not in TYPES_ONLY or id(node) in called):
                found.append(f"{node.lineno}: {name}")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("opendp"):
            found.append(f"{node.lineno}: text {node.value!r}")
    return found


def _aliases(nodes: list[ast.AST]) -> dict[str, str]:
    names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for part in node.names:
                names[part.asname or part.name.split(".")[0]] = (
                    part.name if part.asname else part.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({part.asname or part.name: f"{node.module}.{part.name}" for part in node.names})
        elif isinstance(node, ast.Assign):
            names.update(_required(node))
    return names


def _required(node: ast.Assign) -> dict[str, str]:
    """Return what names stand for that are given a library of an extra, alone or beside others."""
    names = {}
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        for name, value in pairs:
            called = value.func if isinstance(value, ast.Call) else None
            if isinstance(name, ast.Name) and isinstance(called, ast.Name) and called.id == "require":
                names[name.id] = ast.literal_eval(value.args[0])
    return names


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [part.name for part in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [f"{node.module}.{part.name}" for part in node.names]
    return []


def _full_name(node: ast.AST, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        before = _full_name(node.value, aliases)
        return f"{before}.{node.attr}" if before else ""
    return aliases.get(node.id, "") if isinstance(node, ast.Name) else ""


def _is_random(name: str) -> bool:
    first, _, rest = name.partition(".")
    if rest.split(".")[0] in RANDOM_NAMES.get(first, ()):
        return True
    return any(name == module or name.startswith(module + ".") for module in RANDOM_MODULES)


def _may_draw(path: str, offence: str) -> bool:
    places = [p for p in MAY_DRAW if path == f"{p}.py" or path.startswith(f"{p}/")]
    return any(MAY_DRAW[place] in offence for place in places)


OUTSIDE = sorted(p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py"))
OUTSIDE = [p for p in OUTSIDE if not p.startswith("privacy/")]


def test_draws_nothing_and_leaves_opendp_alone():
    found = {path: offences((SOURCE / path).read_text(encoding="utf-8")) for path in OUTSIDE}
    assert "synthesizers/drawing.py" in found
    undue = {path: [line for line in lines if not _may_draw(path, line)] for path, lines in found.items()}
    assert {path: lines for path, lines in undue.items() if lines} == {}


def test_finds_a_planted_draw():
    cases = [
        "import numpy as np\nx = np.random.default_rng()",
        "import numpy as np\nx = np.random.normal(size=3)",
        "import numpy as np\nmake = np.random.default_rng",
        "import numpy as np\nx = np.random.Generator(np.random.PCG64())",
        "import numpy\nx = numpy.random.RandomState(0)",
        "import numpy.random as r\nx = r.normal()",
        "from numpy import random\nx = random.laplace()",
        "from numpy.random import default_rng",
        "import random",
        "from random import gauss",
        "import random as chance\nchance.random()",
        "def f():\n    import secrets",
        "import os\nos.urandom(8)",
        "import torch\ntorch.randn(3)",
        "import torch as t\nt.manual_seed(0)",
        "from torch import normal",
        'torch = require("torch", "neural")\ntorch.rand(3)',
        'torch, size = require("torch", "neural"), 3\ntorch.randperm(size)',
        "import jax\njax.random.normal(0)",
        "from scipy.stats import norm",
        "def f():\n    import opendp.prelude as dp",
        "from opendp import prelude",
        "import importlib\nimportlib.import_module('opendp.prelude')",
    ]
    for program in cases:
        assert offences(program)


def test_lets_a_passed_generator_be():
    for program in [
        "import numpy as np\ndef f(rng: np.random.Generator) -> int:\n    return rng.integers(3)",
        "from numpy.random import Generator\ndef f(rng: Generator): ...",
        "import numpy as np\nisinstance(3, np.random.Generator)",
        "import numpy as np\nx = np.sum([1])",
        "from torch import Generator\ndef f(random: Generator): ...",
        "def f(random):\n    return random.choice",
    ]:
        assert offences(program) == []
