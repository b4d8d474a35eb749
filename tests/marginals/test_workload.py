from __future__ import annotations

import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain, Workload


class TestWorkload:
    def test_weights_are_one_unless_given(self):
        assert Workload((("a", "b"), ("c",))).weights == (1.0, 1.0)
        assert Workload((("a",),), (2,)).weights == (2.0,)

    def test_all_kway_names_every_set_of_columns_once(self):
        domain = Domain(("a", "b", "c"), (2, 3, 4))
        assert Workload.all_kway(domain, 2).cliques == (("a", "b"), ("a", "c"), ("b", "c"))
        assert len(Workload.all_kway(domain, 1)) == 3

    def test_equal_workloads_are_equal_and_hash_alike(self):
        one, other = Workload([["a", "b"]]), Workload((("a", "b"),), (1.0,))
        assert one == other
        assert hash(one) == hash(other)

    def test_what_makes_no_sense_is_refused(self):
        cases = [
            ((), (), "at least one"),
            (("ab",), (), "not one string"),
            ((("a", "a"),), (), "twice"),
            ((("a", "b"), ("b", "a")), (), "same columns"),
            ((("a",),), (1.0, 2.0), "2 weights"),
            ((("a",),), (0.0,), "above 0"),
            ((("a",),), (-1.0,), "above 0"),
            ((("a",),), (float("nan"),), "above 0"),
            ((("a",),), (float("inf"),), "above 0"),
            ((("a",),), (True,), "above 0"),
            ((("a",),), ("1",), "above 0"),
        ]
        for cliques, weights, message in cases:
            with pytest.raises(ArgumentError, match=message):
                Workload(cliques, weights)

    def test_an_impossible_width_is_refused(self):
        for k in [-1, 3, True]:
            with pytest.raises(ArgumentError):
                Workload.all_kway(Domain(("a", "b"), (2, 2)), k)


class TestWrittenAsAList:
    def test_columns_alone_and_columns_with_weights(self) -> None:
        workload = Workload.of([["a", "b"], {"columns": ["b", "c"], "weight": 3}, {"columns": ["c"]}])

        assert workload.cliques == (("a", "b"), ("b", "c"), ("c",))
        assert workload.weights == (1.0, 3.0, 1.0)

    def test_anything_else_is_refused(self) -> None:
        for entries in [
            ["ab"],
            [1],
            [{"weight": 2}],
            [{"columns": ["a"], "wight": 2}],
            [[1, 2]],
            [{"columns": "ab"}],
        ]:
            with pytest.raises(ArgumentError):
                Workload.of(entries)  # type: ignore[arg-type]

    def test_senseless_weights_are_refused(self) -> None:
        for weight in ["2", None, 0]:
            with pytest.raises(ArgumentError, match="weight"):
                Workload.of([{"columns": ["a"], "weight": weight}])
