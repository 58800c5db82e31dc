"""Finding one symbol by name."""

from __future__ import annotations

import pytest

from tools.code.symbols import SymbolAmbiguous, SymbolNotFound, find_symbol

SHOP = """\
class Cart:
    def total(self):
        return 1

    def clear(self):
        pass


class Order:
    def total(self):
        return 2


def main():
    pass
"""


@pytest.mark.parametrize(
    "name",
    ["Cart.clear", "clear", "Cart::clear", "Cart#clear", "clear()", "Cart.clear(self)", "def clear", "core.Cart.clear",
     "shop.core.Cart.clear", "src/shop/core.Cart.clear", ],
)  # fmt: skip
def test_a_symbol_is_found_by_any_of_its_names(name: str) -> None:
    assert find_symbol("src/shop/core.py", SHOP, name).name == "Cart.clear"


def test_a_module_in_front_must_be_the_file() -> None:
    with pytest.raises(SymbolNotFound):
        find_symbol("src/shop/core.py", SHOP, "other.Cart.clear")
    assert find_symbol("src/shop/__init__.py", SHOP, "shop.Cart.clear").first == 5
    java = "package org.shop;\nclass Cart {\n  void f() {}\n}\n"
    assert find_symbol("Cart.java", java, "org.shop.Cart.f").first == 3


def test_two_of_a_name_are_listed() -> None:
    with pytest.raises(SymbolAmbiguous) as refusal:
        find_symbol("shop.py", SHOP, "total")
    assert str(refusal.value) == (
        "'total' is defined 2 times in shop.py:\n"
        "  2–3: def total(self):  (method Cart.total)\n"
        "  10–11: def total(self):  (method Order.total)\n"
        "Give its qualified name."
    )


def test_a_top_level_name_is_the_whole_name() -> None:
    text = "def total(): pass\n\n\nclass A:\n    def total(self): pass\n"
    assert find_symbol("a.py", text, "total").first == 1


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        (
            "a.py",
            "class A:\n    @property\n    def x(self): pass\n\n    @x.setter\n    def x(self, v): pass\n",
            "A.x",
        ),
        ("a.py", "if a:\n    def f(): pass\nelse:\n    def f(): pass\n", "f"),
        ("a.py", "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): pass\n", "f"),
        ("A.java", "class A {\n  void f() {}\n  void f(int x) {}\n}\n", "A.f"),
        ("a.ts", "function f(a: string): void;\nfunction f(a: any) {}\n", "f"),
        ("a.rs", "impl A for S {\n  fn f() {}\n}\nimpl B for S {\n  fn f() {}\n}\n", "S::f"),
    ],
)
def test_what_is_defined_more_than_once_is_ambiguous(path: str, text: str, name: str) -> None:
    with pytest.raises(SymbolAmbiguous, match="Give the lines of the one that is meant"):
        find_symbol(path, text, name)


def test_the_nearest_names_are_told() -> None:
    with pytest.raises(SymbolNotFound) as refusal:
        find_symbol("shop.py", SHOP, "Cart.totl")
    assert str(refusal.value).startswith("no 'Cart.totl' in shop.py. Nearest: Cart.total (2–3)")
    with pytest.raises(SymbolNotFound, match=r"Nearest: Cart\.clear \(5–6\)"):
        find_symbol("shop.py", SHOP, "Basket.clear")
    with pytest.raises(SymbolNotFound, match=r"It defines Cart \(1–6\), Cart\.total \(2–3\)"):
        find_symbol("shop.py", SHOP, "zzzz")


def test_a_file_without_definitions_says_so() -> None:
    with pytest.raises(SymbolNotFound, match=r"no definitions were found in notes\.txt"):
        find_symbol("notes.txt", "def f(): pass", "f")


@pytest.mark.parametrize(
    ("path", "text", "name", "line"),
    [
        ("a.cpp", "namespace n {\nint A<int>::f() { return 1; }\n}\n", "A::f", 2),
        ("a.cpp", "bool A::operator==(const A& o) {\n  return 1;\n}\n", "A::operator==", 1),
        ("a.js", "class A {\n  #f() {}\n}\n", "A.#f", 2),
        ("a.go", "package a\n\nfunc (c *Cart) Total() {}\n", "(*Cart).Total", 3),
        ("a.rb", "class A\n  def ok?; end\nend\n", "A#ok?", 2),
        ("a.rs", "impl<T> A<T> {\n  fn f() {}\n}\n", "A<T>::f", 2),
    ],
)
def test_names_as_each_language_writes_them(path: str, text: str, name: str, line: int) -> None:
    assert find_symbol(path, text, name).first == line
