"""Syntax errors that a change brought in."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from tools.code.languages import LANGUAGES, detect_languages, load_grammar, parse_text
from tools.code.syntax import find_new_problems, format_new_problems
from tools.code.syntax.python_syntax import LONG

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20"))


def lines(path: str, before: str | None, after: str) -> list[int]:
    return [problem.line for problem in find_new_problems(path, before, after)]


def test_a_correct_file_has_no_problems() -> None:
    assert find_new_problems("a.py", None, "x = 1\n") == []
    assert find_new_problems("a.sh", None, "for i in 1 2; do echo $i; done\n") == []


def test_python_errors_are_worded_by_the_compiler() -> None:
    assert format_new_problems("a.py", "x = 1\n", "x = (1\n") == "syntax error: a.py:1: '(' was never closed"
    assert "expected an indented block" in format_new_problems("a.py", None, "def f():\nreturn 1\n")


def test_errors_that_were_there_before_are_not_told() -> None:
    before = "def f(:\n    pass\n\nx = 1\n"
    assert lines("a.py", before, "y = 0\n" + before) == []
    assert lines("a.py", before, before + "def g(:\n    pass\n") == [5]


def test_a_doubtful_escape_is_no_error() -> None:
    assert find_new_problems("a.py", None, 'x = "\\d"\n') == []


def test_what_only_a_later_python_accepts_is_no_error() -> None:
    newer = "type Pair[T] = tuple[T, T]\n\n\ndef first[T](pair: Pair[T]) -> T:\n    return pair[0]\n"
    assert find_new_problems("a.py", "x = 1\n", newer) == []
    assert find_new_problems("a.py", "x = 1\n", 'x = f"{d["a"]}"\n') == []


CORRECT = {
    "a.js": "export const f = async (x) => {\n  return [`${x}`, /[(]/];\n};\n",
    "a.jsx": "const A = () => <p title='x'>don't</p>;\n",
    "a.ts": "export class A<T> {\n  constructor(private x: T) {}\n}\n",
    "a.tsx": "const A = (p: { x: string }) => <b>{p.x}</b>;\n",
    "a.go": "package a\n\nfunc f() string {\n\treturn `(`\n}\n",
    "a.rs": "fn f<'a>(x: &'a str) -> char {\n    '('\n}\n",
    "a.java": 'class A {\n  String x = "(";\n  void f() { }\n}\n',
    "a.c": "#define LOOP(x) for (;;) { x\nint f(void) {\n  return '(';\n}\n",
    "a.cpp": 'auto f() -> int {\n  return sizeof(R"x(()x");\n}\n',
    "a.h": "#pragma once\nnamespace a {\nclass B {\n public:\n  int f();\n};\n}\n",
    "a.rb": 'def f(x)\n  "#{x}("\nend\n',
    "a.cs": 'namespace A;\nclass B {\n  string C() => $"{1}(";\n}\n',
    "a.php": '<?php\nfunction f($x) {\n  return "{$x}(";\n}\n',
    "a.kt": 'fun f(x: Int): String {\n  return "${x}("\n}\n',
    "a.sh": "f() {\n  case $1 in a) echo $((1 + 2)) ;; esac\n}\n",
    "a.json": '{\n  "a": [1, 2]\n}\n',
    "a.css": "a {\n  color: red;\n}\n",
}
"""A correct file in each language, with brackets in strings where it has them."""


@pytest.mark.parametrize("path", CORRECT)
def test_a_bracket_that_a_change_lost_is_found_in_every_language(path: str) -> None:
    text = CORRECT[path]
    assert find_new_problems(path, None, text) == []
    last = max(text.rfind(each) for each in (")", "]", "}")) if path != "a.rb" else text.rindex("}")
    assert find_new_problems(path, text, text[:last] + text[last + 1 :]) != []
    assert find_new_problems(path, text, text) == []


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("a.js", "return"),
        ("a.go", "func"),
        ("a.rs", "fn"),
        ("a.java", "class"),
        ("a.php", "return"),
        ("a.kt", "fun"),
    ],
)
def test_what_no_bracket_shows_is_found_where_the_grammar_is_reliable(path: str, word: str) -> None:
    broken = CORRECT[path].replace(word, f"{word[0]} {word[1:]}", 1)
    assert find_new_problems(path, CORRECT[path], broken) != []


MACROS = "FMT_BEGIN_NAMESPACE\nDECLARE_THING(a, unsigned, : 4)\n\nint f(int a) {\n  return g(a);\n}\n"


def test_a_file_that_the_grammar_does_not_understand_is_not_blamed() -> None:
    assert find_new_problems("a.c", None, MACROS) == []
    assert find_new_problems("a.c", MACROS, MACROS + "OTHER_MACRO(b, signed, : 5)\n") == []
    assert find_new_problems("a.c", MACROS, "\n\n" + MACROS.replace("g(a)", "g(a, 1)")) == []


def test_brackets_are_matched_in_a_file_that_the_grammar_does_not_understand() -> None:
    problems = find_new_problems("a.c", MACROS, MACROS.replace("g(a);", "g(a;"))
    assert [(each.line, each.message) for each in problems] == [(5, "'(' is not closed before '}' in line 6")]
    assert "closes nothing" in format_new_problems("a.c", MACROS, MACROS + "}\n")
    assert "never closed" in format_new_problems("a.c", MACROS, MACROS.replace("\n}\n", "\n"))


def test_each_branch_of_a_condition_may_open_the_same_bracket() -> None:
    text = "#ifdef A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return 0;\n}\n"
    assert find_new_problems("a.c", "int f(int a) {\n  return 0;\n}\n", text) == []


def test_a_header_is_wrong_only_if_it_is_neither_c_nor_cpp() -> None:
    assert [each.name for each in detect_languages("a.h")] == ["c", "cpp"]
    assert find_new_problems("a.h", None, "template <class T> struct A { T x; };\n") == []
    assert find_new_problems("a.h", None, "template <class T> struct A { T x; ;\n") != []


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("run.sh", "if true; then\n  echo a\n", 3),
        ("package.json", '{\n  "a":\n}\n', 3),
        ("pyproject.toml", "[a]\nb = \n", 2),
    ],
)
def test_the_place_of_an_error_is_told(path: str, source: str, line: int) -> None:
    assert lines(path, None, source) == [line]


@pytest.mark.parametrize(
    "text",
    [
        "a = {\n  b = 1,\n  c = [2, 3], # a comment\n}\n",
        "a = { b = 1, }\n",
        "a = { b = {\n}, c = [{ d = 1, }, ],\n}\n[e]\nf = 1\n",
        'a = "\\e[0m\\x41"\nb = 12:30\nc = 2026-01-02 03:04\n',
    ],
)
def test_toml_1_1_is_no_error(text: str) -> None:
    assert find_new_problems("pyproject.toml", None, text) == []
    assert find_new_problems("pyproject.toml", "a = 1\n", text) == []
    number = text.count("\n") + 1
    assert lines("pyproject.toml", None, f"{text}z = \n") == [number]
    assert lines("pyproject.toml", text, f"{text}[a.b.c]\n[a.b.c]\n") != []


@pytest.mark.parametrize(
    "text", ["a = {,}\n", "a = { b = 1,, }\n", "a = {\n  b = 1\n  c = 2\n}\n", 'a = "\\q"\n']
)
def test_what_is_no_toml_of_any_version_is_an_error(text: str) -> None:
    assert find_new_problems("a.toml", None, text) != []


def test_settings_of_editors_may_have_comments_and_trailing_commas() -> None:
    assert find_new_problems("tsconfig.json", None, '{ // a comment\n  "a": [1,],\n}') == []
    assert find_new_problems("tsconfig.json", None, '{ "a": [1, }') != []


def test_unknown_languages_and_enormous_files_are_left_alone() -> None:
    assert find_new_problems("a.xyz", None, "fn f( {") == []
    assert find_new_problems("a.py", None, "(" * 3_000_000) == []


def test_a_text_that_is_nothing_but_errors_does_not_exhaust_the_stack() -> None:
    assert find_new_problems("a.js", None, "[(" * 20_000) != []


def test_every_grammar_is_installed_and_reads_an_empty_file() -> None:
    for language in LANGUAGES:
        assert load_grammar(language).node_kind_count > 0
        assert not parse_text(language, "").root_node.has_error


def test_knowing_the_languages_imports_no_grammar() -> None:
    code = (
        "import sys, tools.code.languages, tools.code.syntax, tools.code.symbols;"
        " print([m for m in sys.modules if 'tree_sitter' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_tree_after_an_edit_is_the_one_of_a_fresh_parse() -> None:
    language = detect_languages("a.go")[0]
    before = CORRECT["a.go"] * 3 + "// é\n"
    after = before.replace("func f", "func größer", 2)
    parse_text(language, before)
    edited = str(parse_text(language, after, before=before).root_node)
    assert edited == str(parse_text(language, after + "\n").root_node)


STATEMENTS = (
    "def f{n}(a, b):\n    '''What it does.'''\n    if a:\n        return [\n            a,\n        ]\n",
    "class C{n}:\n    x = '''\n    def no(self):\n'''\n\n    @property\n    def y(self):\n        return {{1: (2,)}}\n"
    "\n    async def z(self):\n        pass\n",
    "TABLE{n} = [\n    1,\n    2,\n]\n",
    "@decorated(\n    {n},\n)\ndef g{n}():\n    return f'{{1}}'\n",
    'TEXT{n} = """\ndef not_code(:\n    pass\n"""\n',
    "if TABLE{n}:\n    x = 1\nelse:\n    x = 2\n",
)
TOKENS = (
    *"()[]{}:#@\\'\"",
    '"""',
    "'''",
    "\n",
    "    ",
    "def h():\n",
    "else:\n",
    "x = 1\n",
    "\treturn\n",
    "@x\n",
)


@pytest.mark.slow
def test_in_a_long_file_the_code_around_a_change_speaks_for_the_whole() -> None:
    """Any answer that is not the compiler's own would show here: edits at random, valid ones and others."""
    drawn = random.Random(SEED)
    text = "".join(drawn.choice(STATEMENTS).format(n=n) + "\n\n" for n in range(900))
    assert len(text) > LONG
    compile(text, "a.py", "exec")
    for _ in range(15 * STRESS):
        at = drawn.randrange(len(text))
        after = text[:at] + drawn.choice(TOKENS) + text[at + drawn.choice((0, 0, 1, 4)) :]
        assert (find_new_problems("a.py", text, after) == []) == compiles(after), (
            at,
            after[at - 40 : at + 40],
        )


def compiles(text: str) -> bool:
    try:
        compile(text, "a.py", "exec", 0x400)  # to a tree, no further
    except SyntaxError:
        return False
    return True
