"""A change of comments or layout leaves what is run as it was, in every language with a grammar; any other does not."""

from __future__ import annotations

import pytest

from packages.search.requirements.change.code_content import is_beside_code, reduce_code
from tools.code.languages import LANGUAGES

CASES: dict[str, tuple[str, str, str]] = {
    "a.py": (
        "def f():\n    'Text.'\n    return 1  # a\n",
        "# b\ndef f():\n\n    return (1)\n",
        "def f():\n    return 2\n",
    ),
    "a.js": (
        "// x\nfunction f(a) { return 'ab' }",
        'function f(a,) {\n  return "ab"; /* y */\n}\n',
        "function f(a) { return\n'ab' }",
    ),
    "a.ts": (
        "const a: number = f(1, 2); // q",
        "// z\nconst a: number = f(\n 1,\n 2,\n)\n",
        "const a: number = f(1, 3)",
    ),
    "a.tsx": ("const a = <b>hi</b>; // q", "const a = <b>hi</b>", "const a = <b>ho</b>"),
    "a.go": (
        "package a\n// f\nfunc f() int { return 1 }\n",
        "package a\n\nfunc f() int {\n\treturn 1 // one\n}\n",
        "package a\nfunc f() int { return 2 }\n",
    ),
    "a.rs": (
        "/// Text\nfn f() -> i32 { 1 }",
        "fn f() -> i32 {\n    // one\n    1\n}",
        "fn f() -> i32 { 1; }",
    ),
    "a.java": (
        "class A { /** d */ int f() { return 1; } }",
        "class A {\n int f() { // x\n return 1; } }",
        "class A { int f() { return 1 + 1; } }",
    ),
    "a.c": (
        "int f(void) { return 1; /* a */ }",
        "int f(void)\n{\n  return 1; // b\n}\n",
        "int f(void) { return '1'; }",
    ),
    "a.cpp": ("int f() { return 1; /* a */ }", "int f()\n{\n  return 1; // b\n}\n", "int f() { return 11; }"),
    "a.rb": ("def f\n  1 # a\nend\n", "# b\ndef f\n  1\nend\n", "def f\n  2\nend\n"),
    "a.cs": (
        "class A { int f() { return 1; } /* a */ }",
        "class A {\n  /// b\n  int f() { return 1; } }",
        "class A { int f() { return 2; } }",
    ),
    "a.php": (
        "<?php function f() { return 1; } // a",
        "<?php\n# b\nfunction f() {\n return 1; }",
        "<?php function f() { return 2; }",
    ),
    "a.kt": ("fun f() = 1 // a", "/** b */\nfun f() = 1", "fun f() = 2"),
    "a.swift": (
        "func f() -> Int { return 1 } // a",
        "/// b\nfunc f() -> Int {\n  return 1\n}",
        "func f() -> Int { return 2 }",
    ),
    "a.scala": (
        "object A { def f = 1 /* a */ }",
        "object A {\n  // b\n  def f = 1\n}",
        "object A { def f = 2 }",
    ),
    "a.lua": (
        "function f() return 1 end -- a",
        "-- b\nfunction f()\n  return 1\nend",
        "function f() return 2 end",
    ),
    "a.sh": ("f() { echo 1; } # a\n", "# b\nf() {\n  echo 1\n}\n", "f() { echo '1 '; }\n"),
    "a.css": ("a { color: red } /* x */", "/* y */\na {\n  color: red;\n}", "a { color: blue }"),
    "a.html": ("<p>a</p><!-- x -->", "<p>a</p>", "<p>b</p>"),
    "a.json": ('{"a": 1}', '{\n  "a": 1\n}', '{"a": 2}'),
    "tsconfig.json": ('{"a": 1} // x', '{\n  "a": 1\n}', '{"a": 2}'),
    "a.toml": ("a = 1 # x\n", "# y\na=1\n", "a = 2\n"),
    "a.yml": ("a: 1\n# x\n", "# y\n\na: 1\n", "a: 2\n"),
    "Makefile": ("# x\nall:\n\tmake b\n", "all:\n\n\tmake b\n", "all:\n\tmake c\n"),
    "a.sql": ("select 1;\n-- x\n", "select 1;\n", "select 2;\n"),
}


@pytest.mark.parametrize("path", CASES)
def test_comments_and_layout_are_no_change(path: str) -> None:
    before, same, other = CASES[path]
    assert reduce_code(path, before) == reduce_code(path, same)
    assert reduce_code(path, before) != reduce_code(path, other)


def test_every_language_with_a_grammar_has_a_case() -> None:
    for language in LANGUAGES:
        assert any(path.lower().endswith(language.suffixes) for path in CASES), language.name


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.js", "f()", "// @ts-ignore\nf()"),
        ("a.go", "package a\n", "//go:build linux\npackage a\n"),
        ("a.go", 'package a\n// int f();\nimport "C"\n', 'package a\n// int g();\nimport "C"\n'),
        ("a.js", "f('a b')", "f('ab')"),
        ("a.js", "f([1,,])", "f([1,])"),
        ("a.c", "int a = 'b';", 'int a = "b";'),
        ("a.rs", "fn f() -> A { (1,) }", "fn f() -> A { (1) }"),
        ("a.py", "x = 1", "x = 1  # type: ignore"),
        ("a.py", "def f():\n    '''\n    >>> f()\n    1\n    '''", "def f():\n    '''\n    >>> f()\n    2\n    '''"),
        ("a.py", "@app.command()\ndef f():\n    'Do.'", "@app.command()\ndef f():\n    'Do it.'"),
        ("a.py", "'Usage: a'\nprint(__doc__)", "'Usage: b'\nprint(__doc__)"),
        ("a.yml", "a: |\n  # x\n", "a: |\n  # y\n"),
        ("a.js", "f( {", "f({"),  # not parsed
    ],
)  # fmt: skip
def test_what_is_read_by_a_tool_or_run_is_a_change(path: str, before: str, after: str) -> None:
    assert reduce_code(path, before) != reduce_code(path, after)


def test_documents_are_told_from_code() -> None:
    assert all(is_beside_code(each) for each in ("CHANGELOG", "README.rst", "docs/a.md", "changes/12.txt"))
    assert not any(
        is_beside_code(each) for each in ("requirements.txt", "docs/conf.py", "news.py", "CMakeLists.txt")
    )


def test_code_of_hundreds_of_terms_is_compared_as_it_is() -> None:
    text = f"def f(x): return {' + '.join(['x'] * 1_400)}\n"
    assert reduce_code("a.py", text) == reduce_code("a.py", text)
    assert reduce_code("a.py", text) != reduce_code("a.py", text.replace("x", "y"))
