"""The project's own compiler decides what a grammar alone does not know."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.backends.selection import choose_sandbox
from sandbox.backends.unconfined import Unconfined
from sandbox.process.command import Sandbox
from tests.support.confined import needs_confinement
from tests.tools.workspaces import call, refused, workspace
from tools.code.syntax import find_certain_problems
from tools.code.syntax.compilers import Compilers
from tools.core.tool_settings import EditSettings, ToolSettings
from tools.edit.edit_tools import edit
from tools.fs.file_tools import write


def refuse_sandbox() -> Sandbox:
    raise AssertionError("a compiler was asked")


def build_compilers(root: Path, create: Callable[[], Sandbox] | None = None) -> Compilers:
    return Compilers(root, create or (lambda: choose_sandbox(root, cache=root.parent / "cache")))


def needs(program: str, root: Path) -> None:
    needs_confinement(root)
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@pytest.fixture(autouse=True)
def no_active_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def add_interpreter(root: Path, target: str = sys.executable) -> None:
    """Give a project an interpreter of its own."""
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(os.path.realpath(target))


def add_script(root: Path, text: str) -> None:
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").write_text(f"#!/bin/sh\n{text}\n")
    (root / ".venv/bin/python").chmod(0o755)


WRONG = (
    ("node", "a.js", "let x = 1;\n", "let x = 1;\nlet y = = 2;\n", 2, "Unexpected token"),
    ("node", "a.mjs", "export const x = 1;\n", "export const x = 1;\nexport x = 2;\n", 2, "Unexpected"),
    ("node", "a.cjs", "f();\n", "f();\nif then g();\n", 2, "Unexpected identifier"),
    ("php", "a.php", "<?php\n$x = 1;\n", "<?php\n$x = 1;\n$y = = 2;\n", 3, "unexpected token"),
    ("php", "b.php", "<?php\nf();\n", "<?php\nfoeach ($a as $b) f();\n", 2, "unexpected"),
    ("ruby", "a.rb", "x = 1\n", "x = 1\ndef f\n  1\n", 3, "end"),
    ("ruby", "b.rb", "x = 1\n", "x = 1\ny = = 2\nz = 3\n", 2, "="),
    ("bash", "a.sh", "echo 1\n", "echo 1\nif true; echo 2; fi\n", 2, "unexpected token"),
    ("bash", "b.sh", "#!/bin/sh\necho 1\n", "#!/bin/sh\nfor x in 1 2 do echo $x; done\n", 2, "unexpected token"),
    ("rustfmt", "a.rs", "fn f() {}\n", "fn f() {}\nfn g() -> { 1 }\n", 2, "expected type"),
    ("gofmt", "a.go", "package a\n", "package a\n\nfunc f() { x := := 1 }\n", 3, "expected operand"),
    ("javac", "A.java", "class A {}\n", "class A {\n    int f() { return 1 + ; }\n}\n", 2, "illegal.start.of.expr"),
    ("javac", "B.java", "class B {}\n", "class B {\n    void f() { int x y; }\n}\n", 2, "expected"),
    ("luac", "a.lua", "x = 1\n", "x = 1\nlocal y = = 2\n", 2, "unexpected symbol"),
)  # fmt: skip
"""Errors in which all marks are balanced: (program, path, before, after, line, part of the compiler's words)."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "path", "before", "after", "line", "words"), WRONG, ids=[row[1] for row in WRONG]
)
def test_an_error_without_unbalanced_marks_is_found(
    root: Path, program: str, path: str, before: str, after: str, line: int, words: str
) -> None:
    needs(program, root)
    compilers = build_compilers(root)
    if compilers.judge_change(path, None, before) is None:
        pytest.skip(f"{program} does not work in the sandbox here")
    assert find_certain_problems(path, before, after) == []
    found = find_certain_problems(path, before, after, compilers)
    assert [each.line for each in found] == [line]
    assert words in found[0].message
    assert find_certain_problems(path, None, after, compilers) == found
    assert find_certain_problems(path, after, after + "\n", compilers) == [], "it was there before"


RIGHT = (
    ("bash", "a.sh", "cat <<A <<B\n(\nA\n$(\nB\n"),
    ("bash", "b.sh", "echo `echo \\`echo (\\``\n"),
    ("javac", "A.java", "class A { int f() { return 1; } \\u007d\nclass B { }\n"),
    ("php", "a.php", "<?php\nf();\n__halt_compiler();((("),
    ("php", "b.php", '<?php\n$y = b<<<"A"\n(\nA;\n'),
)
"""Valid texts in which a grammar finds an error and unbalanced marks."""


