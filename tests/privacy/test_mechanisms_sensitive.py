from __future__ import annotations

import copy
import json
import operator
import pickle
import traceback
from pathlib import Path

import msgspec
import numpy as np
import pytest

import syntabula
from syntabula.privacy.mechanisms import Sensitive

SOURCE = Path(syntabula.__file__).parent
SECRET = 987654321


def secret() -> Sensitive[np.ndarray]:
    return Sensitive(np.array([[SECRET, 2, 3], [4, 5, 6]]))


class TestPrinting:
    def test_shows_type_and_shape_only(self):
        assert repr(secret()) == str(secret()) == f"{secret()}" == "Sensitive(ndarray, shape (2, 3))"

    def test_of_a_number_shows_its_type_only(self):
        assert repr(Sensitive(SECRET)) == "Sensitive(int)"
        assert str(SECRET) not in f"{Sensitive(SECRET):>20}"

    def test_of_a_traceback_with_local_variables_shows_no_value(self):
        try:
            hidden = secret()
            hidden + 1
        except TypeError as error:
            shown = traceback.TracebackException.from_exception(error, capture_locals=True)
            assert str(SECRET) not in "".join(shown.format())


ATTEMPTS = {
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "json": json.dumps,
    "msgspec": msgspec.json.encode,
    "iteration": list,
    "length": len,
    "index": lambda s: s[0],
    "membership": lambda s: SECRET in s,
    "numpy": np.asarray,
    "numpy sum": np.sum,
    "numpy concatenate": lambda s: np.concatenate([s, s]),
    "numpy ufunc": lambda s: np.add(s, 1),
    "left operand array": lambda s: np.ones(3) + s,
    "int": int,
    "float": float,
    "condition": bool,
    "negation": operator.neg,
    "absolute": abs,
    "round": round,
    "variables": vars,
}
BINARY = [
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor",
    "lshift", "rshift", "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip


class TestUse:
    def test_outside_a_mechanism_raises(self):
        for name in ATTEMPTS:
            with pytest.raises(TypeError) as caught:
                ATTEMPTS[name](secret())
            assert str(SECRET) not in str(caught.value)

    def test_in_an_expression_raises_on_either_side(self):
        for name in BINARY:
            operation = getattr(operator, name)
            with pytest.raises(TypeError, match="Curator"):
                operation(secret(), 1)
            with pytest.raises(TypeError, match="Curator"):
                operation(1, secret())

    def test_teaches_what_to_do_instead(self):
        with pytest.raises(TypeError, match="ask the Curator to measure or choose"):
            pickle.dumps(secret())

    def test_of_a_dictionary_key_compares_identity_only(self):
        one = secret()
        assert {one: "kept"}[one] == "kept"

    def test_inside_privacy_gets_the_very_statistic(self):
        counts = np.arange(3)
        assert Sensitive(counts).reveal_inside_privacy() is counts


class TestAccess:
    def test_is_named_in_privacy_only(self):
        for name in ["reveal_inside_privacy", "_Sensitive__statistic"]:
            outside = [p for p in SOURCE.rglob("*.py") if "privacy" not in p.relative_to(SOURCE).parts[:1]]
            assert outside
            assert [
                str(p.relative_to(SOURCE)) for p in outside if name in p.read_text(encoding="utf-8")
            ] == []
