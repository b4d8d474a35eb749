"""Names of keys of persons are known by their words, and nothing else."""

from __future__ import annotations

from syntabula.table.key_names import (
    is_key_name,
    is_of_persons,
    keys_of_persons,
    names_persons,
    warning_of_keys,
)


def test_keys_of_persons_are_known():
    for name in [
        "patient_id",
        "PatientID",
        "source.patient id",
        "customerID",
        "Person Nr",
        "members_no",
        "IBAN",
        "payer_iban",
        "Patienten-Nr",
        "Kundennummer",
        "Konto Nr",
        "SCHÜLER_ID",
        "Assuré Numéro",
        "cliente_id",
        "staff_no",
        "STAFF_ID",
        "emp_no",
        "hhid",
        "HH_ID",
        "pat-nr",
        "USUBJID",
        "host_id",
        "SellerID",
        "defendant key",
        "SSN",
        "patient_mrn",
    ]:
        assert keys_of_persons([name]) == [name]


def test_keys_are_known_though_words_are_joined():
    keys = "id order_id customerID uuid customerid USUBJID caseid src.caseid hhid uid pid patnr pupilnr idno idcode"
    others = "paid humid covid bid aid kid grid valid lipid piano casino income population obs case year valueno 2id"
    keys += (
        " Fallnummer BELEGNUMMER belegnr kundennr matricule siren rownames row_num ssn MRN patient_mrn nino"
    )
    others += " el_nino lesson cumin postnummer Postnr gemeindenummer kommunenr plz summer"

    assert [name for name in keys.split() if not is_key_name(name)] == []
    assert [name for name in others.split() if is_key_name(name)] == []
    # Numbers of rows that pandas reads from a file it wrote with its index.
    assert is_key_name("Unnamed: 0")


def test_other_names_are_not_taken_for_them():
    for name in [
        "id",
        "loan_id",
        "order_number",
        "user",
        "patient_age",
        "idiom",
        "Rechnungsnummer",
        "kunden_alter",
        "emp_number",
        "part_no",
        "host",
        "host_count",
        "teacher_number",
        "staff",
        "",
    ]:
        assert keys_of_persons([name]) == []


def test_names_of_persons_are_known():
    for name, expected in {
        "patient": True,
        "src_Customer": True,
        "email": True,
        "E-Mail": True,
        "customer_phone": True,
        "Telefonnummer": False,
        "phone_number": True,
        "email_domain": False,
        "mailing": False,
        "patients_age": False,
        "age": False,
        "": False,
    }.items():
        assert names_persons(name) is expected


def test_numbers_are_keys_of_persons_by_a_name_of_one_word_alone():
    for name, of_text, of_number in [
        ("patient", True, True),
        ("patient_id", True, True),
        ("revenue_per_customer", True, False),
        ("income_household", True, False),
        ("age", False, False),
    ]:
        assert is_of_persons(name, is_number=False) is of_text
        assert is_of_persons(name, is_number=True) is of_number


def test_the_warning_names_the_column_and_the_remedy():
    text = warning_of_keys(["patient_id", "user_id"])

    assert "'patient_id', 'user_id'" in text
    assert "unit: patient_id" in text
    assert "rows_per_unit" in text
