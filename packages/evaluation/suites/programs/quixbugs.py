"""QuixBugs in Python (Lin et al., SPLASH 2017): 40 small programs with a fault of one line and their published tests.

The checker holds a program to the reference's answers on inputs drawn by what each program demands: the published
tests are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packages.evaluation.suites.built_task import BuildRequest, BuiltTask, MissingTask, build_program_task
from packages.evaluation.suites.programs.drawn_inputs import MAKERS
from packages.evaluation.suites.programs.program_answers import CHECK, ProgramCases, compute_answers
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.source_folder import read_data_file

INPUTS = 400

SECONDS = 120.0

_SQRT = (([27, 0.5], 0.5), ([27, 0.01], 0.02), ([170, 0.1], 0.2), ([2, 0.01], 0.02))
"""Newton's iteration may stop sooner or later: any answer is right that is as near as was asked for."""

PROMPT = """\
The program `python_programs/{name}.py` has a fault: tests in `python_testcases/test_{name}.py` fail.

Find the fault and mend it in `python_programs/{name}.py`. Leave the tests as they are; the program has to be right for
other inputs, too.
"""


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the programs in order of name."""
    with open_scratch(request.access) as at:
        for name in sorted(MAKERS):
            if not request.selects(name, "python") or not request.is_wanted(name):
                continue
            program = read_data_file(request.source, f"python_programs/{name}.py")
            right = read_data_file(request.source, f"correct_python_programs/{name}.py")
            if program is None or right is None:
                yield MissingTask(name=name, reason="the program is not in the folder")
                continue
            files = {**_read_files(request.source, name), f"python_programs/{name}.py": _cut_program(program)}
            reference = _cut_program(right)
            inputs: list[Any] = [f"{name}:{seed}" for seed in range(INPUTS)]
            margins = [0.0] * INPUTS
            if name == "sqrt":
                inputs, margins = [each for each, _ in _SQRT], [margin for _, margin in _SQRT]
            cases = ProgramCases(
                target=f"python_programs/{name}.py",
                entry=name,
                inputs=inputs,
                expected=compute_answers(at, reference.decode(), name, inputs),
                margins=margins,
            )
            yield build_program_task(
                name,
                prompt=PROMPT.format(name=name),
                files=files,
                check=CHECK,
                checker_files=cases.build_checker(),
                solution={f"python_programs/{name}.py": reference},
                language="python",
                tags=["quixbugs"],
                seconds=SECONDS,
            )


def _read_files(source: Path, name: str) -> dict[str, bytes]:
    paths = [
        f"python_testcases/test_{name}.py",
        "python_testcases/node.py",
        "python_testcases/load_testdata.py",
        "conftest.py",
        f"json_testcases/{name}.json",
    ]
    contents = {path: read_data_file(source, path) for path in paths}
    return {path: content for path, content in contents.items() if content is not None}


def _cut_program(text: bytes) -> bytes:
    """Return a program without the text after it, which describes the fault or lists right versions."""
    head, _, _ = text.partition(b'\n"""')
    return head + b"\n"
