"""Project layouts for HumanEvalFix: one per language, each with a test command that every tool of ours can run."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field

from packages.evaluation.suites.ending_checks import build_tests_check, read_tests_judge
from sandbox.lazy_dataclass import dataclass

Record = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """A record as files. files: the faulty project; solution: the right text of its program; check: the checker's
    command line, checker_files: what it needs besides the project"""

    files: Mapping[str, bytes]
    solution: bytes
    check: str
    checker_files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(ABC):
    """How a language's records become a project. folder: of the data set; solution, tests: paths in the project"""

    folder: str
    solution: str
    tests: str

    @abstractmethod
    def lay_out(self, record: Record) -> LaidOut:
        """Return the files of a record."""

    def find_obstacle(self, record: Record) -> str:
        """Return what the record needs that no plain installation has, "" if nothing."""
        return ""

    def join_program(self, record: Record, which: str) -> str:
        """Return the program's text. which: `buggy_solution` or `canonical_solution`"""
        return record["declaration"].strip("\n") + "\n" + record[which].rstrip() + "\n"


class PythonLayout(Layout):
    """A module and a pytest file with one test for each assertion."""

    def lay_out(self, record: Record) -> LaidOut:
        entry = record["entry_point"]
        head = "import sys\nsys.path.append('.')\n"
        published = (
            f"{head}from solution import *\nfrom solution import {entry}\n\n{record['test'].strip()}\n"
        )
        return LaidOut(
            files={
                self.solution: self.join_program(record, "buggy_solution").encode(),
                self.tests: split_checks(record["test"], entry).encode(),
            },
            solution=self.join_program(record, "canonical_solution").encode(),
            check=build_tests_check("script", ["patchwright_published.py"]),
            checker_files={"patchwright_published.py": published.encode(), **read_tests_judge()},
        )


class JavaScriptLayout(Layout):
    """A CommonJS module with a test for node's own runner."""

    def lay_out(self, record: Record) -> LaidOut:
        def export(which: str) -> bytes:
            text = self.join_program(record, which)
            names = dict.fromkeys(
                re.findall(r"^(?:const|let|var|function|async function)\s+(\w+)", text, re.M)
            )
            return f"{text}\nmodule.exports = {{ {', '.join(names)} }}\n".encode()

        buggy = export("buggy_solution")
        names = buggy.decode().rpartition("module.exports = ")[2].strip()
        head = f"const assert = require('node:assert')\nconst {names} = require('./solution.js')\n"
        # Only node's own assertions end the program.
        head += "console.assert = (holds) => assert.ok(holds)\n"
        body = "".join(f"  {line}\n" if line else "\n" for line in record["test"].strip().splitlines())
        test = f"const test = require('node:test')\n{head}\ntest('{record['entry_point']}', () => {{\n{body}}})\n"
        return LaidOut(
            files={
                self.solution: buggy,
                self.tests: test.encode(),
                "package.json": b'{"name": "solution", "private": true, "scripts": {"test": "node --test"}}\n',
            },
            solution=export("canonical_solution"),
            check="node patchwright_published.js",
            checker_files={"patchwright_published.js": f"{head}\n{record['test'].strip()}\n".encode()},
        )

    def find_obstacle(self, record: Record) -> str:
        text = record["declaration"] + record["canonical_solution"] + record["test"]
        wanted = [each for each in re.findall(r"require\(['\"]([\w@/-]+)['\"]\)", text) if each != "assert"]
        return f"the package {wanted[0]} is not installed" if wanted else ""


class RustLayout(Layout):
    """A crate without dependencies; the checks are a module beside the program, in one file each."""

    _CRATES = (
        ("rand::Rng", r"\brand::|thread_rng|gen_range"),
        ("regex::Regex", r"\bRegex\b"),
        ("md5", r"\bmd5::"),
    )

    def lay_out(self, record: Record) -> LaidOut:
        library = (
            "#![allow(warnings)]\n\n"
            'include!("solution.rs");\n\n'
            '#[cfg(test)]\nmod published {\n    use super::*;\n    include!("checks.rs");\n}\n'
        )
        fixed = {
            "src/lib.rs": library.encode(),
            "Cargo.toml": b'[package]\nname = "solution"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n',
            "Cargo.lock": b'version = 3\n\n[[package]]\nname = "solution"\nversion = "0.1.0"\n',
            self.tests: (record["test"].strip() + "\n").encode(),
        }
        return LaidOut(
            files={
                **fixed,
                ".gitignore": b"target/\n",
                self.solution: self._prune(self.join_program(record, "buggy_solution")).encode(),
            },
            solution=self._prune(self.join_program(record, "canonical_solution")).encode(),
            check="cargo test --offline --quiet",
            checker_files=fixed,
        )

    def find_obstacle(self, record: Record) -> str:
        text = record["canonical_solution"] + record["buggy_solution"] + record["test"]
        used = [name for name, pattern in self._CRATES if re.search(pattern, text)]
        return f"the crate {used[0].partition('::')[0]} is not installed" if used else ""

    def _prune(self, text: str) -> str:
        """Leave out the imports of crates: the records import all of them everywhere."""
        for name, _ in self._CRATES:
            text = text.replace(f"use {name};\n", "")
        return text


