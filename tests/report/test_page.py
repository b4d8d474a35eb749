from __future__ import annotations

import json
import re
import socket
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import syntabula
from syntabula.errors import ArgumentError, DataError, PrivacyWarning
from syntabula.metrics import compare
from syntabula.metrics.utility.efficacy import Efficacy
from syntabula.report.groups import FEWEST_ROWS, equal_shares, equal_widths
from syntabula.report.results import not_computed, read_evaluation
from syntabula.report.words import edge_texts, group_words

SECTIONS = {
    "overview", "differences", "columns", "pairs", "plane", "scores", "utility", "attacks", "privacy",
}  # fmt: skip
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every element must be closed in its turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [value for name in ("href", "src") if (value := given.get(name))]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 90, n)
    return pd.DataFrame(
        {
            "age": age,
            "income": np.where(rng.random(n) < 0.3, np.nan, age * 900.0 + rng.normal(0, 5e3, n)),
            "job": rng.choice(["nurse", "cook", None], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )


class Facts:
    """A result in its JSON form."""

    def __init__(self, facts: dict[str, object]) -> None:
        self.to_json = lambda: facts


def report(*tables: pd.DataFrame, **given: object) -> syntabula.Report:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return syntabula.make_report(*tables, **given)


@pytest.fixture(scope="module")
def page() -> str:
    return report(people(400, 1), people(300, 2)).html


class TestPage:
    @pytest.mark.thorough
    def test_has_every_section_also_without_optional_results(self, page):
        read = Page(page)

        assert set(read.ids) >= SECTIONS
        assert len(read.ids) == len(set(read.ids))

    @pytest.mark.thorough
    def test_links_lead_to_places_on_the_page(self, page):
        read = Page(page)

        inside = [link for link in read.links if link.startswith("#")]
        assert {link[1:] for link in inside} <= set(read.ids)
        assert set(read.links) - set(inside) == {"data:,"}

    def test_names_nothing_outside_itself_and_runs_nothing(self, page):
        read = Page(page)

        assert re.findall(r"https?:|//[a-z]|@import|url\((?!#)", page) == []
        assert not read.tags & {"script", "iframe", "object", "img"}

    @pytest.mark.thorough
    def test_is_made_without_a_network(self, monkeypatch):
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a socket was opened")

        monkeypatch.setattr(socket, "socket", refuse)

        assert report(people(50, 1), people(50, 2)).html

    @pytest.mark.thorough
    def test_says_loudly_that_it_is_not_private(self, page):
        assert Page(page).text.count("NOT PRIVATE") == 2
        with pytest.warns(PrivacyWarning, match="NOT covered"):
            syntabula.make_report(people(50, 1), people(50, 2))

    def test_says_what_is_missing(self, page):
        text = Page(page).text

        assert "No release was given" in text
        assert "None was run" in text
        assert "It needs a column to predict" in text

    @pytest.mark.thorough
    def test_is_the_same_for_the_same_tables(self, page):
        assert report(people(400, 1), people(300, 2)).html == page

    def test_gives_each_score_its_direction_and_scale(self, page):
        text = Page(page).text

        assert re.search(r"tvd-2 Total variation.*? 0\.\d+ lower HALF 0\.\d+ HISTOGRAM 0\.\d+", text)


class TestEscaping:
    @pytest.mark.thorough
    def test_names_and_values_of_the_tables_are_only_text(self):
        bad = "<script>alert(1)</script>"
        frame = pd.DataFrame({bad: ["</svg><b>x", "$a_1$", "a&b\n\x00\u202e", None] * 20, "q\"'": range(80)})

        html = report(frame, frame, title=bad).html

        read = Page(html)
        assert "script" not in read.tags
        assert bad in read.text
        assert "</svg><b>x" in read.text
        assert "$a_1$" in read.text
        assert "\x00" not in html
        assert "\u202e" not in html

    @pytest.mark.thorough
    def test_text_that_matplotlib_has_no_letters_for_does_no_harm(self, recwarn):
        frame = pd.DataFrame({"都道府県": ["東京都", "🙂", "ⵜⴰⵎ"] * 10})

        html = report(frame, frame).html

        assert "東京都" in html
        assert not recwarn.list


class TestTablesAtTheEdge:
    @pytest.mark.thorough
    def test_a_column_of_missing_cells_alone(self):
        frame = people(30, 1).assign(nothing=pd.Series([np.nan] * 30, dtype=float), one=1.5)

        assert set(Page(report(frame, frame).html).ids) >= SECTIONS

    @pytest.mark.thorough
    def test_a_single_column(self):
        frame = people(30, 1)[["age"]]

        assert "only one column" in report(frame, frame).html

    def test_a_single_row_is_refused(self):
        with pytest.raises(ArgumentError, match="single row"):
            report(people(1, 1), people(9, 1))

    @pytest.mark.thorough
    def test_wide_tables_are_shown_by_what_differs_most(self):
        rng = np.random.default_rng(0)
        real = pd.DataFrame(rng.integers(0, 2, (60, 45)), columns=[f"c{i}" for i in range(45)])
        synthetic = real.assign(c44=1 - real["c44"].clip(0, 0))

        html = report(real, synthetic).html

        assert "Only the 40 of 45 columns that differ most are shown" in " ".join(html.split())
        assert "Of the 24 of 45 columns with the largest differences" in html
        assert "values of c44 in" in html

    @pytest.mark.thorough
    def test_tsne_lays_out_the_rows(self):
        pytest.importorskip("sklearn")

        assert "laid out by t-SNE" in report(people(40, 1), people(40, 2), plane="tsne").html

    def test_an_unknown_plane_is_refused(self):
        with pytest.raises(ArgumentError, match="plane must be one of 'pca', 'tsne'; got 'umap'"):
            report(people(9, 1), people(9, 1), plane="umap")


class TestTablesOfPersons:
    """A page divides the table into halves that share no person, so every row must be of one, and these several."""

    SCHEMA = syntabula.Schema(
        {"person": syntabula.Identifier()}, others="find", unit="person", rows_per_unit=2
    )

    def table(self, persons: list[str | None]) -> pd.DataFrame:
        return people(len(persons), 1).assign(person=persons)

    def test_one_person_is_refused_with_what_the_page_needs(self):
        table = self.table(["canary"] * 60)

        with pytest.raises(ArgumentError, match="one value of 'person', the unit; a report") as refused:
            report(table, table, schema=self.SCHEMA)

        assert "canary" not in str(refused.value)
        assert "schema without `unit`" in str(refused.value)

    def test_rows_of_nobody_are_refused_without_a_word_of_a_guarantee_which_no_page_has(self):
        table = self.table([None, *(f"canary {i // 2}" for i in range(59))])

        with pytest.raises(
            DataError, match="'person' names the unit, but has cells that are empty"
        ) as refused:
            report(table, table, schema=self.SCHEMA)

        assert "guarantee" not in str(refused.value)
        assert "or give a schema without `unit`, so that each row counts for itself" in str(refused.value)


class TestResults:
    @pytest.mark.thorough
    def test_scores_can_come_from_memory_or_a_file(self, tmp_path):
        real, synthetic = people(90, 1), people(80, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            found = syntabula.evaluate(real, synthetic, metrics=["tvd-1", "tvd-2", "ks", "pmse"])
        file = tmp_path / "results.json"
        file.write_text(json.dumps(found.to_json()), encoding="utf-8")

        pages = [report(real, synthetic, evaluation=source).html for source in (found, file)]

        assert pages[0] == pages[1]
        assert "pmse" in pages[0]
        assert "query-error-3" not in pages[0]

    def test_metrics_that_cannot_be_loaded_are_told_from_memory_and_from_a_file(self, tmp_path):
        real = pd.DataFrame({"a": [1, 2, 3, 4]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            found = replace(syntabula.evaluate(real, real, metrics="tvd-1"), unloaded=("<mine> is broken",))
        file = tmp_path / "results.json"
        file.write_text(json.dumps(found.to_json()), encoding="utf-8")

        assert "Not computed: &lt;mine&gt; is broken." in report(real, real, evaluation=found).html
        assert not_computed(read_evaluation(file)[1], found.results) == ["<mine> is broken"]

    def test_scores_of_other_tables_are_refused(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            found = syntabula.evaluate(people(90, 1), people(80, 2), metrics="tvd-1")

        with pytest.raises(ArgumentError, match="of other tables"):
            report(people(91, 1), people(80, 2), evaluation=found)

    def test_other_files_are_refused(self, tmp_path):
        for text in ["[]", "{}", "no json", '{"scores": [{"metric": 3}]}']:
            file = tmp_path / "results.json"
            file.write_text(text, encoding="utf-8")

            with pytest.raises(ArgumentError):
                report(people(9, 1), people(9, 2), evaluation=file)
            with pytest.raises(ArgumentError):
                report(people(9, 1), people(9, 2), attacks=file)

    @pytest.mark.thorough
    def test_utility_is_computed_for_a_target_and_a_holdout(self):
        pytest.importorskip("sklearn")

        html = report(people(90, 1), people(80, 2), holdout=people(50, 3), target="job").html

        assert "predictive-utility" in html
        assert "It needs a column to predict" not in html

    @pytest.mark.thorough
    def test_attacks_are_shown_with_what_they_prove(self, tmp_path):
        facts = {
            "attack": "groundhog", "shadows": 20, "judged": 10, "auc": 0.97, "auc_error": 0.0004, "success": 0.9,
            "tpr_at_fpr": {"0.01": 0.6}, "epsilon_lower": 1.4, "confidence": 0.95, "delta": 1e-5, "epsilon_reach": 2.5,
            "epsilon": 1.0, "auc_ceiling": 0.731, "refutes_claim": True, "seconds_per_shadow": 0.1,
        }  # fmt: skip
        file = tmp_path / "attack.json"
        file.write_text(json.dumps({"attacks": [facts]}), encoding="utf-8")

        text = Page(report(people(40, 1), people(40, 2), attacks=[file]).html).text

        assert "groundhog" in text
        assert "REFUTED" in text
        assert "AUC 0.97" in text
        assert "0.970 ± <0.001" in text
        assert "20 shadow models can show 2.5 at most" in text

    @pytest.mark.thorough
    def test_disclosure_is_shown_with_its_scale(self):
        facts = {
            "metric": "mds", "value": 0.2, "direction": "lower", "baselines": {"SELF": 0.8, "HISTOGRAM": None},
            "facts": {"shadows": 8, "standard_error": 0.03, "by_chance": 0.1}, "note": "", "details": [],
        }  # fmt: skip

        text = Page(report(people(40, 1), people(40, 2), attacks=Facts(facts)).html).text

        assert re.search(
            r"mds 8 shadow models, standard error 0\.03, by chance 0\.1 0\.2 lower SELF 0\.8", text
        )
        assert "SELF copies the table" in text

    @pytest.mark.thorough
    def test_utility_is_shown_by_model_beside_real_training(self):
        pytest.importorskip("sklearn")
        real, synthetic, holdout = people(90, 1), people(80, 2), people(50, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            found = syntabula.evaluate(
                real,
                synthetic,
                holdout=holdout,
                target="job",
                metrics=Efficacy(evaluators=("tree", "linear")),
            )

        text = Page(report(real, synthetic, holdout=holdout, target="job", evaluation=found).html).text

        assert re.search(r"By model: tree 0\.\d+, linear 0\.\d+; accuracy \(synthetic\) 0\.\d+", text)
        assert re.search(r"SELF 0\.\d+", text)

    @pytest.mark.thorough
    def test_errors_of_single_columns_are_no_lost_ties(self):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 9, 2000)
        real = pd.DataFrame({"x": x, "y": x + rng.integers(0, 2, 2000)})
        # Every value moves by one, so that all cells differ; who is large beside whom stays.
        moved = real + 1

        text = Page(report(real, moved).html).text

        assert "keeps nearly all of the dependence between pairs of columns" in text

    @pytest.mark.thorough
    def test_the_privacy_statement_is_that_of_the_release(self):
        real = people(200, 1)[["age", "job"]]
        schema = syntabula.Schema(
            {
                "age": syntabula.Numeric(17, 90, integer=True),
                "job": syntabula.Categorical(("nurse", "cook", "unheard of"), nullable=True),
            }
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            release = syntabula.Independent(epsilon=2.00012, delta=1.2345612e-5, seed=1).fit(real, schema)

        page = report(real, release.sample(150, seed=1), schema=schema, release=release).html

        text = Page(page).text
        assert "ε = 2.001" in text  # bounds are rounded up
        assert "δ = 1.23457e-05" in text
        for reason in release.privacy.reasons_against:
            assert reason in text
        for line in release.privacy.lines:
            assert line.mechanism in text
        assert "No release was given" not in text
        assert "never come out: 1 of 3 of 'job'" in text

    @pytest.mark.thorough
    def test_keys_that_the_release_made_anew_are_not_compared(self):
        n = 2_400
        real = people(n, 1)[["age"]].assign(
            street=[f"street {i % 1_100}" for i in range(n)], town=[f"town {i % 600}" for i in range(n)]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = syntabula.Independent(epsilon=1.0, seed=1).fit(real)
        drawn = release.sample(n, seed=1)

        made_anew = report(real, drawn, release=release).overview

        kinds = {name: column.kind for name, column in release.schema.columns.items()}
        assert kinds["street"] == kinds["town"] == "identifier"
        # A town is one of few values, so that losing it counts.
        assert "Not compared, as their values are made up: street." in made_anew
        assert any("differs most beyond chance is town:" in sentence for sentence in made_anew)

    def test_keys_that_were_declared_are_not_compared_and_persons_stay_together(self):
        n = 900
        real = people(n, 1)[["age"]].assign(person=[f"P{i // 3}" for i in range(n)], row=range(n))
        key = syntabula.Identifier()
        schema = syntabula.Schema({"person": key, "row": key}, others="find", unit="person", rows_per_unit=2)
        release = syntabula.Independent(epsilon=9.0, seed=1).fit(real, schema)

        page = report(real, release.sample(600, seed=1), release=release)

        # There are too few persons and rows for a guess.
        assert "Not compared, as their values are made up: person, row." in page.overview
        assert "Halves of the real table keep all rows of a person together." in page.overview

    @pytest.mark.parametrize("declared", ["nothing", "others", "alike", "otherwise"])
    def test_the_rules_of_the_release_are_checked_on_cells_read_as_they_need(self, declared):
        # Months of few values would be read as categories, and their sums could not be checked.
        month = np.arange(300) % 12 + 1
        real = pd.DataFrame({"month": month, "next": month + 1, "job": ["nurse", "cook"] * 150})
        wrong = real.assign(next=np.where(np.arange(300) < 30, 20, real["next"]))
        whole = syntabula.Schema(
            {
                "month": syntabula.Numeric(1, 12, integer=True),
                "next": syntabula.Numeric(2, 20, integer=True),
                "job": syntabula.Categorical(("nurse", "cook")),
            },
            rules=syntabula.Rules(derive={"next": "month + 1"}),
        )
        release = syntabula.Independent(epsilon=9.0, seed=1).fit(real, whole)
        months = syntabula.Categorical([*range(1, 13)])
        schema = {
            "nothing": None,
            "others": syntabula.Schema({"job": whole["job"]}, others="find"),
            "alike": syntabula.Schema({"month": whole["month"]}, others="find"),
            "otherwise": syntabula.Schema({"month": months}, others="find"),
        }[declared]

        page = report(real, wrong, schema=schema, release=release)
        text = Page(page.html).text

        assert ("The rules of the release were not checked" in page.overview[-1]) == (declared == "otherwise")
        if declared == "otherwise":
            assert "broken-rules" not in text
        else:
            assert "broken-rules Share of rows that break a rule of the schema 0.1 lower" in text

    def test_rules_on_other_columns_than_those_declared_otherwise_are_checked(self):
        month = np.arange(300) % 12 + 1
        real = pd.DataFrame({"month": month, "next": month + 1, "low": month, "high": month + 5})
        wrong = real.assign(high=np.where(np.arange(300) < 30, 0, real["high"]))
        number = syntabula.Numeric(0, 30, integer=True)
        rules = syntabula.Rules(derive={"next": "month + 1"}, order=[["low", "high"]], require=["low < 13"])
        whole = syntabula.Schema(dict.fromkeys(real, number), rules=rules)
        release = syntabula.Independent(epsilon=9.0, seed=1).fit(real, whole)
        otherwise = syntabula.Schema({"month": syntabula.Categorical([*range(1, 13)])}, others="find")

        page = report(real, wrong, schema=otherwise, release=release)

        assert page.overview[-1] == (
            "Some rules of the release were not checked: the given schema declares a column of theirs otherwise, or the "
            "real table lacks one. They are: next = month + 1."
        )
        assert "a rule of the schema. Worst: low <= high 0.1 0.1 lower" in Page(page.html).text

    def test_the_release_of_persons_whom_the_table_does_not_name_is_refused_as_another_tables(self):
        real = people(300, 1)[["age"]]
        schema = syntabula.Schema(
            {"person": syntabula.Identifier()}, others="find", unit="person", rows_per_unit=2
        )
        keyed = real.assign(person=[f"P{i // 3}" for i in range(300)])
        release = syntabula.Independent(epsilon=9.0, seed=1).fit(keyed, schema)

        with pytest.raises(ArgumentError, match="different columns"):
            report(real, real, release=release)

    def test_the_release_of_another_table_is_refused(self):
        real = people(60, 1)
        schema = syntabula.Schema({"age": syntabula.Numeric(17, 90, integer=True)})
        release = syntabula.Independent(epsilon=1.0).fit(real[["age"]], schema)

        with pytest.raises(ArgumentError, match="different columns"):
            report(real, real, release=release)


class TestGroups:
    @pytest.mark.thorough
    def test_rare_categories_of_the_real_table_are_not_named(self):
        real = pd.DataFrame({"c": ["often"] * 50 + ["secret"] * (FEWEST_ROWS - 1) + ["enough"] * FEWEST_ROWS})

        groups = equal_widths(compare(real, real), "c", 12)

        assert groups.labels == ("often", "enough", "(1 other)")
        assert "secret" not in report(real, real).html

    def test_shares_add_up_to_one_with_missing_cells(self):
        tables = compare(people(300, 1), people(200, 2))

        for name in tables.columns:
            for group in (equal_widths, equal_shares):
                for shares in group(tables, name, 8).shares():
                    assert shares.sum() == pytest.approx(1.0)

    def test_joint_shares_have_the_single_ones_as_margins(self):
        tables = compare(people(300, 1), people(200, 2))
        first, second = equal_shares(tables, "income", 6), equal_shares(tables, "job", 6)

        for joint, one, other in zip(first.joint(second), first.shares(), second.shares(), strict=True):
            np.testing.assert_allclose(joint.sum(axis=1), one)
            np.testing.assert_allclose(joint.sum(axis=0), other)

    def test_intervals_of_whole_numbers_hold_equally_many_of_them(self):
        frame = pd.DataFrame({"x": [*range(100)] * 3})

        groups = equal_widths(compare(frame, frame), "x", 40)

        assert set(np.diff(groups.edges)) == {3.0}
        assert groups.edges[0] % 1 == 0.5
        assert group_words(groups, edge_texts(groups, is_time=False))[1] == "from 3 to below 6"
