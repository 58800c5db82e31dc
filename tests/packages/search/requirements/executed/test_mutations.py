"""Mutations of a definition that a test of it has to notice."""

from __future__ import annotations

import pytest

from packages.search.requirements.executed.mutations import Mutation, mutate_definition

CART = """\
class Cart:
    def __init__(self, items):
        self.items = items

    def total(self):
        \"\"\"Return the sum.\"\"\"
        return sum(self.items)


def total(items): return sum(items)


def nothing():
    pass
"""


@pytest.mark.parametrize(
    ("name", "mutation", "has", "keeps"),
    [
        ("Cart.total", "returns nothing", 1, "return sum(items)"),
        ("total", "returns nothing", 2, "self.items = items"),
        ("Cart", "raises", 2, "return sum(items)"),
        ("nothing", "raises", 0, ""),
        ("nothing", "returns nothing", 0, ""),
        ("tax", "raises", 0, ""),
    ],
)
def test_a_definition_is_mutated_and_no_other(name: str, mutation: Mutation, has: int, keeps: str) -> None:
    made = mutate_definition("cart.py", CART, name, mutation)
    assert (made is None) == (has == 0)
    if made is not None:
        assert (
            made.count("return None" if mutation == "returns nothing" else "raise NotImplementedError") == has
        )
        assert keeps in made


def test_what_cannot_be_parsed_is_left() -> None:
    assert mutate_definition("cart.py", "def total(:", "total", "raises") is None
    long = (
        f"ALL = {' + '.join(['x'] * 1_400)}\n\n\ndef total(): return 1\n"  # each term is a level of its own
    )
    assert mutate_definition("cart.py", long, "total", "raises") is None


@pytest.mark.parametrize(
    ("path", "text", "made"),
    [
        ("cart.js", "function total(a) { return a }", "function total(a) {throw new Error("),
        ("cart.ts", "const total = (a: number) => { return a }", "=> {throw new Error("),
        ("cart.ts", "class Cart { total(): number { return 1 } }", "total(): number {throw new Error("),
        ("cart.go", "package cart\n\nfunc (c Cart) total() int {\n\treturn 1\n}\n", "int {panic("),
        ("cart.rs", "fn total() -> i32 { 1 }", "i32 {panic!("),
        ("Cart.java", "class Cart { int total() { return 1; } }", "int total() {if (true) throw new"),
        ("cart.js", "const total = a => a", None),
        ("cart.rb", "def total\n  1\nend\n", None),
    ],
)
def test_other_languages_raise_first(path: str, text: str, made: str | None) -> None:
    found = mutate_definition(path, text, "total", "raises")
    assert found is None if made is None else found is not None and made in found
    assert mutate_definition(path, text, "total", "returns nothing") is None
