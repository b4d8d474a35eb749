"""The public surface is what `__all__` says."""

from __future__ import annotations

import pytest

import syntabula


class TestSurface:
    def test_no_name_is_repeated(self) -> None:
        assert sorted(set(syntabula.__all__)) == syntabula.__all__

    def test_every_public_name_can_be_had(self) -> None:
        missing = [name for name in syntabula.__all__ if getattr(syntabula, name, None) is None]

        assert missing == []

    def test_python_is_told_enough_to_name_the_nearest_one(self) -> None:
        with pytest.raises(AttributeError) as caught:
            syntabula.Aim  # type: ignore[attr-defined]  # noqa: B018

        assert (caught.value.name, caught.value.obj) == ("Aim", syntabula)

    def test_dir_shows_the_public_names(self) -> None:
        assert dir(syntabula) == sorted(syntabula.__all__)

    def test_every_listed_synthesizer_can_be_had_and_knows_its_key(self) -> None:
        keys = [info.key for info in syntabula.list_synthesizers()]

        assert [syntabula.synthesizer(key).key for key in keys] == keys

    def test_a_synthesizer_is_known_by_its_class_and_in_any_case(self) -> None:
        for name in ["PrivateGSD", "private_gsd", "PRIVATE-GSD"]:
            assert syntabula.synthesizer(name) is syntabula.PrivateGSD

    def test_what_is_no_synthesizer_is_refused(self) -> None:
        for name in ["private", 3, None]:
            with pytest.raises(
                syntabula.errors.ArgumentError, match=r"there is no method .* methods are auto, independent"
            ):
                syntabula.synthesizer(name)  # type: ignore[arg-type]

    def test_every_error_descends_from_one_root(self) -> None:
        errors = [e for e in vars(syntabula.errors).values() if isinstance(e, type)]

        assert errors
        assert all(
            issubclass(e, syntabula.errors.SyntabulaError | syntabula.errors.SyntabulaWarning) for e in errors
        )
