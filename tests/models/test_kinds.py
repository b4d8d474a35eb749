"""Which class a release file means: those of the package, those that are registered, and those of plug-ins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from foreign_models import Shares

import syntabula as st
from syntabula import _register
from syntabula.errors import ArgumentError, PluginWarning, ReleaseFileError
from syntabula.models import base
from syntabula.models.gum import GUM
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.select.base import Selector
from syntabula.select.fixed_marginals import OneWay

FRAME = st.datasets.census(n_rows=300)
SCHEMA = st.datasets.schema_of("census")


@pytest.fixture(autouse=True)
def nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_register, "_of_session", {})


def fitted(model: object, tmp_path: Path) -> st.Release:
    release = st.Marginal(selector="one_way", model=model, seed=1).fit(FRAME, SCHEMA)
    release.save(tmp_path / "release.syn")
    return release


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package as pip would install it, with an entry point for its model."""
    folder = tmp_path / "site"
    facts = folder / "shares_plug_in-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: shares-plug-in\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[syntabula.models]\nshares = shares_plug_in:Shares\n")
    (folder / "shares_plug_in.py").write_text(
        (Path(__file__).parent / "foreign_models.py")
        .read_text()
        .replace("class Shares(MarginalModel):\n", 'class Shares(MarginalModel):\n    kind = "shares"\n\n')
    )
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder
    sys.modules.pop("shares_plug_in", None)


def learned(release: st.Release) -> object:
    """Return the model of a release without the codes that lack evidence."""
    assert isinstance(release.model, RecodedModel)
    return release.model.inner


class TestForeignModels:
    def test_one_that_is_not_registered_is_refused_before_anything_is_spent(self) -> None:
        for name in ["PGM", "Mine"]:
            foreign = type(name, (Shares,), {})

            with pytest.raises(ArgumentError, match=f"class {name} cannot be stored.*@syntabula.register"):
                st.Marginal(selector="one_way", model=foreign())

    @pytest.mark.parametrize("kind", ["pgm"])
    def test_one_that_claims_a_kind_of_ours_is_refused(self, kind: str) -> None:
        foreign = type("PGM", (Shares,), {"kind": kind})

        with pytest.raises(ArgumentError, match="cannot be stored"):
            st.Marginal(selector="one_way", model=foreign())
        with pytest.raises(ArgumentError, match=f"name '{kind}' belongs to syntabula"):
            st.register("model")(foreign)

    def test_a_subclass_of_ours_is_not_taken_for_ours(self) -> None:
        class Narrower(PGM):
            pass

        with pytest.raises(ArgumentError, match="Narrower cannot be stored"):
            st.MST(model=Narrower())
        with pytest.raises(ArgumentError, match="needs its own attribute `kind`"):
            st.register("model")(Narrower)

    def test_a_model_within_the_selector_is_looked_at_too(self) -> None:
        from syntabula.models.genetic import Genetic
        from syntabula.select.automatic import Automatic

        with pytest.raises(ArgumentError, match="Slower cannot be stored"):
            Automatic(evolved=type("Slower", (Genetic,), {})())

    def test_a_registered_one_is_saved_and_comes_back_as_itself(self, tmp_path: Path) -> None:
        @st.register("model")
        class PGM(Shares):
            kind = "mine"

        release = fitted(PGM(), tmp_path)
        loaded = st.load(tmp_path / "release.syn")

        assert type(learned(loaded)) is type(learned(release)) is PGM
        assert loaded.sample(50, seed=2).equals(release.sample(50, seed=2))

    def test_a_selector_may_bring_its_own_which_can_be_registered_afterwards(self, tmp_path: Path) -> None:
        late = type("Late", (Shares,), {"kind": "late"})

        class Brings(Selector):
            def plan(self, domain: object) -> list[object]:
                return []

            def select(self, curator, model, *, share, progress=None):
                measured = curator.measure([(c,) for c in curator.domain], share=share, step="measure")
                return late().over(curator.domain).fit(measured)

        release = st.Marginal(selector=Brings(), model="pgm", seed=1).fit(FRAME, SCHEMA)

        with pytest.raises(ArgumentError, match="Late cannot be stored"):
            release.save(tmp_path / "release.syn")
        st.register("model")(late)
        release.save(tmp_path / "release.syn")
        loaded = st.load(tmp_path / "release.syn").model
        # Codes that nobody has may be left out before a model is fitted.
        assert type(loaded.inner if isinstance(loaded, RecodedModel) else loaded) is late


