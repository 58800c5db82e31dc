"""Tasks of the benchmark: programs with one fault, a visible test that fails, and what tells a right change."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packages.evaluation.suites.programs.humanevalfix_layouts import LAYOUTS
from packages.offline.lead.proposals import find_syntax_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One program to mend.

    program: path of the file at fault, text: of it; files: beside it; tests: paths of the visible tests, none for all
    source: folder of the git repository that the project is a copy of, None if `files` are all of it
    revision: of the source; is_alone: whether the copy has no other test files than the visible ones
    hidden: files beside the mended program that judge it; check: shell command that tells whether it is right
    original: the program before the fault was made; the truth where there is no hidden test
    """

    id: str
    program: str
    text: str
    tests: tuple[str, ...]
    files: Mapping[str, str]
    source: Path | None = None
    revision: str = "HEAD"
    is_alone: bool = False
    hidden: Mapping[str, str] = field(default_factory=dict)
    check: str = ""
    original: str = ""


def is_development(name: str) -> bool:
    """Return whether a task belongs to the half that may be looked at: by the parity of the SHA-1 of its id."""
    return int(hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest(), 16) % 2 == 0


def read_humaneval_fix(data: Path) -> list[Task]:
    """Return the development half of HumanEvalFix (Python) from `humanevalpack.jsonl`."""
    tasks = []
    for line in data.read_text().splitlines():
        entry = json.loads(line)
        if not is_development(entry["task_id"]):
            continue
        name = entry["entry_point"]
        examples = entry["example_test"].strip().removesuffix(f"check({name})").rstrip()
        test = f"from solution import *\n\n\n{examples}\n\n\ndef test_examples():\n    check({name})\n"
        tasks.append(
            Task(
                id=entry["task_id"],
                program="solution.py",
                text=entry["prompt"] + entry["buggy_solution"],
                tests=("test_solution.py",),
                files={"test_solution.py": test},
                hidden={"hidden.py": "\n" + entry["test"]},
                check=f"cat solution.py hidden.py > both.py && {sys.executable} both.py",
            )
        )
    return tasks


def read_other_languages(data: Path, go_modules: Path | None = None) -> list[Task]:
    """Return the development half of HumanEvalFix in another language, by the task ids of `humanevalpack.jsonl`.

    Rust has no example tests: there the published ones are seen in the search, too. `go_modules` has a `go.mod` and
    the folder `vendor` with testify, which the tests in Go import.
    """
    tasks = []
    vendored = {} if go_modules is None else read_texts(go_modules)
    for line in data.read_text().splitlines():
        record = json.loads(line)
        language = _LANGUAGES[record["task_id"].partition("/")[0]]
        layout, modules = LAYOUTS[language], vendored if language == "go" else {}
        if not is_development(record["task_id"]) or layout.find_obstacle(record):
            continue
        examples = record["example_test"]
        seen = layout.lay_out({**record, "test": examples} if examples != "None" else record)
        whole = layout.lay_out(record)
        texts = {path: content.decode() for path, content in seen.files.items()} | modules
        tasks.append(
            Task(
                id=record["task_id"],
                program=layout.solution,
                text=texts.pop(layout.solution),
                tests=(),
                files=texts,
                hidden={path: text.decode() for path, text in {**whole.files, **whole.checker_files}.items()}
                | modules,
                check=whole.check,
            )
        )
    return tasks


_LANGUAGES = {"JavaScript": "javascript", "Rust": "rust", "Java": "java", "CPP": "cpp", "Go": "go"}


def read_texts(folder: Path) -> dict[str, str]:
    """Return the texts of the files below a folder, by their path in it."""
    return {
        each.relative_to(folder).as_posix(): each.read_text() for each in folder.rglob("*") if each.is_file()
    }


MIRRORED = tuple((f"tests/{name}/", f"{name}/") for name in ("tools", "agent", "sandbox", "packages", "cli"))
"""Folders of test files, and those of the modules with the same name that they test."""

WRITING = ("tmp_path", "tests.support", "subprocess", "Workspace")
"""Words in test files that write or start processes, which a search runs in a copy or not at all."""

LONGEST_TESTS = 12_000
"""Characters of a test file: longer ones take too long for a benchmark."""


def list_mutations(source: Path, seed: int) -> Iterator[Task]:
    """Yield single mutations of functions of a project in an order that the seed gives, one for each module."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=source, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    known, chance = set(listed), random.Random(seed)
    pairs = []
    for test in listed:
        for tests, modules in MIRRORED:
            folder, _, name = test.rpartition("/")
            module = f"{modules}{folder[len(tests) :]}/{name.removeprefix('test_')}".replace("//", "/")
            if test.startswith(tests) and module in known and name.startswith("test_"):
                pairs.append((test, module))
    chance.shuffle(pairs)
    for test, module in pairs:
        told = (source / test).read_text()
        if len(told) > LONGEST_TESTS or any(word in told for word in WRITING):
            continue
        original = (source / module).read_text()
        changes = list(iterate_mutations(original))
        if changes:
            # Each kind is as likely as the others, however often a module has it.
            kind = chance.choice(sorted({what.partition(":")[2] for what, _ in changes}))
            what, text = chance.choice([each for each in changes if each[0].endswith(f":{kind}")])
            if find_syntax_error(text):  # offsets within f-strings are unreliable before Python 3.12
                continue
            yield Task(
                id=f"{module}:{what}",
                program=module,
                text=text,
                tests=(test,),
                files={},
                source=source,
                is_alone=True,
                original=original,
            )


_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


def iterate_mutations(text: str) -> Iterator[tuple[str, str]]:
    """Yield line and kind of each mutation of a function's body, and the text with it."""
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                for kind, start, end, new in _mutate(node, text):
                    yield f"{getattr(node, 'lineno', 0)}:{kind}", text[:start] + new + text[end:]


def _mutate(node: ast.AST, text: str) -> Iterator[tuple[str, int, int, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        start, end = _find_end(node.left, text), _find_start(node.comparators[0], text)
        yield "comparison", start, end, f" {_COMPARISONS[type(node.ops[0])]} "
    elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
        start, end = _find_end(node.values[0], text), _find_start(node.values[1], text)
        yield "connective", start, end, " or " if isinstance(node.op, ast.And) else " and "
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        start, end = _find_end(node.left, text), _find_start(node.right, text)
        if text[start:end].strip() in ("+", "-"):  # no brackets between them
            yield "operator", start, end, " - " if isinstance(node.op, ast.Add) else " + "
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negation", _find_start(node, text), _find_start(node.operand, text), ""
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "number", _find_start(node, text), _find_end(node, text), str(node.value + 1)
    elif isinstance(node, ast.Call) and len(node.args) >= 2:
        first, second = node.args[:2]
        spans = [(_find_start(each, text), _find_end(each, text)) for each in (first, second)]
        one, other = (text[start:end] for start, end in spans)
        between = text[spans[0][1] : spans[1][0]]
        if one != other and "\n" not in one + other + between:
            yield "arguments", spans[0][0], spans[1][1], other + between + one
    elif isinstance(node, ast.Assign | ast.AugAssign) and node.lineno == node.end_lineno:
        yield "statement left out", _find_start(node, text), _find_end(node, text), "pass"


def _find_start(node: ast.expr | ast.stmt, text: str) -> int:
    return _find_offset(text, node.lineno, node.col_offset)


def _find_end(node: ast.expr | ast.stmt, text: str) -> int:
    return _find_offset(text, node.end_lineno or node.lineno, node.end_col_offset or 0)


def _find_offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    before = sum(len(each) + 1 for each in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column].decode())
