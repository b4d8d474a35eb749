"""Texts as tokens: clauses, trees of what can follow, and values that cannot be told apart."""

from __future__ import annotations

import pytest

from syntabula.record_models.token_texts import TokenTexts


def tokens(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def texts(**columns: list[str]) -> TokenTexts:
    return TokenTexts.of([0], columns, tokens)


def test_each_way_down_a_tree_is_the_text_of_its_code() -> None:
    made = texts(age=["1", "12", "3"], sex=["f"])

    for tree, values in zip(made.trees, made.values, strict=True):
        found = {}
        ways = [(0, ())]
        while ways:
            node, written = ways.pop()
            if node < 0:
                found[-1 - node] = written
                continue
            for place, after in zip(*tree[node], strict=True):
                ways.append((int(after), (*written, int(made.vocabulary[place]))))
        assert found == dict(enumerate(values))


def test_a_clause_is_the_name_and_the_value() -> None:
    made = texts(age=["1", "12"], sex=["f"])

    table, is_value, starts = made.clauses

    assert ["".join(map(chr, row[row >= 0])) for row in table] == [" age is 1,", " age is 12,", " sex is f,"]
    assert ["".join(map(chr, row[told])) for row, told in zip(table, is_value, strict=True)] == [
        " 1,",
        " 12,",
        " f,",
    ]
    assert starts.tolist() == [0, 2]
    assert made.longest == 1 + len(" age is 12, sex is f,")
    assert made.vocabulary.tolist() == sorted(map(ord, " ,12f"))


def test_positions_stand_for_values_that_cannot_be_told_apart() -> None:
    for column in [["a", "a,b"], ["a", "b", "a"]]:
        made = texts(kind=column)

        assert made.values[0] == tuple(tuple(tokens(f" {i},")) for i in range(len(column)))
        made.check([len(column)])


def test_what_a_file_may_not_hold_is_refused() -> None:
    good = texts(age=["1", "2"])
    good.check([2])
    wrong = [
        TokenTexts((), good.prefixes, good.values),
        TokenTexts((0,), ((),), good.values),
        TokenTexts((0,), good.prefixes, (((1,), (1, 2)),)),
        TokenTexts((0,), good.prefixes, (((-1,), (2,)),)),
        TokenTexts((0,), good.prefixes, (((1,),),)),
    ]

    for made in wrong:
        with pytest.raises(ValueError):
            made.check([2])