@pytest.mark.slow
@pytest.mark.parametrize(("program", "path", "text"), RIGHT, ids=[row[1] for row in RIGHT])
def test_what_the_compiler_accepts_is_no_error(root: Path, program: str, path: str, text: str) -> None:
    needs(program, root)
    assert find_certain_problems(path, None, text) != []
    assert find_certain_problems(path, None, text, build_compilers(root)) == []


VALID = {
    "a.py": ("x = 1\n", "x = 2\n"),
    "a.js": ("let x = 1;\n", "let x = 2;\nf(x);\n"),
    "a.php": ("<?php\n$x = 1;\n", "<?php\n$x = [2];\n"),
    "a.rb": ("x = 1\n", "def f = 2\n"),
    "a.sh": ("echo 1\n", "echo 2\n"),
    "a.go": ("package a\n", "package a\n\nvar x = 1\n"),
    "a.ts": ("let x = 1;\n", "let x: int = = 2;\n"),
    "a.jsx": ("let x = 1;\n", "let x = = 2;\n"),
    "b.js": ("let x = 1;\n", "let x = <b>{y}</b>;\nlet z = = 2;\n"),
    "b.sh": ("#!/bin/zsh\n", "#!/bin/zsh\nfor x (1 2) { echo $x }\n"),
}
"""Valid changes, and some in dialects that the compilers do not know."""


@pytest.mark.parametrize("path", VALID)
def test_none_is_asked_about_what_a_grammar_understands(root: Path, path: str) -> None:
    before, after = VALID[path]
    assert find_certain_problems(path, before, after, build_compilers(root, refuse_sandbox)) == []


NEWER = "class A[T = int]:\n    x: T\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="this Python accepts it")
def test_the_interpreter_of_the_project_decides_what_its_version_accepts(root: Path) -> None:
    needs_confinement(root)
    assert find_certain_problems("a.py", "x = 1\n", NEWER, build_compilers(root)) == [], "none of its own"
    add_interpreter(root)
    found = find_certain_problems("a.py", "x = 1\n", NEWER, build_compilers(root))
    assert [each.line for each in found] == [1]
    assert find_certain_problems("a.py", NEWER, NEWER + "y = 2\n", build_compilers(root)) == []


LATER = [
    path
    for name in ("python3.13", "python3.14", "python3.15")
    for path in (shutil.which(name), *map(str, Path("~/.pyenv/versions").expanduser().glob(f"*/bin/{name}")))
    if path is not None and "shims" not in path
]


@pytest.mark.slow
@pytest.mark.skipif(not LATER or sys.version_info >= (3, 13), reason="there is no later Python")
def test_a_later_interpreter_of_the_project_knows_what_is_an_error(root: Path) -> None:
    needs_confinement(root)
    add_interpreter(root, LATER[0])
    compilers = build_compilers(root)
    before = "x = 1\n"
    assert find_certain_problems("a.py", before, 'x = f"{d["(a"]}"\n' + NEWER, compilers) == []
    found = find_certain_problems("a.py", before, NEWER + 'x = f"{d["a"}"\n', compilers)
    assert [each.line for each in found] == [3]
    found = find_certain_problems("a.py", before, "class A[T = int]:\n    x = = 1\n", compilers)
    assert [each.line for each in found] == [2]


@pytest.mark.slow
def test_a_compiler_that_is_older_than_the_project_proves_nothing(root: Path) -> None:
    needs("node", root)
    (root / "web").mkdir()
    compilers = build_compilers(root)
    change = ("let x = 1;\n", "let x = = 1;\n")
    assert find_certain_problems("web/a.js", *change, compilers) != []
    (root / ".nvmrc").write_text("v90\n")
    assert find_certain_problems("web/a.js", *change, compilers) == []
    (root / "web/package.json").write_text('{"engines": {"node": ">=8"}}')
    assert find_certain_problems("web/a.js", *change, compilers) != []
    dialect = ("let x = 1;\n", "let x = 1;\nexport y from 'y';\n")
    assert find_certain_problems("web/a.js", *dialect, compilers) == []


@pytest.mark.slow
def test_a_text_is_not_run(root: Path) -> None:
    needs("ruby", root)
    (root / "evil.rb").write_text("puts 'it ran'\nexit 0\n")
    text = f"#!/usr/bin/env ruby -r{root}/evil\nBEGIN {{ exit 0 }}\nx = = 1\n"
    found = find_certain_problems("a.rb", None, text, build_compilers(root))
    assert [each.line for each in found] == [3]