class TestLoading:
    def test_a_kind_that_is_not_here_is_named_with_what_it_was_saved_with(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fitted(
            st.register("model")(type("Mine", (Shares,), {"kind": "mine", "__module__": __name__}))(),
            tmp_path,
        )
        monkeypatch.setattr(_register, "_of_session", {})

        with pytest.raises(
            ReleaseFileError,
            match=r"model of kind 'mine' \(saved with '[\w.]*test_kinds:Mine'\), which is not installed",
        ):
            st.load(tmp_path / "release.syn")

    def test_what_is_no_kind_is_not_shown(self) -> None:
        for kind in [None, "a b", "x\n", "k" * 200]:
            with pytest.raises(ReleaseFileError, match=r"^this file does not name the kind of its model$"):
                base.model_class(kind)

    def test_what_a_file_says_of_a_plug_in_is_only_shown_and_cut(self) -> None:
        with pytest.raises(ReleaseFileError) as caught:
            base.model_class("other", "\x1b[31m" + "x" * 10_000)

        assert len(str(caught.value)) < 600
        assert "\x1b" not in str(caught.value)


class TestPlugIns:
    def test_an_entry_point_is_enough(self, plug_in: Path, tmp_path: Path) -> None:
        from shares_plug_in import Shares as Plugged  # type: ignore[import-not-found]

        release = fitted(Plugged(), tmp_path)
        loaded = st.load(tmp_path / "release.syn")

        assert type(learned(loaded)) is Plugged
        assert loaded.sample(50, seed=2).equals(release.sample(50, seed=2))

    @pytest.mark.thorough
    def test_a_new_process_loads_it_with_the_plug_in_and_names_it_without(
        self, plug_in: Path, tmp_path: Path
    ) -> None:
        from shares_plug_in import Shares as Plugged

        fitted(Plugged(), tmp_path)
        program = f"import syntabula; print(len(syntabula.load({str(tmp_path / 'release.syn')!r}).sample(7)))"

        def run(*folders: Path) -> subprocess.CompletedProcess[str]:
            setup = f"import sys; sys.path[:0] = {[str(f) for f in folders]!r}; "
            return subprocess.run([sys.executable, "-c", setup + program], capture_output=True, text=True)

        assert run(plug_in).stdout == "7\n"
        without = run()
        assert without.returncode != 0
        assert "kind 'shares' (saved with 'shares-plug-in, shares_plug_in:Shares')" in without.stderr

    def test_none_takes_over_a_kind_of_ours(self, plug_in: Path) -> None:
        (plug_in / "shares_plug_in-1.0.dist-info" / "entry_points.txt").write_text(
            "[syntabula.models]\npgm = shares_plug_in:Shares\n"
        )

        with pytest.warns(PluginWarning, match="shares-plug-in is ignored, as the model 'pgm' of syntabula"):
            assert base.model_class("pgm") is PGM
        assert PGM().kind == "pgm"

    def test_one_that_cannot_be_loaded_says_so(self, plug_in: Path) -> None:
        (plug_in / "shares_plug_in.py").write_text("import a_module_that_is_missing\n")

        with pytest.raises(
            ReleaseFileError,
            match=r"'shares_plug_in:Shares'.*cannot be loaded \(ModuleNotFoundError: No module named '\w+'\)",
        ):
            base.model_class("shares")


class TestRegistration:
    def test_what_lacks_methods_is_refused_with_their_names(self) -> None:
        with pytest.raises(ArgumentError, match="Empty lacks the methods of a model: over, memory_mb, fit"):
            st.register("model")(type("Empty", (), {"kind": "empty"}))
        with pytest.raises(ArgumentError, match="class of a model, not an object of type PGM"):
            st.register("model")(PGM())  # type: ignore[type-var]

    def test_a_method_that_is_the_interfaces_alone_is_missing_too(self) -> None:
        written = dict.fromkeys(
            ("over", "fit", "marginals", "sample", "state", "from_state", "domain"), print
        )
        half = type("Half", (base.MarginalModel,), {"kind": "half", **written})

        with pytest.raises(ArgumentError, match=r"Half lacks the methods of a model: memory_mb, total$"):
            st.register("model")(half)
        with pytest.raises(TypeError, match="abstract"):
            half()

    def test_what_does_not_say_all_of_itself_is_refused_with_what_is_missing(self) -> None:
        silent = type("Silent", (), {"key": "silent", "fit": print, "auto_count": print})
        with pytest.raises(
            ArgumentError, match="Silent lacks the class attributes of a discretizer: needs_count"
        ):
            st.register("discretizer")(silent)

    def test_a_class_in_place_of_its_kind_is_answered_by_how_to_write_it(self) -> None:
        with pytest.raises(ArgumentError, match=r'must be text, as in @syntabula.register\("selector"\)'):
            st.register(PGM)  # type: ignore[arg-type]

    def test_a_name_may_be_an_attribute_or_an_argument(self) -> None:
        nameless = type("Nameless", (OneWay,), {})
        with pytest.raises(
            ArgumentError, match="its own attribute `key` or a name as the second argument of register"
        ):
            st.register("selector")(nameless)

    def test_a_kind_is_a_short_word(self) -> None:
        for kind in [None, "", "../x"]:
            with pytest.raises(ArgumentError, match="needs its own attribute `kind`"):
                st.register("model")(type("Mine", (Shares,), {"kind": kind}))

    def test_a_notebook_cell_may_run_again_but_no_other_class_takes_the_kind(self) -> None:
        first = st.register("model")(type("Mine", (Shares,), {"kind": "mine", "__module__": __name__}))
        again = st.register("model")(type("Mine", (Shares,), {"kind": "mine", "__module__": __name__}))

        assert base.model_class("mine") is again is not first
        with pytest.raises(ArgumentError, match=r"name 'mine' belongs to .*test_kinds:Mine"):
            st.register("model")(type("Other", (Shares,), {"kind": "mine", "__module__": __name__}))

    def test_those_of_the_package_need_none(self) -> None:
        for model in [PGM(), GUM()]:
            base.check_storable(model)
            assert _register.package_of("model", model.kind) is None
