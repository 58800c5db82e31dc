"""HumanEvalFix (Muennighoff et al., OctoPack, 2023): small functions into which people put a fault, in six languages.

The published checks are in the worktree and run again by the checker. In Python the answers on inputs that are made by
changing those of the checks are compared with the canonical solution's, too.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from packages.evaluation.suites.built_task import (
    BuildRequest,
    BuiltTask,
    MissingTask,
    build_program_task,
    make_task_name,
)
from packages.evaluation.suites.programs.humanevalfix_layouts import LAYOUTS, Layout
from packages.evaluation.suites.programs.program_answers import CHECK, ProgramCases, compute_answers
from packages.evaluation.suites.programs.toolchains import find_missing_tool
from packages.evaluation.suites.programs.varied_inputs import vary_arguments
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.source_folder import read_data_file

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

HELD_OUT = 50

SECONDS = 120.0

PROMPT = """\
The function `{entry}` in `{solution}` has a fault: the checks in `{tests}` fail. What it is to do:

{docstring}

Find the fault and mend it in `{solution}`. Leave the checks as they are; the function has to be right for other inputs,
too.
"""


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the tasks by language, in the data set's order."""
    with open_scratch(request.access) as at:
        for language, layout in LAYOUTS.items():
            if request.languages and language not in request.languages:
                continue
            path = f"evaluation/create/humaneval-x/data/{layout.folder}/data/humanevalpack.jsonl"
            content = read_data_file(request.source, path)
            if content is None:
                continue
            missing = find_missing_tool(language)
            for line in content.splitlines():
                record = json.loads(line)
                name = make_task_name(record["task_id"])
                if not request.selects(record["task_id"], language) or not request.is_wanted(name):
                    continue
                reason = f"{missing} is not installed" if missing else layout.find_obstacle(record)
                if reason:
                    yield MissingTask(name=name, reason=reason)
                else:
                    yield _build_task(name, record, language, layout, at)


def _build_task(
    name: str, record: Mapping[str, str], language: str, layout: Layout, at: Workspace
) -> BuiltTask:
    entry = record["entry_point"]
    laid = layout.lay_out(record)
    check, checker = laid.check, dict(laid.checker_files)
    if language == "python":
        reference = laid.solution.decode()
        inputs = _make_inputs(record["test"], entry, record["task_id"])
        if inputs:
            cases = ProgramCases(
                target=layout.solution,
                entry=entry,
                inputs=inputs,
                expected=compute_answers(at, reference, entry, inputs),
                margins=[1e-6] * len(inputs),
            )
            check, checker = f"{check} && {CHECK}", {**checker, **cases.build_checker()}
    return build_program_task(
        name,
        prompt=PROMPT.format(
            entry=entry, solution=layout.solution, tests=layout.tests, docstring=_indent(record["docstring"])
        ),
        files=laid.files,
        check=check,
        checker_files=checker,
        solution={layout.solution: laid.solution},
        language=language,
        tags=["humanevalfix", record["bug_type"], language],
        seconds=SECONDS,
        check_seconds=180.0,
    )


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip().splitlines())


def _make_inputs(text: str, entry: str, seed: str) -> list[list[Any]]:
    """Return the inputs of the checks as far as they are literals, and those made by changing them."""
    calls = [each for each in ast.walk(ast.parse(text.strip())) if isinstance(each, ast.Call)]
    named = [
        each for each in calls if getattr(each.func, "id", "") in (entry, "candidate") and not each.keywords
    ]
    given = [each for each in map(_read_literals, named) if each]
    draw = Random(seed)
    return given + [vary_arguments(draw, given) for _ in range(HELD_OUT if given else 0)]


def _read_literals(call: ast.Call) -> list[Any] | None:
    """Return the arguments of a call, None where one is computed or no JSON."""
    try:
        found = [ast.literal_eval(each) for each in call.args]
        json.dumps(found)
    except (ValueError, TypeError):
        return None
    return found