class MakeLayout(Layout):
    """A program, its checks and a Makefile that builds both: no build tool is needed."""

    def lay_out_for_make(self, record: Record, fixed: Mapping[str, bytes]) -> LaidOut:
        """Return the files of a record. fixed: the checks, and the Makefile whose `test` builds below `build`"""
        return LaidOut(
            files={
                **fixed,
                ".gitignore": b"build/\n",
                self.solution: self.join_program(record, "buggy_solution").encode(),
            },
            solution=self.join_program(record, "canonical_solution").encode(),
            check="make test",
            checker_files=fixed,
        )


class JavaLayout(MakeLayout):
    """Two classes."""

    def lay_out(self, record: Record) -> LaidOut:
        imports = "".join(
            f"{line}\n" for line in record["declaration"].splitlines() if line.startswith("import ")
        )
        fixed = {
            self.tests: f"{imports}\n{record['test'].strip()}\n".encode(),
            "Makefile": b"test:\n\tmkdir -p build\n\tjavac -nowarn -d build Solution.java Main.java\n"
            b"\tjava -ea -cp build Main\n\n.PHONY: test\n",
        }
        return self.lay_out_for_make(record, fixed)


class CppLayout(MakeLayout):
    """A source file that the checks include."""

    def lay_out(self, record: Record) -> LaidOut:
        fixed = {
            self.tests: f'#include "solution.cpp"\n\n{record["test"].strip()}\n'.encode(),
            "Makefile": b"test:\n\tmkdir -p build\n\tg++ -std=c++17 -w -o build/checks checks.cpp\n"
            b"\t./build/checks\n\n.PHONY: test\n",
        }
        return self.lay_out_for_make(record, fixed)

    def find_obstacle(self, record: Record) -> str:
        text = record["declaration"] + record["canonical_solution"] + record["test"]
        wanted = re.search(r"#include\s*<((boost|openssl)/[\w/.]+)>", text)
        return f"the library {wanted[2]} is not installed" if wanted else ""


class GoLayout(Layout):
    """A package with the published test, which imports testify."""

    def lay_out(self, record: Record) -> LaidOut:
        fixed = {
            self.tests: f"{record['test_setup'].strip()}\n\n{record['test'].strip()}\n".encode(),
            "go.mod": b"module solution\n\ngo 1.20\n\nrequire github.com/stretchr/testify v1.8.4\n",
        }
        return LaidOut(
            files={**fixed, self.solution: self._join(record, "buggy_solution")},
            solution=self._join(record, "canonical_solution"),
            check="go test ./...",
            checker_files=fixed,
        )

    def _join(self, record: Record, which: str) -> bytes:
        """Return the file with those imports that its code uses: Go refuses others."""
        code = self.join_program(record, which)
        packages = re.findall(r'"([\w/.]+)"', record.get("import", ""))
        used = [each for each in packages if re.search(rf"\b{each.rpartition('/')[2]}\.", code)]
        imports = "import (\n" + "".join(f'    "{each}"\n' for each in used) + ")\n\n" if used else ""
        return f"package main\n\n{imports}{code}\n\nfunc main() {{}}\n".encode()


LAYOUTS: Mapping[str, Layout] = {
    "python": PythonLayout(folder="python", solution="solution.py", tests="test_solution.py"),
    "javascript": JavaScriptLayout(folder="js", solution="solution.js", tests="solution.test.js"),
    "go": GoLayout(folder="go", solution="solution.go", tests="solution_test.go"),
    "rust": RustLayout(folder="rust", solution="src/solution.rs", tests="src/checks.rs"),
    "java": JavaLayout(folder="java", solution="Solution.java", tests="Main.java"),
    "cpp": CppLayout(folder="cpp", solution="solution.cpp", tests="checks.cpp"),
}
"""Layouts by language."""


def split_checks(text: str, entry: str) -> str:
    """Turn the body of `check` into one test a statement; assignments come before each test that follows them."""
    tree = ast.parse(text.strip())
    check = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check")
    others = [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef | ast.Import | ast.ImportFrom) and n is not check
    ]
    lines = ["from solution import *", f"from solution import {entry}", *map(ast.unparse, others)]
    argument = check.args.args[0].arg
    before = [] if argument == entry else [f"{argument} = {entry}"]
    number = 0
    for statement in check.body:
        if not any(isinstance(each, ast.Assert) for each in ast.walk(statement)):
            before.append(ast.unparse(statement))
        elif any(isinstance(each, ast.Call) for each in ast.walk(statement)):
            number += 1
            body = "\n".join([*before, ast.unparse(statement)]).replace("\n", "\n    ")
            lines.append(f"\n\ndef test_{number}():\n    {body}")
    return "\n".join(lines) + "\n"
