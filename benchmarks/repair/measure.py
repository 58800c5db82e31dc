"""One case: a workspace of its own, the engine on it, the judge on what it found."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.repair.cases import Case
from sandbox.backends.selection import choose_sandbox
from sandbox.fs.workspace_tree import Tree
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace
from tools.repair.engine import repair_engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of a case.

    plausible: every test passes with the fixes; right: the judge agrees
    touched_tests: a fix is of a test file, which must never be
    cpu, wall: seconds of this process and the engine's workers
    """

    name: str
    kind: str
    outcome: str
    plausible: bool
    right: bool
    exact: bool
    touched_tests: bool
    tried: int
    cpu: float
    wall: float
    fixes: list[dict[str, Any]]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def measured(cases: Iterable[Case], budget: float, jobs: int) -> Iterator[Measured]:
    """The cases as they end; several at a time each in a thread of its own, where our own CPU time is shared out."""
    if jobs == 1:
        yield from (measure(case, budget) for case in cases)
        return
    with ThreadPoolExecutor(jobs) as pool:
        yield from (each.result() for each in as_completed(pool.submit(measure, c, budget) for c in cases))


def measure(case: Case, budget: float) -> Measured:
    """Repair the case and judge what the engine chose first."""
    with tempfile.TemporaryDirectory() as name:
        at = workspace(Path(name), case.files)
        before, started = _cpu(), time.monotonic()
        result = asyncio.run(repair_engine.repair(at, budget=budget))
        cpu, wall = _cpu() - before + result.cpu, time.monotonic() - started
    text = case.files[case.target]
    foreign = False
    for fix in result.fixes:
        foreign = foreign or fix.path != case.target
        text = text.replace(fix.old, fix.new)
    plausible = result.outcome == "fixed"
    exact = _squeezed(text) == _squeezed(case.reference)
    return Measured(
        name=case.name,
        kind=case.kind,
        outcome=str(result.outcome),
        plausible=plausible,
        # What is the reference needs no judge: the judge's time limits could tell the two apart on a busy machine.
        right=plausible and not foreign and (exact or case.right(text)),
        exact=exact,
        touched_tests=foreign,
        tried=result.tried,
        cpu=cpu,
        wall=wall,
        fixes=[fix.as_data() for fix in result.fixes],
    )


def tested_with(python: Path, root: Path) -> None:
    """Say which Python runs the tests, as a person would, and where the project stands if it is laid out in `src`.

    There the judge finds it, should a need of some project, or pytest's own, have brought another version of it.
    """
    os.environ["VIRTUAL_ENV"] = str(python.parent.parent)
    os.environ["PYTHONPATH"] = str(root / "src")


def workspace(folder: Path, files: Mapping[str, str]) -> Workspace:
    root, spill = folder / "work", folder / "spill"
    spill.mkdir(parents=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=choose_sandbox(root, spill=spill),
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache"),
    )


def _cpu() -> float:
    """CPU seconds of this thread; the workers' own are counted by themselves."""
    return time.thread_time()


def _squeezed(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
