"""QuixBugs in Python (Lin et al., SPLASH 2017): 40 small programs with a one-line fault and their published tests.

A clone of github.com/jkoppel/QuixBugs is read, nothing of it is kept here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.repair.cases import Case, alike, answers
from benchmarks.repair.quixbugs_inputs import MAKERS

INPUTS = 400


def cases(clone: Path) -> list[Case]:
    """All 40, in order of name."""
    return [_case(clone, name) for name in sorted(MAKERS)]


def _case(clone: Path, name: str) -> Case:
    files = {
        f"python_programs/{name}.py": _program(clone / f"python_programs/{name}.py"),
        f"python_testcases/test_{name}.py": (clone / f"python_testcases/test_{name}.py").read_text(),
        "python_testcases/node.py": (clone / "python_testcases/node.py").read_text(),
        "python_testcases/load_testdata.py": (clone / "python_testcases/load_testdata.py").read_text(),
        "conftest.py": (clone / "conftest.py").read_text(),
    }
    data = clone / f"json_testcases/{name}.json"
    if data.is_file():
        files[f"json_testcases/{name}.json"] = data.read_text()
    reference = _program(clone / f"correct_python_programs/{name}.py")
    return Case(
        name=name,
        kind="quixbugs",
        files=files,
        target=f"python_programs/{name}.py",
        right=_judge(name, reference),
        reference=reference,
    )


def _program(path: Path) -> str:
    """Without the text after the program: it describes the fault, or lists right versions."""
    head, _, _ = path.read_text().partition('\n"""')
    return head + "\n"


def _judge(name: str, reference: str) -> Callable[[str], bool]:
    inputs = [f"{name}:{seed}" for seed in range(INPUTS)]
    if name != "sqrt":
        return partial(_agrees, reference, name, inputs, 0.0)
    # Newton's iteration may stop sooner or later: any answer is right that is as near as was asked for.
    return lambda text: all(
        _agrees(reference, name, [each], epsilon, text)
        for epsilon, each in ((0.5, [27, 0.5]), (0.02, [27, 0.01]), (0.2, [170, 0.1]), (0.02, [2, 0.01]))
    )


def _agrees(reference: str, name: str, inputs: list[object], tolerance: float, text: str) -> bool:
    return alike(answers(reference, name, inputs), answers(text, name, inputs), tolerance)
