"""New text in the place of a definition."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.tools.code.symbols.test_definitions import SOURCES
from tools.code.symbols import Definition, build_replacement, find_symbol, list_definitions


def replaced(path: str, text: str, name: str, new: str) -> str:
    first, last, lines = build_replacement(text, find_symbol(path, text, name), new)
    before = text.split("\n")
    return "\n".join([*before[: first - 1], *lines.split("\n"), *before[last:]])


CART = """\
class Cart:
    # What it costs.
    @property
    @cached
    def total(self):
        return 1

    def clear(self):
        pass
"""


@pytest.mark.parametrize("margin", ["", "    ", "        ", "  "])
def test_new_text_comes_to_the_depth_of_the_old(margin: str) -> None:
    new = indent("def clear(self):\n    if self:\n\n        return 2\n", margin)
    expected = CART.replace("        pass\n", "        if self:\n\n            return 2\n")
    assert replaced("a.py", CART, "clear", new) == expected


def test_a_first_line_that_lost_its_indentation_gets_it_back() -> None:
    expected = CART.replace("        pass\n", "        return 2\n")
    assert replaced("a.py", CART, "clear", "def clear(self):\n        return 2\n") == expected
    js = "class A {\n  f() {\n    a();\n  }\n}\n"
    assert replaced("a.js", js, "f", "f() {\n    b();\n  }") == js.replace("a()", "b()")
    decorated = "@property\n    def total(self):\n        return 2"
    assert "    @property\n    def total(self):\n        return 2\n" in replaced(
        "a.py", CART, "total", decorated
    )


def test_decorators_that_the_new_text_leaves_out_stay() -> None:
    expected = CART.replace("return 1", "return 2")
    assert replaced("a.py", CART, "total", "def total(self):\n    return 2") == expected


def test_decorators_of_the_new_text_replace_those_of_the_old() -> None:
    new = "@other\ndef total(self):\n    return 2"
    expected = CART.replace("    @property\n    @cached\n", "    @other\n").replace("return 1", "return 2")
    assert replaced("a.py", CART, "total", new) == expected


def test_the_comment_above_is_replaced_only_by_another_one() -> None:
    with_comment = "# Its price.\ndef total(self):\n    return 2"
    expected = CART.replace("# What it costs.", "# Its price.").replace("return 1", "return 2")
    assert replaced("a.py", CART, "total", with_comment) == expected
    rust = "/// Old.\n#[inline]\nfn f() {\n    a();\n}\n"
    new = "/// New.\nfn f() {\n    b();\n}"
    assert replaced("a.rs", rust, "f", new) == "/// New.\n#[inline]\nfn f() {\n    b();\n}\n"
    assert replaced("a.rs", rust, "f", "#[cold]\nfn f() {}") == "/// Old.\n#[cold]\nfn f() {}\n"


def test_an_annotation_type_has_no_annotation_of_its_own() -> None:
    java = "@Retention(CLASS)\n@interface Mark {\n}\n"
    assert replaced("A.java", java, "Mark", "@interface Mark { int x(); }").startswith(
        "@Retention(CLASS)\n@interface"
    )


def test_spaces_become_the_tabs_of_the_file_and_tabs_its_spaces() -> None:
    go = "package a\n\nfunc f() {\n\tif a {\n\t\tb()\n\t}\n}\n"
    new = "func f() {\n    if a {\n        c()\n    }\n}\n"
    assert replaced("a.go", go, "f", new) == go.replace("b()", "c()")
    new = "def clear(self):\n\tif self:\n\t\treturn 2"
    expected = CART.replace("        pass\n", "        if self:\n            return 2\n")
    assert replaced("a.py", CART, "clear", new) == expected


def test_lines_inside_of_a_string_are_content() -> None:
    text = 'class A:\n    def f(self):\n        return """\nselect 1\n  from x\n"""\n'
    new = 'def f(self):\n    return 1, """\nselect 1\n  from x\n"""\n'
    assert replaced("a.py", text, "f", new) == text.replace('return """', 'return 1, """')


def test_a_docstring_moves_with_its_function() -> None:
    new = 'def clear(self):\n    """Empty it.\n\n    Wholly.\n    """\n'
    assert '        """Empty it.\n\n        Wholly.\n        """\n' in replaced("a.py", CART, "clear", new)


def test_the_preprocessor_stays_at_the_margin() -> None:
    text = "class A {\n  int f() {\n    return 1;\n  }\n};\n"
    new = "int f() {\n#ifdef B\n  return 2;\n#endif\n}"
    assert (
        replaced("a.cpp", text, "f", new)
        == "class A {\n  int f() {\n#ifdef B\n    return 2;\n#endif\n  }\n};\n"
    )


@pytest.mark.parametrize(
    ("path", "text", "name", "new", "result"),
    [
        ("a.c", "struct s {\n  int a;\n};\n", "s", "struct s {\n  int b;\n}", "struct s {\n  int b;\n};\n"),
        ("a.c", "struct s {\n  int a;\n};\n", "s", "struct s {\n  int b;\n};", "struct s {\n  int b;\n};\n"),
        ("a.js", "x = {\n};\nconst o = {\n  f: () => 1,\n  g: 2,\n};\n", "o.f", "f: () => 3",
         "x = {\n};\nconst o = {\n  f: () => 3,\n  g: 2,\n};\n"),
        ("a.js", "function f() {\n}  // f\n", "f", "function f() {\n  a();\n}", "function f() {\n  a();\n}  // f\n"),
    ],
)  # fmt: skip
def test_what_stands_behind_a_definition_stays(
    path: str, text: str, name: str, new: str, result: str
) -> None:
    assert replaced(path, text, name, new) == result


def test_another_name_is_a_renaming() -> None:
    assert "    def empty(self):\n        pass\n" in replaced(
        "a.py", CART, "clear", "def empty(self):\n    pass"
    )


def test_more_than_the_definition_may_be_given() -> None:
    new = "def clear(self):\n    self.more()\n\ndef more(self):\n    pass\n"
    assert [each.name for each in list_definitions("a.py", replaced("a.py", CART, "clear", new))] == [
        "Cart", "Cart.total", "Cart.clear", "Cart.more",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("return 2", "defines nothing that could be parsed"),
        ("  \n", "is empty: to remove it, delete its lines"),
        ("def a(self): pass\ndef b(self): pass", r"defines Cart\.a, Cart\.b: give the whole method"),
    ],
)
def test_text_that_does_not_define_the_symbol_is_refused(new: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        replaced("a.py", CART, "clear", new)


def test_a_definition_that_shares_its_line_is_refused() -> None:
    with pytest.raises(ValueError, match="shares a line with other code"):
        replaced("a.js", "class A { f() {} g() {} }\n", "A.f", "f() { return 1; }")


@pytest.mark.parametrize("path", SOURCES)
def test_a_definition_replaced_by_itself_changes_nothing(path: str) -> None:
    """From whichever line the text begins, and at whichever depth it is given."""
    text = dedent(SOURCES[path][0])
    lines = text.split("\n")
    tried = 0
    for each in list_definitions(path, text):
        if each.lead or len(each.tail) > 1:
            continue
        for first in {each.head_first, each.first, each.own_first}:
            body = "\n".join(lines[first - 1 : each.last])
            for new in (body, dedent(body), indent(dedent(body), "   ")):
                assert same(lines, each, new), new
                tried += 1
    assert tried


def same(lines: list[str], definition: Definition, new: str) -> bool:
    first, last, result = build_replacement("\n".join(lines), definition, new)
    return [*lines[: first - 1], *result.split("\n"), *lines[last:]] == lines
