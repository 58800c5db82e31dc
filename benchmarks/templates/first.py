"""Time to the first plausible change, beside the tests' own run: `python -m benchmarks.templates.first` (`--help`).

A fault is put into a project: one operator, constant or `not`, in a function that tests run. Then the project's whole
suite is run plainly, and the engine is asked to repair it with nothing said of which tests fail. The time counts up to
the first change with which the failing tests pass and every passing test that runs its place.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.source_folder import GitHistory
from packages.offline.repair.engine import repair_engine
from packages.offline.repair.localize.coverage_spectrum import is_test_file

SEED = 20261123
# Places that are looked at until one is found where a fault makes tests fail.
ATTEMPTS = 12
# A fault of which more tests fail is one that nobody commits.
MOST_FAILING = 40

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A place, and the statement's text with the fault in it."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds by the clock: of the suite alone, to the first plausible change, to the end with the suite's last word.

    place: of the faulty line among the suspicious statements; 0 if it is not among the first ten
    """

    name: str
    fault: str
    own: float
    first: float | None
    whole: float
    place: int
    outcome: str


def main() -> None:
    options = _parser().parse_args()
    done: list[Timed] = []
    for clone in options.clones:
        for number in range(options.faults):
            timed = measure(clone.resolve(), options, random.Random(f"{options.seed} {clone.name} {number}"))
            if timed is None:
                print(f"{clone.name:16} no fault was found that few tests notice", flush=True)
                continue
            done.append(timed)
            print(_line(timed), flush=True)
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(timed)) + "\n")
    _report(done)


def measure(clone: Path, options: argparse.Namespace, draw: random.Random) -> Timed | None:
    """One fault in a project: the suite's own time, then the engine's; None when no fault that is drawn will do."""
    with open_scratch() as at:
        GitHistory(clone).export("HEAD", at.root)
        # As a person would: which Python runs the tests, and where a project in `src` is.
        os.environ["VIRTUAL_ENV"] = str(options.python.parent.parent)
        os.environ["PYTHONPATH"] = str(at.root / "src")
        plain = suite(at.root, options.python)  # writes the byte code as well
        for fault in _drawn(at.root, draw):
            file = at.root / fault.path
            sound = file.read_text("utf-8")
            file.write_text(fault.text, "utf-8")
            own = suite(at.root, options.python)
            if (
                own.failed - plain.failed
                and len(own.failed - plain.failed) <= MOST_FAILING
                and own.seconds > plain.seconds / 2
            ):
                break
            file.write_text(sound, "utf-8")
        else:
            return None
        began, first = time.monotonic(), []

        def told(line: str) -> None:
            if ".py:" in line.partition(" ")[0]:
                first.append(time.monotonic() - began)

        targets = sorted(own.failed - plain.failed) if options.named else ()
        result = asyncio.run(
            repair_engine.repair(at, targets=targets, budget=options.budget, on_progress=told)
        )
        whole = time.monotonic() - began
        ranking, _ = asyncio.run(repair_engine.localize_faults(at, targets, options.budget))
        places = [(each.path, each.line <= fault.line <= each.end_line) for each in ranking.suspects[:10]]
    return Timed(
        name=clone.name, fault=f"{fault.path}:{fault.line}", own=round(own.seconds, 2),
        first=round(first[0], 2) if first else None, whole=round(whole, 2),
        place=places.index((fault.path, True)) + 1 if (fault.path, True) in places else 0,
        outcome=str(result.outcome),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suite:
    """A plain run of pytest: how long it took by the clock, and what failed."""

    seconds: float
    failed: frozenset[str]


def suite(root: Path, python: Path) -> Suite:
    command = [str(python), "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=600,
    )  # fmt: skip
    lines = [
        line.split(" ", 2)[1] for line in done.stdout.split("\n") if line.startswith(("FAILED ", "ERROR "))
    ]
    return Suite(time.monotonic() - began, frozenset(lines))


def _drawn(root: Path, draw: random.Random) -> Iterator[Fault]:
    paths = [path.relative_to(root) for path in sorted(root.rglob("*.py"))]
    own = [p for p in paths if not is_test_file(str(p)) and _is_code(p)]
    drawn = 0
    while drawn < ATTEMPTS and own:
        path = draw.choice(own)
        made = list(faults((root / path).read_text("utf-8", "replace")))
        if not made:
            own.remove(path)
            continue
        drawn += 1
        line, text = draw.choice(made)
        yield Fault(path=str(path), line=line, text=text)


def _is_code(path: Path) -> bool:
    beside = {"setup.py", "conf.py", "conftest.py", "noxfile.py", "tasks.py", "__main__.py"}
    return path.name not in beside and not {"docs", "examples", "benchmarks", "tools", "bench"} & set(
        path.parts
    )


def faults(text: str) -> Iterator[tuple[int, str]]:
    """(line, the whole text) of each fault that can be put into the functions of a file."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(ast.Module(body=function.body, type_ignores=[])):
                if isinstance(node, ast.expr) and (new := _faulty(node)) is not None:
                    yield node.lineno, _replaced(text, node, new)


def _faulty(node: ast.expr) -> str | None:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return f"{ast.unparse(left)} {_COMPARED[type(op)]} {ast.unparse(right)}"
        case ast.BoolOp(op=op, values=[one, other]):
            return f"({ast.unparse(one)}) {'or' if isinstance(op, ast.And) else 'and'} ({ast.unparse(other)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.unparse(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
            return f"({ast.unparse(left)}) {_COMPUTED[type(op)]} ({ast.unparse(right)})"
        case ast.Constant(value=int() as value) if not isinstance(value, bool) and value < 100:
            return str(value + 1)
    return None


def _replaced(text: str, node: ast.expr, new: str) -> str:
    assert node.end_lineno is not None
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + (node.end_col_offset or 0)
    data = b"".join(lines)
    return (data[:start] + new.encode() + data[end:]).decode()


def _line(timed: Timed) -> str:
    first = (
        "no change"
        if timed.first is None
        else f"first {timed.first:5.1f} s = {timed.first / timed.own:4.2f} ×"
    )
    return (
        f"{timed.name:16} {timed.fault:44.44} own {timed.own:5.1f} s  {first:26} end {timed.whole:5.1f} s  "
        f"place {timed.place or '–':2}  {timed.outcome}"
    )


def _report(done: Sequence[Timed]) -> None:
    ratios = sorted(each.first / each.own for each in done if each.first is not None and each.place)
    if not ratios:
        sys.exit("benchmarks.templates.first: no fault was among the first ten and mended")
    within = sum(each <= 2 for each in ratios)
    print(
        f"\n{len(done)} faults, {len(ratios)} of them among the first ten statements and mended: to the first "
        f"plausible change {statistics.median(ratios):.2f} times the suite's own run (median), {ratios[-1]:.2f} at "
        f"most; {within} within twice"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.templates.first", description=__doc__)
    parser.add_argument(
        "clones", nargs="+", type=Path, help="clones of projects whose suites take up to a minute"
    )
    parser.add_argument(
        "--python", type=Path, required=True, help="an interpreter that has what the projects need"
    )
    parser.add_argument("--faults", type=int, default=3, help="for each project")
    parser.add_argument("--named", action="store_true", help="say which tests fail")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds a fault")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path, help="append each result to this file")
    return parser


if __name__ == "__main__":
    main()