@pytest.mark.slow
def test_an_interpreter_of_the_repository_can_harm_nothing(root: Path) -> None:
    needs_confinement(root)
    add_script(root, f"touch evil '{root.parent}/evil' 2>/dev/null; echo 'line 1: it ran'; exit 1")
    found = find_certain_problems("a.py", None, "x = = 1\n", build_compilers(root))
    assert [each.message for each in found] == ["it ran"]
    assert not (root / "evil").exists()
    assert not (root.parent / "evil").exists()
    unconfined = build_compilers(root, lambda: Unconfined(root, spill=None))
    assert [each.message for each in find_certain_problems("a.py", None, "x = = 1\n", unconfined)] == [
        "invalid syntax"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["exit 3", "kill -9 $$", "yes 'line 1: x'", "exec /missing", "echo; exit 1"])
def test_a_compiler_that_does_not_work_is_no_witness(
    root: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_confinement(root)
    monkeypatch.setattr("tools.code.syntax.compilers.TIMEOUT", 1.0)
    add_script(root, text)
    found = find_certain_problems("a.py", "x = 1\n", "x = = 1\n", build_compilers(root))
    assert [each.message for each in found] == ["invalid syntax"]


NEWEST = (
    ("node", "a.js", "export v from 'v';\nexport * as ns, { x } from 'y';\n"),
    ("node", "b.js", "@logged\nclass A { @bound accessor x = 1; }\nx = y |> f(%);\n"),
    ("php", "a.php", "<?php\nclass A { public string $n { get => $this->n; final set; } private(set) int $x = 1; }\n"),
    ("php", "b.php", "<?php\n$x = $y |> trim(...);\n$z = clone($a, ['b' => 1]);\n(void) f();\n"),
    ("ruby", "a.rb", "x = a\n  && b\n  || c\ndef f(*) = g(*nil)\n"),
    ("javac", "A.java", "import module java.base;\nvoid main() { IO.println(1); }\nint x = 1;\n"),
    ("javac", "B.java", "class B { int f(A a) { x = switch (a) { case C(var x) when x -> 1; case C _ -> 2; }; } }\n"),
    ("bash", "a.sh", "x=${ echo a; }\ny=${| REPLY=1; }\n"),
    ("rustfmt", "a.rs", "gen fn f() -> i32 { yield 1; }\nauto trait A {}\nmacro m($x:expr) { $x }\n"),
)  # fmt: skip
"""Syntax of versions that are newer than most installations, or still to come."""


@pytest.mark.slow
@pytest.mark.parametrize(("program", "path", "text"), NEWEST, ids=[row[1] for row in NEWEST])
def test_an_older_compiler_proves_nothing_of_newer_syntax(
    root: Path, program: str, path: str, text: str
) -> None:
    needs(program, root)
    assert find_certain_problems(path, None, text, build_compilers(root)) == []


@pytest.mark.slow
def test_many_questions_take_no_longer_than_the_time_for_all(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_confinement(root)
    monkeypatch.setattr("tools.code.syntax.compilers.TOTAL_SECONDS", 0.5)
    add_script(root, "sleep 1; echo 'line 1: it ran'; exit 1")
    compilers = build_compilers(root)
    for _ in range(3):
        found = find_certain_problems("a.py", None, "x = = 1\n", compilers)
        assert [each.message for each in found] == ["invalid syntax"]


@pytest.mark.slow
def test_an_edit_is_answered_with_the_compilers_words(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.js": "let x = 1;\n", "a.sh": "echo 1\n"})
    needs("node", at.root)
    answer = call(edit, at, path="a.js", old="let x", new="let x y")
    assert "syntax error: a.js:1: " in answer.text
    answer = call(write, at, path="b.js", content="f(;\n")
    assert "syntax error: b.js:1: " in answer.text
    assert "syntax error" not in call(write, at, path="c.sh", content=RIGHT[0][2]).text


@pytest.mark.slow
def test_an_edit_that_the_compiler_refuses_is_not_made(tmp_path: Path) -> None:
    settings = ToolSettings(edit=EditSettings(syntax_errors="refuse"))
    at = workspace(tmp_path, {"a.sh": "echo 1\n"}, settings=settings)
    needs("bash", at.root)
    assert "would not parse" in refused(edit, at, path="a.sh", old="echo 1", new="if echo; fi")
    assert (at.root / "a.sh").read_text() == "echo 1\n"
