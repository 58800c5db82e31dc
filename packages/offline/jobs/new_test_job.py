"""A test for a function: it runs, passes on the code, and fails on a mutation of the function."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import TYPE_CHECKING

from packages.offline.jobs.desk import ATTEMPTS, WARMER, NotDone, Outcome, parse_python
from packages.offline.jobs.job_reader import Job

if TYPE_CHECKING:
    from packages.offline.jobs.desk import Desk, Trial
    from packages.offline.lead.suspects import Suspect
    from tools.code.index.code_index import Index

MUTANTS = 4
"""Mutations of the function that are tried; a test that notices none proves nothing."""

MOST_CLASS = 1_500
"""Characters of the class around a method that the model is shown."""


async def write_test(desk: Desk, job: Job) -> Outcome:
    """Write one test of a function into the test file of its module. Raises NotDone."""
    target = await desk.find_function(job.name, job.path)
    path = await desk.query(lambda index: choose_test_file(index, target.path))
    current = desk.read(path) if desk.at.files.is_file(path) else ""
    name = _choose_name(target, current)
    desk.tell(f"{target.symbol} in {target.path}: the model writes {name}, runs and a mutation judge it")
    question, note = _build_question(desk, target, name), ""
    async with desk.open_copy() as trial:
        for attempt in range(ATTEMPTS):
            reply = await desk.ask(
                "test.md", f"{question}\n\n{note}".strip(), temperature=WARMER * bool(attempt)
            )
            test = read_test(reply, target.symbol, name)
            if test is None:
                note = (
                    f"Your last reply was not one test function with assertions that calls {target.symbol}."
                )
                continue
            kept, note = await _keep_what_holds(trial, test, target, path, current)
            if kept is None:
                continue
            text = add_test(current, ast.unparse(kept), target)
            if not await _notices_mutation(desk, trial, target, path, name, text):
                note = "Your last test passes with a wrong function, too: assert exact results of several inputs."
                continue
            await _write(desk, path, current, text)
            dropped = len(test.body) - len(kept.body)
            words = (
                f" {dropped} of the model's assertions did not hold and were left out: see whether they should."
                * bool(dropped)
            )
            return Outcome(
                text=f"Add a test of {target.symbol}\n\n{path}::{name} passes on the code as it is, and fails on a "
                f"mutation of it.{words}",
                is_done=True,
            )
    raise NotDone(f"the model wrote no test that holds: {note}")


def choose_test_file(index: Index, path: str) -> str:
    """Return the test file of a module, where it is or belongs."""
    from tools.code.index.symbol_queries import is_test

    stem = path.rpartition("/")[2].removesuffix(".py")
    wanted = (f"test_{stem}.py", f"{stem}_test.py")
    tests = [each for each in index.paths if each.endswith(".py") and is_test(each)]
    if found := [each for each in tests if each.rpartition("/")[2] in wanted]:
        return min(found, key=len)
    folders = [each.rpartition("/")[0] for each in tests if each.rpartition("/")[2].startswith("test_")]
    folder = min(folders, key=len) if folders else ""
    return f"{folder}/test_{stem}.py" if folder else f"test_{stem}.py"


def read_test(reply: str, symbol: str, name: str) -> ast.FunctionDef | None:
    """Return the test of a reply under another name; None if it is none of the function."""
    from packages.offline.lead.proposals import find_blocks

    short = symbol.rpartition(".")[2]
    for block in find_blocks(reply):
        tree = parse_python(block.code)
        for node in tree.body if tree is not None else ():
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
                continue
            body = [each for each in node.body if not isinstance(each, ast.Import | ast.ImportFrom)]
            asserts = any(isinstance(each, ast.Assert | ast.With) for each in body)
            if asserts and not node.args.args and _mentions(body, short):
                node.body, node.name, node.decorator_list, node.returns = body, name, [], None
                return node
    return None


def add_test(current: str, test: str, target: Suspect) -> str:
    """Return a test file with one more test at its end, and what it imports."""
    tree = parse_python(current)
    head = "" if _is_imported(tree, target) else _build_import(target)
    if "pytest." in test and not re.search(r"^import pytest\b", current, re.MULTILINE):
        head = f"import pytest\n\n{head}" if head else "import pytest"
    if not head:
        return f"{current.rstrip()}\n\n\n{test}\n"
    imports = [
        each.end_lineno or each.lineno
        for each in (tree.body if tree is not None else ())
        if isinstance(each, ast.Import | ast.ImportFrom)
    ]
    lines = current.splitlines()
    at = max(imports, default=0)
    if not at and tree is not None and tree.body and ast.get_docstring(tree) is not None:
        at = tree.body[0].end_lineno or 0
    before, after = "\n".join(lines[:at]), "\n".join(lines[at:]).strip("\n")
    parts = [f"{before}\n{head}".strip("\n"), after, test]
    return "\n\n\n".join(each for each in parts if each) + "\n"


async def _keep_what_holds(
    trial: Trial, test: ast.FunctionDef, target: Suspect, path: str, current: str
) -> tuple[ast.FunctionDef | None, str]:
    """Return the test without assertions that fail, None if none holds; and a note for the model."""
    text = add_test(current, ast.unparse(test), target)
    first = await trial.run_tests({path: text}, (f"{path}::{test.name}",))
    if first.outcome == "passed":
        return test, ""
    message = first.failures[0].message[:300] if first.failures else first.outcome
    if not any(isinstance(each, ast.Assert) for each in test.body):
        return None, f"Your last test failed: {message}"
    setup = [each for each in test.body if not isinstance(each, ast.Assert)]
    asserts = [each for each in test.body if isinstance(each, ast.Assert)]
    alone = [_copy_test(test, [*setup, each], f"{test.name}_{place}") for place, each in enumerate(asserts)]
    text = add_test(current, "\n\n\n".join(ast.unparse(each) for each in alone), target)
    report = await trial.run_tests({path: text}, (path,))
    if report.outcome != "failed":
        return None, f"Your last test failed: {message}"
    failing = {each.id.rpartition("::")[2] for each in report.failures}
    wrong = {place for place, each in enumerate(alone) if each.name in failing}
    kept = [each for each in test.body if each not in [asserts[place] for place in wrong]]
    if len(wrong) == len(asserts):
        return None, f"Your last test failed: {message}"
    return _copy_test(test, kept, test.name), ""


async def _notices_mutation(
    desk: Desk, trial: Trial, target: Suspect, path: str, name: str, text: str
) -> bool:
    """Return whether the test passes on the code, and fails on one of the mutations of the function."""
    from packages.offline.reproduction.mutants import mutate_function

    source = desk.read(target.path)
    targets = (f"{path}::{name}",)
    if (await trial.run_tests({path: text, target.path: source}, targets)).outcome != "passed":
        return False
    short = target.symbol.rpartition(".")[2]
    for number, mutant in enumerate(mutate_function(source, target.first, short)):
        if number >= MUTANTS:
            break
        if (await trial.run_tests({path: text, target.path: mutant}, targets)).outcome == "failed":
            return True
    return False


async def _write(desk: Desk, path: str, current: str, text: str) -> None:
    if current:
        await desk.edit(path, current, text)
        return
    done = await desk.act("write", {"path": path, "content": text})
    if done.failed:
        raise NotDone(done.text.strip().partition("\n")[0])


def _build_question(desk: Desk, target: Suspect, name: str) -> str:
    shown = textwrap.dedent(target.source)
    around = target.symbol.rpartition(".")[0]
    if around:
        head = desk.read(target.path).split(target.source)[0]
        start = head.rfind(f"class {around.rpartition('.')[2]}")
        shown = f"{head[start:][:MOST_CLASS]}{target.source}" if start >= 0 else shown
    return (
        f"The function {target.symbol}:\n```python\n{shown}\n```\n\nWrite `def {name}():`. "
        f"`{_build_import(target)}` is there already."
    )


def _is_imported(tree: ast.Module | None, target: Suspect) -> bool:
    """Return whether a test file imports the function, or its class, by its own name from its own module."""
    name = target.symbol.partition(".")[0]
    module = _build_import(target).split()[1]
    return any(
        isinstance(each, ast.ImportFrom)
        and (each.module or "") in (module, module.rpartition(".")[2])
        and any(alias.name == name and alias.asname is None for alias in each.names)
        for each in (tree.body if tree is not None else ())
    )


def _choose_name(target: Suspect, current: str) -> str:
    base = f"test_{target.symbol.rpartition('.')[2].strip('_').lower()}"
    name, number = base, 1
    while re.search(rf"def {name}\b", current):
        number += 1
        name = f"{base}_{number}"
    return name


def _build_import(target: Suspect) -> str:
    module = target.path.removesuffix(".py").removesuffix("/__init__")
    dotted = re.sub(r"^(?:src|lib)/", "", module).replace("/", ".")
    return f"from {dotted} import {target.symbol.partition('.')[0]}"


def _copy_test(test: ast.FunctionDef, body: list[ast.stmt], name: str) -> ast.FunctionDef:
    made = ast.parse(ast.unparse(test)).body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body, made.name = body, name
    return made


def _mentions(body: list[ast.stmt], name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name)
        or (isinstance(each, ast.Attribute) and each.attr == name)
        for statement in body
        for each in ast.walk(statement)
    )
