from __future__ import annotations

import json

import pytest

from syntabula import Schema
from syntabula.cli.main import main


class TestSchemaCommand:
    @pytest.mark.thorough
    def test_writes_a_draft_whose_domains_are_all_observed(self, folder, run):
        ran = run("schema", "people.csv", "-o", "draft.yaml")

        assert ran.code == 0, ran.err
        drafted = Schema.from_yaml(folder / "draft.yaml")
        assert list(drafted) == ["age", "sex", "job"]
        assert set(drafted.observed_columns) == {"age", "sex", "job"}
        assert "as sensitive as the table" in ran.err

    @pytest.mark.thorough
    def test_without_a_file_the_draft_is_printed_and_can_be_read_back(self, folder, run):
        ran = run("schema", "people.csv")
        (folder / "printed.yaml").write_text(ran.out, encoding="utf-8")

        assert list(Schema.from_yaml(folder / "printed.yaml")) == ["age", "sex", "job"]

    def test_json_holds_the_schema(self, folder, run):
        facts = json.loads(run("schema", "people.csv", "--json").out)

        assert list(Schema.from_json(facts["schema"])) == ["age", "sex", "job"]

    def test_an_existing_file_is_exit_6_and_stays(self, folder, run):
        before = (folder / "schema.yaml").read_text()

        assert run("schema", "people.csv", "-o", "schema.yaml").code == 6
        assert (folder / "schema.yaml").read_text() == before

    @pytest.mark.thorough
    def test_what_a_schema_may_say_is_shown_without_a_table(self, folder, run):
        ran = run("schema", "--kinds")

        assert ran.code == 0, ran.err
        for word in ("kind: numeric", "lower (needed)", "open (if not given: false)", "others", "nullable"):
            assert word in ran.out
        lines = ran.out.splitlines()
        start = lines.index("  version: 1")
        example = "\n".join(line[2:] for line in lines[start : lines.index("", start)])
        (folder / "example.yaml").write_text(example)
        assert Schema.from_yaml("example.yaml").others == "find"
        assert run("schema", "--kinds", "--json").code == 0

    def test_another_suffix_is_exit_2(self, folder, run):
        assert run("schema", "people.csv", "-o", "schema.toml").code == 2

    def test_a_table_that_cannot_be_read_is_exit_3(self, folder, run):
        assert run("schema", "nobody.csv").code == 3


def test_a_table_in_another_encoding_is_drafted_and_drawn(tmp_path):
    table, schema, drawn = (tmp_path / name for name in ("t.csv", "s.yaml", "d.csv"))
    table.write_bytes(("größe;n\n" + "groß;1\nklein;2\n" * 30).encode("cp1252"))

    assert main(["schema", str(table), "--encoding", "cp1252", "-o", str(schema)]) == 0
    assert "encoding: cp1252" in schema.read_text(encoding="utf-8")
    synth = ["synth", str(table), "-m", "independent", "-e", "inf", "--quiet", "-o", str(drawn), "--force"]
    for options in (["--encoding", "cp1252"], ["--schema", str(schema), "--observed-domain"]):
        assert main([*synth, *options]) == 0
        assert drawn.read_text(encoding="cp1252").startswith("größe;n\n")
