"""A function that all candidate patches change and that can be called by itself, with inputs from the project."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from packages.search.programs.checks import Check, parse_assertion, read_call
from packages.search.programs.program_runner import Program
from packages.search.select.patch_trials import PatchTrial
from sandbox.lazy_dataclass import dataclass
from tools.lint.test_files import is_test_file
from tools.testing.project_files import Project

MOST_CALLS = 40
"""Different calls in tests that are taken as inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFunction:
    """A function at the top of a module. path: of the module, relative to the project"""

    path: str
    name: str

    def build_program(self, trial: PatchTrial, name: str) -> Program:
        """Return the function as a patch leaves it, as a program that imports the module from the patch's copy."""
        parts = list(PurePosixPath(self.path).with_suffix("").parts)
        root = trial.at.root
        if parts[0] == "src" and len(parts) > 1:
            root, parts = root / "src", parts[1:]
        if parts[-1] == "__init__":
            parts = parts[:-1]
        text = next((each.new_text for each in trial.planned if each.path == self.path), "")
        return Program(name=name, function=self.name, source=text, root=root, module=".".join(parts))


def find_common_function(trials: Sequence[PatchTrial]) -> ChangedFunction | None:
    """Return the first function that every patch changes; None if there is none."""
    common: set[tuple[str, str]] | None = None
    for trial in trials:
        changed = set(_iter_changed_functions(trial))
        common = changed if common is None else common & changed
    if not common:
        return None
    path, name = min(common)
    return ChangedFunction(path=path, name=name)


def collect_project_calls(trial: PatchTrial, function: ChangedFunction) -> list[Check]:
    """Return calls of the function with literal arguments in the project's tests and the module's docstrings."""
    project = Project(trial.at)
    texts = [project.read_text(each) for each in project.python_tests]
    found: dict[str, Check] = {}
    for text in (*texts, *_iter_doctests(trial, function)):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):  # a template, or for another Python
            continue
        for node in ast.walk(tree):
            call = read_call(node, function.name)
            if call and len(found) < MOST_CALLS:
                found.setdefault(call, Check(text="", call=call))
    return list(found.values())


def list_told_checks(task: str, function: ChangedFunction) -> list[Check]:
    """Return the results that a task demands of calls of the function: in plain words, or by examples."""
    from packages.search.requirements.extraction import extract_requirements
    from packages.search.requirements.stated_results import RAISES

    found = []
    for text in (each.check for each in extract_requirements(task) if each.kind == "result"):
        call, raises, error = text.partition(RAISES)
        if raises:
            arguments = read_call(ast.parse(call, mode="eval").body, function.name)
            check = Check(text=text, call=arguments, expected=f"raises {error}") if arguments else None
        else:
            check = parse_assertion(f"assert {text}", function.name)
        if check is not None and check.call:
            found.append(check)
    return found


def _iter_changed_functions(trial: PatchTrial) -> Iterator[tuple[str, str]]:
    for each in trial.planned:
        if each.path.endswith(".py") and not is_test_file(each.path) and each.after is not None:
            before = dict(_iter_functions(each.old_text))
            for name, text in _iter_functions(each.new_text):
                if before.get(name, text) != text:
                    yield each.path, name


def _iter_functions(source: str) -> Iterator[tuple[str, str]]:
    """Yield (name, syntax tree as text) of the functions at the top of a module that have parameters."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (node.args.args or node.args.posonlyargs):
            yield node.name, ast.dump(node)


def _iter_doctests(trial: PatchTrial, function: ChangedFunction) -> Iterator[str]:
    for each in trial.planned:
        if each.path == function.path:
            for line in each.new_text.split("\n"):
                if line.strip().startswith(">>> ") and function.name in line:
                    yield line.strip()[4:]
