"""Values beyond privately found bounds of columns whose whole numbers have codes of their own come out as a tail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.prepare.bounds import FoundBounds
from syntabula.synthesizers import beyond_bounds
from syntabula.synthesizers.beyond_bounds import with_room_beyond
from syntabula.table.raw import PhysicalType

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")

N = 40_000


def visits() -> pd.DataFrame:
    """Return numbers of visits that become rarer by a fifth from each to the next; one in 200 has more than 23."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"visits": rng.geometric(0.2, N), "sort": rng.choice(["a", "b"], N)})


def spike(values: pd.Series) -> float:
    """Return the largest share of a value from 10 on that exceeds those of the three before it 1.5 times; 0 for none."""
    shares = np.bincount(values, minlength=100) / len(values)
    spikes = [shares[v] for v in range(10, 100) if shares[v] > 1.5 * shares[v - 3 : v].max()]
    return max(spikes, default=0.0)


def test_what_was_moved_to_a_bound_is_drawn_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = visits()
    new, old = [], []
    for seed in range(4):
        drawn = st.Independent(epsilon=1.0, seed=seed).fit(real).sample(N, seed=seed)["visits"]
        new.append((spike(drawn), abs(drawn.std() - real["visits"].std())))
    monkeypatch.setattr(beyond_bounds, "with_room_beyond", lambda codec, *_: codec)
    for seed in range(4):
        drawn = st.Independent(epsilon=1.0, seed=seed).fit(real).sample(N, seed=seed)["visits"]
        old.append((spike(drawn), abs(drawn.std() - real["visits"].std())))

    assert max(height for height, _ in old) > 0.003
    # Of 40,000 rows, noise and the draw of the last values have a standard deviation of a few rows each, or .0002.
    assert max(height for height, _ in new) < 0.0015
    assert np.mean([error for _, error in new]) < np.mean([error for _, error in old])


def test_a_limit_that_many_records_have_stays_the_last_value() -> None:
    real = visits()
    real["visits"] = real["visits"].clip(upper=15)

    for seed in range(4):
        release = st.Independent(epsilon=1.0, seed=seed).fit(real)

        drawn = release.sample(N, seed=seed)["visits"]
        assert release.schema["visits"].upper <= 16
        # Some 1,750 rows: noise and the draw have a standard deviation of .0011 together.
        assert (drawn == 15).mean() == pytest.approx((real["visits"] == 15).mean(), abs=0.008)


def test_values_stay_within_what_their_type_holds() -> None:
    frame = visits()
    frame["visits"] = frame["visits"].clip(upper=23) + 100
    schema = st.Schema({"visits": st.Numeric(101, 123, integer=True), "sort": st.Categorical(["a", "b"])})
    release = st.Independent(epsilon=10.0, seed=0).fit(frame, schema)
    found = {"visits": FoundBounds(101, 123, False, beyond_at_most=0.02)}

    uppers = []
    for stored in ("int8", "int64"):
        types = {"visits": PhysicalType("integer", stored)}
        codec = with_room_beyond(release.codec, release.model, found, types)
        uppers.append(codec.schema["visits"].upper)
        assert codec.domain == release.codec.domain

    assert uppers[0] == 127 < uppers[1] < 150


class TestRoom:
    @pytest.mark.parametrize(
        ("held", "moved", "room"),
        [
            ([200.0, 60.0, 40.0, 30.0, 240.0], 300.0, 15),
            # More than may lie beyond: a limit.
            ([200.0, 60.0, 40.0, 30.0, 600.0], 300.0, 0),
            # No more than the values before it.
            ([200.0, 60.0, 40.0, 30.0, 80.0], 300.0, 0),
            # Noise hides the values before it.
            ([200.0, 0.0, 0.0, 0.0, 80.0], 300.0, 0),
        ],
    )
    def test_a_frequent_bound_gets_it_if_that_many_values_may_lie_beyond(
        self, held: list[float], moved: float, room: int
    ) -> None:
        assert beyond_bounds._room(np.array(held), moved) == room


def test_without_found_bounds_nothing_changes() -> None:
    release = st.Independent(epsilon=1.0, seed=0).fit(
        visits(), st.Schema({"visits": st.Numeric(1, 23, integer=True)}, others="find")
    )

    assert release.schema["visits"].upper == 23
    assert with_room_beyond(release.codec, release.model, {}, {}) is release.codec
