"""What a graphical model answers of all pairs at once, beside what it answers of each."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.models.gum import GUM
from syntabula.models.junction_tree.pair_growth import most_growth
from syntabula.models.junction_tree.tree import junction_tree
from syntabula.models.pair_questions import affordable_pairs, products_of_scores
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel

DOMAIN = Domain.from_sizes({"a": 3, "b": 2, "c": 4, "d": 2, "e": 3, "f": 1, "g": 2})
CLIQUES: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d", "e"), ("a", "d"), ("f",), ("g",)]


def fitted(domain: Domain, cliques: list[Clique]) -> PGM:
    rng = np.random.default_rng(0)
    tables = [rng.uniform(1, 100, domain.shape(c)) for c in cliques]
    tables = [t * (1000 / t.sum()) for t in tables]
    return PGM().over(domain).fit([Measurement(c, t, 5.0) for c, t in zip(cliques, tables, strict=True)])


def scores_of_all(domain: Domain) -> dict[str, FloatArray]:
    rng = np.random.default_rng(1)
    return {c: rng.normal(size=n) for c, n in zip(domain.columns, domain.sizes, strict=True)}


@pytest.mark.parametrize("merged", [False, True])
def test_expected_products_are_those_of_the_tables_of_all_pairs(merged: bool) -> None:
    model: PGM | RecodedModel = fitted(DOMAIN, CLIQUES)
    if merged:
        wider = Domain.from_sizes(dict(zip(DOMAIN.columns, DOMAIN.sizes, strict=True)) | {"a": 5})
        shares = {"a": np.array([0.2, 0.8, 1.0, 0.5, 0.5])}
        model = RecodedModel(
            fitted(DOMAIN, CLIQUES), Recoding(wider, {"a": np.array([0, 0, 1, 2, 2])}, shares)
        )
    scores = scores_of_all(model.domain)

    found = products_of_scores(model, scores)

    place = {c: i for i, c in enumerate(scores)}
    pairs: list[Clique] = list(combinations(model.domain.columns, 2))
    for (one, other), table in zip(pairs, model.marginals(pairs), strict=True):
        wanted = scores[one] @ table @ scores[other]
        assert found[place[one], place[other]] == pytest.approx(wanted, abs=1e-3)
        assert found[place[other], place[one]] == pytest.approx(wanted, abs=1e-3)


def test_models_that_are_no_trees_answer_by_their_marginals() -> None:
    domain = Domain.from_sizes({"a": 3, "b": 2})
    table = np.array([[10.0, 20.0], [5.0, 5.0], [40.0, 20.0]])
    model = GUM().over(domain).fit([Measurement(("a", "b"), table, 0.0)])
    scores = scores_of_all(domain)

    found = products_of_scores(model, scores)

    assert found[0, 1] == pytest.approx(scores["a"] @ model.marginals([("a", "b")])[0] @ scores["b"])
    assert affordable_pairs(model, [("a", "b")], [("a",), ("b",)], 1.0) == [("a", "b")]


def test_a_pair_joins_the_cliques_on_its_way() -> None:
    tree = junction_tree(DOMAIN, [*CLIQUES[:2], ("c", "d"), ("d", "e")])

    # Columns of 3 codes join cliques of 8 cells, or of 8, 8 and 6; other columns would make more of them.
    pairs: list[Clique] = [("a", "b"), ("a", "c"), ("c", "e"), ("a", "e"), ("a", "f"), ("f", "g"), ("c", "g")]
    assert most_growth(tree, pairs) == [0, 16, 16, 44, 3, 2, 8]
