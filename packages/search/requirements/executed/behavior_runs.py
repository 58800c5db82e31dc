"""What a change of Python functions changes of their answers: old and new text on inputs near those that were seen.

Only functions whose answers depend on their arguments alone are run (`plain_functions`), of a kept signature, in the
sandbox and without the project. Inputs on which the old text does not answer twice alike say nothing.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator, Sequence

from packages.search.programs.behaviour import compute_key, format_key
from packages.search.programs.checks import parse_examples
from packages.search.programs.input_generation import (
    ANNOTATED,
    InputPlan,
    collect_literals,
    find_signature,
    generate_inputs,
)
from packages.search.programs.keyed_answers import collect_calls
from packages.search.programs.plain_functions import extract_plain_function
from packages.search.programs.program_runner import Program, ProgramRunner, Result, RunLimits
from packages.search.requirements.definition_text import read_signatures
from packages.search.requirements.turn_changes import TurnChanges
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace
from tools.lint.honesty.file_changes import find_role
from tools.testing.project_files import Project

MOST_FUNCTIONS, MOST_INPUTS = 3, 40
"""Changed functions that are run, and inputs of each."""

LIMITS = RunLimits(load_seconds=1.0, call_seconds=0.2, losses=2, memory=1 << 29, seconds=20.0)
"""Of the processor, but for the last, which a busy machine needs: a function that hangs says nothing of the change."""

FEWEST = 10
"""Inputs that a function has to answer for a comparison without a difference to say something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An input on which a function answers otherwise than before.

    arguments: the input as text of a literal; raises: it returned before, and raises now
    was_failure: it failed before, other than by a `raise` of its own: most often the input is not meant for it
    """

    call: str
    arguments: str
    before: str
    after: str
    raises: bool
    was_failure: bool

    def describe(self) -> str:
        """Return it as a sentence: "total([]) returned 0, now raises TypeError"."""
        return f"{self.call} {self.before}, now {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRuns:
    """A changed function, run before and after. answered: inputs on which the old text answered twice alike"""

    path: str
    name: str
    answered: int
    differences: Sequence[Difference]


async def compare_functions(changes: TurnChanges, at: Workspace) -> list[FunctionRuns]:
    """Run the first changed functions that can be compared; [] where nothing may be run."""
    from tools.testing.python import find_test_python

    if at.sandbox.name == "unconfined":
        return []
    project = Project(at)
    found = await asyncio.to_thread(lambda: list(_iter_comparable(changes, project)))
    if not found:
        return []
    if not (python := await find_test_python(at, project)):
        return []
    return list(await asyncio.gather(*(_run(at, python, each) for each in found[:MOST_FUNCTIONS])))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparable:
    path: str
    name: str
    before: str
    after: str
    inputs: Sequence[str]


def _iter_comparable(changes: TurnChanges, project: Project) -> Iterator[_Comparable]:
    for path in changes.list_changed_files():
        before, after = changes.read_before(path), changes.read_after(path)
        if not path.endswith(".py") or find_role(path) != "product" or not before or not after:
            continue
        for name in _list_functions(after):
            old, new = extract_plain_function(before, name), extract_plain_function(after, name)
            if old is None or new is None or old == new:
                continue
            if read_signatures(path, before, name) != read_signatures(path, after, name):
                continue
            if inputs := _make_inputs(name, old, new, after, project):
                yield _Comparable(path=path, name=name, before=old, after=new, inputs=inputs)


def _list_functions(text: str) -> list[str]:
    try:
        return [each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _make_inputs(name: str, old: str, new: str, text: str, project: Project) -> list[str]:
    """Return inputs near calls in tests and examples, or by the annotations where each parameter has a plain one."""
    given = collect_calls(project, name)
    given += [each.call for each in parse_examples(text, name) if each.call not in given]
    plan = InputPlan(given=given, literals=collect_literals([old, new]), most=MOST_INPUTS, keep_rows=True)
    if given:
        return [*given, *generate_inputs(plan)][: 2 * MOST_INPUTS]
    signature = find_signature([text], name)
    if signature is None or not _is_annotated(signature):
        return []
    return generate_inputs(plan, signature)


def _is_annotated(signature: ast.arguments) -> bool:
    needed = [*signature.posonlyargs, *signature.args]
    return not any(default is None for default in signature.kw_defaults) and all(
        each.annotation is not None and ast.unparse(each.annotation).partition("[")[0].lower() in ANNOTATED
        for each in needed
    )


async def _run(at: Workspace, python: str, each: _Comparable) -> FunctionRuns:
    runner = ProgramRunner(sandbox=at.sandbox, folder=at.root, python=python, limits=LIMITS)
    other = ProgramRunner(sandbox=at.sandbox, folder=at.root, python=python, limits=LIMITS, hash_seed=1)
    old = Program(name="before", function=each.name, source=each.before)
    new = Program(name="after", function=each.name, source=each.after)
    runs = await asyncio.gather(
        runner.run_program(old, each.inputs),
        other.run_program(old, each.inputs),
        runner.run_program(new, each.inputs),
        other.run_program(new, each.inputs),
    )
    answered = 0
    differences = []
    for call, *results in zip(each.inputs, *(run.calls for run in runs), strict=True):
        keys = [_read_key(result) for result in results]
        if keys[0] is None or keys[0] != keys[1]:
            continue
        answered += 1
        if keys[2] is not None and keys[2] == keys[3] and keys[2] != keys[0]:
            before, after = results[0], results[2]
            differences.append(
                Difference(
                    call=_format_call(each.name, call),
                    arguments=call,
                    before=_describe(before, "returned", "raised"),
                    after=_describe(after, "returns", "raises"),
                    raises=before[0] == "value" and after[0] != "value",
                    was_failure=before[0] == "failed",
                )
            )
    differences.sort(key=lambda one: (not one.raises, len(one.call), one.call))
    return FunctionRuns(path=each.path, name=each.name, answered=answered, differences=differences)


def _read_key(result: Result) -> str | None:
    """Return what is compared of an answer; None for one that was not meant, or did not come."""
    if result[0] in ("value", "raised"):
        return compute_key(result)
    return f"raises {result[1]}" if result[0] == "failed" else None


def _describe(result: Result, returns: str, raises: str) -> str:
    if result[0] != "value":
        return f"{raises} {result[1]}"
    shown = format_key(compute_key(result))
    return f"{returns} {shown if len(shown) <= 60 else shown[:59] + '…'}"


def _format_call(name: str, text: str) -> str:
    positional, named = ast.literal_eval(text)
    arguments = [*map(repr, positional), *(f"{key}={value!r}" for key, value in named.items())]
    shown = ", ".join(arguments)
    return f"{name}({shown if len(shown) <= 80 else shown[:79] + '…'})"
