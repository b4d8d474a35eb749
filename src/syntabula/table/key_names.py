"""Names that keys of records have, and those of persons, so that a user is told of units before they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from syntabula.table.schema.schema import columns_listed

_WORD = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|nr|nbr|no|number|nummer|index)$", re.IGNORECASE)
# German and its neighbours write such names in one word. Numbers of places are no keys of records.
_ONE_WORD = re.compile(
    r"(?<!^post)(?<!^gemeinde)(?<!^kommune)(?<=[a-zß-ÿ]{3})(nummer|nr)$|^(numéro|matricule|siren|siret)$",
    re.IGNORECASE,
)
# Numbers of persons, of firms and of telephones; hardly any other column has such a name.
_NUMBERED = "bsn|cnpj|cpf|iban|iccid|imei|imsi|mrn|msisdn|(?<!el_)nino|pesel|ssn"
_NUMBERS = re.compile(rf"(^|[_\W])({_NUMBERED})$", re.IGNORECASE)
# What pandas and R call the numbers of rows that a file got for its index.
_OF_ROWS = re.compile(r"Unnamed: [0-9]+|row_?(names|num)", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z](Id|ID|Key|Number|Nr|Uuid|UUID)$")
_PERSONS = (
    "account|beneficiary|borrower|cardholder|citizen|client|customer|driver|employee|guest|household|individual|"
    "insured|member|owner|participant|passenger|patient|person|policyholder|pupil|respondent|staff|student|subject|"
    "subscriber|tenant|user|visitor|voter|worker"
)
# Short forms name keys before these words alone: emp_number may be how many there are.
_SHORT_KEY = "(cust|emp|hh|pat|pers|stud|u?subj)s?[_\\W]?(id|ids|uuid|guid|key|nr|no)"
# The same in German, French, Spanish and Italian, where they differ; keys are written in one word in German.
_ABROAD = (
    "patienten|kunden?|versicherten?|mitglieds?|mitarbeiter|personal|konto|fahrer|mieter|sch(ü|ue)ler|"
    "assur(é|e)|adh(é|e)rent|abonn(é|e)|salari(é|e)|(é|e)l(è|e)ve|"
    "paciente|cliente|socio|empleado|alumno|paziente|dipendente"
)
# Many of these are also offices, machines or places, of which other columns hold how many there are.
_PERSONS_BY_ID = (
    "(applicant|buyer|candidate|claimant|debtor|defendant|doctor|donor|host|inmate|landlord|nurse|offender|physician|"
    "prisoner|resident|reviewer|seller|taxpayer|teacher|victim)s?[_\\W]?(id|ids|uuid|guid|key|nr)"
)
_KEYS = "id|ids|uuid|guid|key|nr|no|num|number|code|nummer|num(é|e)ro"
_KEY_OF_PERSON = re.compile(
    rf"({_PERSONS}|{_ABROAD})s?[_\W]?({_KEYS})|{_SHORT_KEY}|{_PERSONS_BY_ID}|(.+_)?({_NUMBERED})",
    re.IGNORECASE,
)
# Databases that know no capitals join words. Only these count before such endings: paid, humid and piano are no keys.
_THINGS = (
    "case|cust|device|doc|emp|event|file|hh|invoice|item|obs|order|p|pat|product|pt|rec|record|resp|row|sample|sch|"
    "school|session|stud|subj|trans|transaction|u|usubj"
)
_JOINED = re.compile(
    rf"(^|[_\W])(({_PERSONS}|{_THINGS})s?(id|ids|key|nr|nbr|no|number)|id(no|nr|num|number|code|case))$",
    re.IGNORECASE,
)
# Where to reach persons. Such a column may also hold yes and no, so that the name alone says nothing.
_CONTACTS = (
    "(e_?)?mail(_address|_adresse)?|(tele)?(phone|fon|fax)(_(no|nr|number|nummer))?|mobile|handy|"
    "t(é|e)l(é|e)phone|tel(é|e)fono|courriel|correo"
)
_PERSON = re.compile(rf"(.+_)?({_PERSONS}|{_CONTACTS})", re.IGNORECASE)

REMEDY = (
    "if it names a person who may have several rows, declare it {{kind: identifier}} in a schema and write "
    "`unit: {name}` and `rows_per_unit:` with the most rows of a person to use; then all rows of a person are protected "
    "together, where otherwise each row is protected alone"
)


def is_key_name(name: str) -> bool:
    """Return whether a column's name, which is public, is one that keys have: id, order_id, customerID or Fallnummer."""
    found = (pattern.search(name) for pattern in (_WORD, _CAMEL, _JOINED, _ONE_WORD, _NUMBERS))
    return any(found) or bool(_OF_ROWS.fullmatch(name))


def keys_of_persons(names: Iterable[str]) -> list[str]:
    """Return the names that look like those of keys of persons; nothing but the names decides."""
    return [name for name in names if _KEY_OF_PERSON.fullmatch(_ending(name))]


def names_persons(name: str) -> bool:
    """Return whether a name is that of persons, such as patient, or of where they are reached, such as email.

    Whether the column holds their keys remains open.
    """
    return bool(_PERSON.fullmatch(_ending(name)))


def is_of_persons(name: str, *, is_number: bool) -> bool:
    """Return whether a name is that of persons or of their keys.

    Args:
        name: Name of a column.
        is_number: Whether it holds numbers: more than one word then mostly names amounts, as revenue_per_customer does.
    """
    if keys_of_persons([name]):
        return True
    return bool(_PERSON.fullmatch(name)) and "_" not in name if is_number else names_persons(name)


def warning_of_keys(names: list[str]) -> str:
    """Return a warning that some columns may be keys of persons with several rows."""
    return f"{columns_listed(names)}: {REMEDY.format(name=names[0])}. To end this warning, declare it"


def warning_of_real_keys(names: list[str]) -> str:
    """Return a warning that values which may be keys of persons come out as they are."""
    return (
        f"{columns_listed(names)}: named after persons, or where they are reached, and without privacy all values that "
        "repeat are categories, so the real ones come out; if they name persons, declare {kind: identifier}, with a "
        "`pattern` for keys in their own form"
    )


def _ending(name: str) -> str:
    """Return the last two words of a name, such as patient_id of "src.patient_id" and "sourcePatientId"."""
    words = re.findall(r"[A-ZÀ-Þ]?[a-zß-ÿ]+|[A-ZÀ-Þ]+(?![a-zß-ÿ])|[0-9]+", name)
    return "_".join(words[-2:])
