"""Public schemas of common example tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from syntabula.datasets.census import census_schema
from syntabula.datasets.registry import describe
from syntabula.datasets.simulated import LOWER, UPPER, Pattern, Shape, classes_of
from syntabula.errors import DatasetError

if TYPE_CHECKING:
    from syntabula.table.schema.schema import Schema

# In the order of the provider's description of the table.
_ADULT_CATEGORIES = {
    "workclass": (
        "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov",
        "Without-pay", "Never-worked",
    ),
    "education": (
        "Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm", "Assoc-voc", "9th",
        "7th-8th", "12th", "Masters", "1st-4th", "10th", "Doctorate", "5th-6th", "Preschool",
    ),
    "marital_status": (
        "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "occupation": (
        "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
        "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
        "Priv-house-serv", "Protective-serv", "Armed-Forces",
    ),
    "relationship": ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    "race": ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    "sex": ("Female", "Male"),
    "native_country": (
        "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany",
        "Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China", "Cuba", "Iran",
        "Honduras",
        "Philippines", "Italy", "Poland", "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France",
        "Dominican-Republic", "Laos", "Ecuador", "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala",
        "Nicaragua", "Scotland", "Thailand", "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong",
        "Holand-Netherlands",
    ),
    "income": (">50K", "<=50K"),
}  # fmt: skip
_ADULT_NULLABLE = {"workclass", "occupation", "native_country"}
_ADULT_BOUNDS = {
    "age": (17, 90),
    "fnlwgt": (10_000, 1_500_000),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}


def adult_schema() -> Schema:
    """Return the public schema of the Adult table (Becker and Kohavi, UCI Machine Learning Repository, 1996).

    The provider lists the categories. It only calls the numeric columns continuous: their lower bounds of 17 and 1
    follow from its extraction rule (older than 16, at least one hour of work), 1 to 16 are the levels of education,
    and the other bounds are widely published facts about this public table.
    """
    from syntabula.table.schema.columns import Categorical, Numeric
    from syntabula.table.schema.schema import Schema

    columns: dict[str, Categorical | Numeric] = {}
    for name in describe("adult").columns:
        if name in _ADULT_BOUNDS:
            columns[name] = Numeric(*_ADULT_BOUNDS[name], integer=True)
        else:
            columns[name] = Categorical(_ADULT_CATEGORIES[name], nullable=name in _ADULT_NULLABLE)
    return Schema(columns, label="adult")


def schema_of(name: str) -> Schema:
    """Return the public schema of a named table.

    `adult`, `census`, the controlled distributions and the points have one; the domain of the last two is part of their
    definition.

    Args:
        name: Name of the table.

    Returns:
        A schema whose domains are all public.

    Raises:
        DatasetError: If there is no such table, or no public schema of it.
    """
    describe(name)
    if name == "adult":
        return adult_schema()
    if name == "census":
        return census_schema()
    from syntabula.table.schema.columns import Categorical, Numeric
    from syntabula.table.schema.schema import Schema

    if name in {f"controlled_{shape}" for shape in get_args(Shape)}:
        return Schema({"value": Numeric(LOWER, UPPER)}, label=name)
    kinds: dict[str, Pattern] = {f"points_{kind}": kind for kind in get_args(Pattern)}
    if name in kinds:
        axis = Numeric(LOWER, UPPER)
        return Schema({"x": axis, "y": axis, "class": Categorical(classes_of(kinds[name]))}, label=name)
    raise DatasetError(
        f"there is no public schema of dataset {name!r}; draft one from the table with the command `syntabula schema` "
        "(or draft_schema), and correct its bounds from the provider's documentation"
    )
