"""A simulated census: a table of mixed types with dependences as in real microdata, which needs no download."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.datasets.frames import Cells, check_n_rows, check_seed, make_frame

if TYPE_CHECKING:
    from syntabula.table.schema.schema import Schema

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

REGIONS = ("north", "east", "south", "west", "coast", "capital")
SEXES = ("female", "male")
EDUCATIONS = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
MARITAL_STATUSES = ("never_married", "married", "separated", "divorced", "widowed")
OCCUPATIONS = (
    "agriculture", "manufacturing", "construction", "transport", "sales", "services", "clerical",
    "health_and_education", "professional", "management",
)  # fmt: skip

MIN_AGE, MAX_AGE = 16, 95
MAX_HOUSEHOLD = 12
MAX_HOURS = 99
MAX_INCOME = 500_000.0
MAX_COMMUTE = 240.0
FIRST_INTERVIEW, LAST_INTERVIEW = dt.date(2024, 1, 1), dt.date(2024, 12, 31)
FIRST_VISIT = dt.datetime(2019, 1, 1)
LAST_VISIT = dt.datetime(2024, 12, 31, 23, 59, 59)

_REGION_SHARES = (0.12, 0.16, 0.21, 0.17, 0.14, 0.20)
# Effects of the regions: on education (in standard deviations), on log income, on the mean commute (minutes).
_REGION_EDUCATION = np.array([-0.20, -0.10, -0.25, 0.0, 0.10, 0.55])
_REGION_INCOME = np.array([-0.10, -0.05, -0.15, 0.0, 0.05, 0.30])
_REGION_COMMUTE = np.array([17.0, 21.0, 19.0, 23.0, 26.0, 38.0])
# Cuts of standard normal education into levels, and what each level adds to log income.
_EDUCATION_CUTS = np.array([-2.1, -1.3, -0.1, 0.4, 1.2, 2.2])
_EDUCATION_INCOME = np.array([-0.35, -0.20, 0.0, 0.12, 0.42, 0.62, 0.80])
_OCCUPATION_INCOME = np.array([-0.25, 0.0, 0.05, 0.0, -0.10, -0.25, -0.08, 0.05, 0.25, 0.45])
# One row for each occupation: log odds for a woman, a man, and per level of education above secondary.
_OCCUPATION_ODDS = np.array(
    [
        [-1.8, -1.0, -0.6],
        [-0.9, 0.2, -0.4],
        [-2.6, 0.1, -0.5],
        [-1.9, 0.0, -0.4],
        [0.2, 0.0, -0.1],
        [0.5, -0.3, -0.4],
        [0.5, -0.6, 0.0],
        [0.2, -1.1, 0.6],
        [-1.0, -0.8, 0.9],
        [-1.5, -1.1, 0.7],
    ]
)


def census(n_rows: int = 30_000, seed: int = 0, *, most_interviews: int = 1) -> Any:
    """Draw adults of an invented country: simulated microdata of 14 columns without anybody's data.

    The columns cover every kind that a schema knows, and depend on each other as in a real census: education
    on age and region, marital status on age, occupation on education and sex, hours and commute on work,
    income on most of them (skewed, with many exact zeros). Missing cells have a reason (no work, no answer).

    Args:
        n_rows: Number of rows.
        seed: Seed of the draw; the same arguments give the same table.
        most_interviews: How many rows a person has at most: 1 to as many, each number as often. Who a person is stays
            the same in all of them; hours, income, commute and the dates are those of the interview.

    Returns:
        A pandas frame, else polars, else pyarrow, by what is installed; `census_schema` describes it.

    Raises:
        ArgumentError: If an argument is out of range.
        MissingExtraError: If no dataframe library is installed.
    """
    return make_frame(census_cells(n_rows, seed, most_interviews))


def census_cells(n_rows: int, seed: int, most_interviews: int = 1) -> dict[str, Cells]:
    """Return the columns of `census` as plain arrays."""
    n, rng = check_n_rows(n_rows), np.random.default_rng(check_seed(seed))
    most: int = count(1, n)("most_interviews", most_interviews)
    region = rng.choice(len(REGIONS), n, p=_REGION_SHARES)
    sex = (rng.random(n) < 0.49).astype(np.int64)
    age = _age(rng, n)
    education = _education(rng, age, region)
    marital = _marital(rng, age, sex)
    household = _household(rng, age, marital)
    employed = _employed(rng, age, sex, education)
    occupation = _occupation(rng, sex, education)
    person = np.arange(n)
    if most > 1:
        person = _persons(rng, n, most)
        region, sex, age, education, marital = (a[person] for a in (region, sex, age, education, marital))
        household, employed, occupation = household[person], employed[person], occupation[person]
    hours = _hours(rng, sex, household, occupation)
    income = _income(rng, age, sex, region, education, employed, occupation, hours)
    commute, at_home = _commute(rng, region, occupation)
    interview = _interview(rng, n)
    return {
        "person_id": Cells(_identifiers(rng, n)[person]),
        "region": Cells(region, categories=REGIONS),
        "sex": Cells(sex, categories=SEXES),
        "age": Cells(age),
        "education": Cells(education, categories=EDUCATIONS, ordered=True),
        "marital_status": Cells(marital, categories=MARITAL_STATUSES),
        "household_size": Cells(household),
        "employed": Cells(employed),
        "occupation": Cells(occupation, ~employed, OCCUPATIONS),
        "hours_per_week": Cells(hours, ~employed | (rng.random(n) < 0.02)),
        "income": Cells(income, rng.random(n) < 0.04),
        "commute_minutes": Cells(commute, ~employed | at_home),
        "interview_date": Cells(interview),
        "last_visit": Cells(_last_visit(rng, interview, age), rng.random(n) < 0.06),
    }


def census_schema() -> Schema:
    """Return the public schema of `census`; the simulation sets its bounds, so they are not taken from a table."""
    from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Identifier, Numeric
    from syntabula.table.schema.schema import Schema

    return Schema(
        {
            "person_id": Identifier(prefix="P", width=7),
            "region": Categorical(REGIONS),
            "sex": Categorical(SEXES),
            "age": Numeric(MIN_AGE, MAX_AGE, integer=True),
            "education": Categorical(EDUCATIONS),
            "marital_status": Categorical(MARITAL_STATUSES),
            "household_size": Numeric(1, MAX_HOUSEHOLD, integer=True),
            "employed": Boolean(),
            "occupation": Categorical(OCCUPATIONS, nullable=True),
            "hours_per_week": Numeric(1, MAX_HOURS, integer=True, nullable=True),
            "income": Numeric(0.0, MAX_INCOME, decimals=2, nullable=True),
            "commute_minutes": Numeric(0.0, MAX_COMMUTE, nullable=True),
            "interview_date": Date(FIRST_INTERVIEW, LAST_INTERVIEW),
            "last_visit": Datetime(FIRST_VISIT, LAST_VISIT, resolution="second", nullable=True),
        },
        label="simulated census",
    )


def _persons(rng: np.random.Generator, n: int, most: int) -> Ints:
    """Draw for each row the position of its person; who has been drawn for no row is left out of the table."""
    return np.repeat(np.arange(n), rng.integers(1, most + 1, n))[:n]


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _choose(rng: np.random.Generator, weights: Floats) -> Ints:
    """Draw one position per row of non-negative weights, shape (rows, positions)."""
    heights = np.cumsum(weights, axis=1)
    drawn = rng.random(len(weights)) * heights[:, -1]
    return np.asarray(np.minimum((heights <= drawn[:, None]).sum(axis=1), weights.shape[1] - 1))


def _age(rng: np.random.Generator, n: int) -> Ints:
    ages = np.arange(MIN_AGE, MAX_AGE + 1)
    # Uniform up to 60, then declining.
    weights = 1.0 / (1.0 + np.exp((ages - 76) / 6.0))
    return rng.choice(ages, n, p=weights / weights.sum())


def _education(rng: np.random.Generator, age: Ints, region: Ints) -> Ints:
    latent = rng.standard_normal(age.size) + _REGION_EDUCATION[region] + 0.012 * (48 - age)
    level = np.searchsorted(_EDUCATION_CUTS, latent)
    # Nobody finishes before the usual age.
    highest = np.select([age < 18, age < 21, age < 23, age < 27], [2, 3, 4, 5], 6)
    return np.asarray(np.minimum(level, highest))


def _marital(rng: np.random.Generator, age: Ints, sex: Ints) -> Ints:
    ever = np.where(age < 18, 0.0, 0.94 * _logistic((age - 29) / 4.5))
    widowed = ever * _logistic((age - np.where(sex == 0, 80.0, 87.0)) / 6.0)
    parted = (ever - widowed) * 0.24 * _logistic((age - 38) / 8.0)
    married = ever - widowed - parted
    return _choose(rng, np.column_stack([1 - ever, married, 0.18 * parted, 0.82 * parted, widowed]))


def _household(rng: np.random.Generator, age: Ints, marital: Ints) -> Ints:
    married = marital == 1
    with_parents = (marital == 0) & (age < 28)
    children = 1.5 * np.exp(-(((age - 39) / 13.0) ** 2))
    mean = np.select([married, with_parents], [0.15 + children, 1.6], 0.25 + 0.3 * children)
    least = np.select([married, with_parents], [2, 2], 1)
    return np.minimum(least + rng.poisson(mean), MAX_HOUSEHOLD)


def _employed(rng: np.random.Generator, age: Ints, sex: Ints, education: Ints) -> Bools:
    odds = 1.3 + 0.35 * (education - 2) + 0.35 * sex - ((age - 42) / 13.5) ** 2
    return rng.random(age.size) < np.where(age >= 80, 0.01, _logistic(odds - 2.5 * (age > 66)))


def _occupation(rng: np.random.Generator, sex: Ints, education: Ints) -> Ints:
    odds = _OCCUPATION_ODDS[:, sex].T + np.outer(education - 2, _OCCUPATION_ODDS[:, 2])
    return _choose(rng, np.exp(odds))


def _hours(rng: np.random.Generator, sex: Ints, household: Ints, occupation: Ints) -> Ints:
    part_time = rng.random(sex.size) < np.where(sex == 0, 0.22 + 0.04 * (household > 2), 0.09)
    usual = rng.random(sex.size) < 0.5
    long_hours = 3.0 * np.isin(occupation, (0, 9))
    full = np.where(usual, 40.0, rng.normal(41.5 + long_hours, 6.5))
    hours = np.where(part_time, rng.normal(21.0, 6.0, sex.size), full)
    return np.clip(np.rint(hours), 1, MAX_HOURS).astype(np.int64)


def _income(
    rng: np.random.Generator,
    age: Ints,
    sex: Ints,
    region: Ints,
    education: Ints,
    employed: Bools,
    occupation: Ints,
    hours: Ints,
) -> Floats:
    """Draw yearly income to two decimals: wages of those who work, pensions and benefits, exact zeros."""
    n = age.size
    wage = (
        10.25 + _EDUCATION_INCOME[education] + _OCCUPATION_INCOME[occupation] + _REGION_INCOME[region]
        + 0.8 * np.log(hours / 40.0) + 0.10 * sex - 0.0004 * (age - 52.0) ** 2
    )  # fmt: skip
    pension = 9.65 + 0.6 * _EDUCATION_INCOME[education] + 0.5 * _REGION_INCOME[region]
    other = np.where(age >= 65, pension, 8.6)
    spread = np.where(employed, 0.45, np.where(age >= 65, 0.35, 0.8))
    income = np.exp(np.where(employed, wage, other) + spread * rng.standard_normal(n))
    nothing = rng.random(n) < np.where(employed, 0.005, np.where(age >= 65, 0.04, 0.55))
    return np.where(nothing, 0.0, np.round(np.minimum(income, MAX_INCOME), 2))


def _commute(rng: np.random.Generator, region: Ints, occupation: Ints) -> tuple[Floats, Bools]:
    """Draw minutes of commute, and who works at home (more often in agriculture and desk work)."""
    at_home = rng.random(region.size) < np.where(np.isin(occupation, (0, 6, 8, 9)), 0.22, 0.04)
    minutes = rng.gamma(2.2, _REGION_COMMUTE[region] / 2.2)
    return np.minimum(minutes, MAX_COMMUTE), at_home


def _interview(rng: np.random.Generator, n: int) -> NDArray[np.datetime64]:
    first, last = np.datetime64(FIRST_INTERVIEW, "D"), np.datetime64(LAST_INTERVIEW, "D")
    days = np.arange(first, last + 1)
    # 1970-01-01 was a Thursday; few interviews are held on weekends.
    weekday = (days.astype(np.int64) + 3) % 7
    weights = np.where(weekday >= 5, 0.2, 1.0)
    return np.asarray(rng.choice(days, n, p=weights / weights.sum()))


def _last_visit(
    rng: np.random.Generator, interview: NDArray[np.datetime64], age: Ints
) -> NDArray[np.datetime64]:
    """Draw the last visit to a doctor: during the day, before the interview, and more recent for older people."""
    n = interview.size
    mean_days = np.interp(age, [MIN_AGE, 40, MAX_AGE], [320.0, 240.0, 45.0])
    days_ago = 1 + np.floor(rng.exponential(mean_days)).astype(np.int64)
    second = np.clip(rng.normal(12.5, 2.6, n) * 3600, 7 * 3600, 20 * 3600 - 1).astype(np.int64)
    visit = (interview - days_ago).astype("datetime64[us]") + second * np.timedelta64(1_000_000, "us")
    return np.asarray(np.maximum(visit, np.datetime64(FIRST_VISIT, "us")))


def _identifiers(rng: np.random.Generator, n: int) -> NDArray[Any]:
    numbers = rng.permutation(n) + 1
    return np.array([f"P{number:07d}" for number in numbers.tolist()], dtype=object)
