"""Attacks on persons with several rows: a shadow model has all rows of a person, or none."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import attacks
from syntabula.attacks.baselines import Records
from syntabula.attacks.disclosure import _game
from syntabula.errors import ArgumentError
from syntabula.table.raw import RawTable
from syntabula.table.read import read

SCHEMA = st.Schema(
    {"who": st.Identifier(), "x": st.Numeric(-100.0, 100.0), "c": st.Categorical(("a", "b"))},
    unit="who",
    rows_per_unit=4,
)
N, PERSONS = 60, 15


def table() -> pd.DataFrame:
    """Draw a table of 15 persons with four rows each, those of each person alike; two rows of p3 are remote."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(PERSONS), 4)
    x = rng.normal(size=PERSONS)[who] + 0.01 * rng.normal(size=N)
    x[12:14] = 50.0, 51.0
    frame = pd.DataFrame({"who": [f"p{i}" for i in who], "x": x, "c": rng.choice(["a", "b"], N)})
    return frame.sample(frac=1, random_state=2, ignore_index=True)


@dataclass(frozen=True)
class Seen:
    """Returns what it is given, and remembers whose rows these were."""

    persons: list[list[str]] = field(default_factory=list)

    def fit(self, source: RawTable, schema: st.Schema | None = None) -> Records:
        self.persons.append([*source.columns["who"].values])
        return Records(source)


class TestMembership:
    @pytest.mark.thorough
    def test_every_second_model_has_all_rows_of_the_person_and_the_others_none(self):
        seen = Seen()
        row = int(np.flatnonzero(table()["who"] == "p7")[1])

        st.attack(table(), seen, SCHEMA, target=row, n_shadows=8, attacks=["groundhog"])

        assert [persons.count("p7") for persons in seen.persons] == [4, 0] * 4
        assert all(len({*persons} - {"p7"}) == PERSONS - 1 for persons in seen.persons)

    @pytest.mark.thorough
    def test_some_others_are_persons_with_all_of_their_rows(self):
        seen = Seen()

        st.attack(table(), seen, SCHEMA, target=0, n_records=5, n_shadows=8, attacks=["groundhog"])

        for number, persons in enumerate(seen.persons):
            assert {persons.count(person) for person in persons} == {4}
            assert len({*persons}) == (6 if number % 2 == 0 else 5)
        with pytest.raises(ArgumentError, match="more than the table's other units"):
            st.attack(table(), seen, SCHEMA, n_records=PERSONS)

    @pytest.mark.thorough
    def test_a_copy_gives_the_person_away_and_the_result_says_who_was_attacked(self):
        found = st.attack(
            table(), attacks.Self(), SCHEMA, n_shadows=40, attacks=("groundhog", "querybased", "range")
        )

        for result in found.values():
            assert result.auc == 1.0
            assert result.to_json()["unit"] == "who"
            assert "The target is all rows with one 'who'." in str(result)

    def test_the_outlier_is_far_from_the_rows_of_others_however_many_of_its_own_are_near(self):
        frame = table()
        knowledge = attacks.Knowledge(read(frame), SCHEMA)
        scores = attacks.outlier_scores(knowledge)
        x, c, who = (frame[name].to_numpy() for name in ("x", "c", "who"))
        x = (x - x.min()) / np.ptp(x)

        for row in range(N):
            others = who != who[row]
            distances = np.sqrt(((x - x[row]) ** 2 + 2 * (c != c[row])) / 2)[others]
            assert scores[row] == pytest.approx(np.sort(distances)[:5].mean(), abs=1e-6)
        assert who[scores.argmax()] == "p3"

    def test_a_table_of_one_person_is_refused(self):
        with pytest.raises(ArgumentError, match="at least one record besides the target's"):
            st.attack(table().assign(who="p"), attacks.Self(), SCHEMA)


class TestFeatures:
    def test_all_rows_of_the_target_are_asked_about_within_the_most_queries(self):
        knowledge = attacks.Knowledge(read(table()), SCHEMA, 0)
        alone = [attacks.Knowledge(read(table()), SCHEMA, int(row)) for row in knowledge.target_rows]
        asked = attacks.QueryBased()

        features = asked.features(knowledge.others, knowledge)

        assert features.size == 4 * 3
        assert all(np.array_equal(asked.features(k.others, k), features) for k in alone)
        assert attacks.QueryBased(most_queries=9).features(knowledge.others, knowledge).size == 4 * 2

    def test_the_range_is_that_of_all_rows_of_the_person(self):
        # The first two of its rows lie within the range of the others, the remote ones do not.
        inside = int(np.flatnonzero((table()["who"] == "p3") & (table()["x"] < 40))[0])
        knowledge = attacks.Knowledge(read(table()), SCHEMA, inside)

        assert attacks.ValueRange().features(knowledge.table, knowledge)[0] == 1
        assert attacks.ValueRange().features(knowledge.others, knowledge)[0] < 1


class TestDisclosure:
    def test_halves_are_of_persons(self):
        game = _game(table(), attacks.Self(), SCHEMA, 6, 1, 0)
        who = table()["who"].to_numpy()
        members = game.members()

        for person in set(who):
            assert (members[:, who == person] == members[:, who == person][:, :1]).all()
            assert members[:, who == person][:, 0].sum() == 3

    def test_a_person_discloses_what_the_most_disclosed_of_its_rows_does(self):
        given = {"n_shadows": 6, "n_draws": 1}
        rows = attacks.record_disclosures(table(), attacks.Self(), SCHEMA, **given)
        score = attacks.membership_disclosure(table(), attacks.Self(), SCHEMA, **given, baselines=False)

        persons = pd.Series(rows).groupby(table()["who"]).max()
        assert score.value == rows.max()
        assert score.facts["units"] == PERSONS
        assert score.facts["mean"] == pytest.approx(persons.mean())

    def test_the_same_row_of_two_persons_is_two_rows(self):
        twice = pd.concat([table(), table().assign(who="p" + table()["who"])], ignore_index=True)

        assert attacks.record_disclosures(twice, attacks.Self(), SCHEMA, n_shadows=4).size == 2 * N
        alike = pd.concat([table(), table()], ignore_index=True)
        assert attacks.record_disclosures(alike, attacks.Self(), SCHEMA, n_shadows=4).size == N
