"""Reproduction of real issues without a model: how many, and whether each is true.

    python -m benchmarks.verification.reproduction run INSTANCES.jsonl OUT.jsonl --scratch DIR \\
        sympy=CLONE:PYTHON django=CLONE:PYTHON
    python -m benchmarks.verification.reproduction report OUT.jsonl

INSTANCES has the fields of SWE-bench; a CLONE is any git folder of the project with the commits, a PYTHON an
interpreter with what the project needs. A reproduction is true if its script fails before and passes with the
instance's own patch. The scripts of the issues, and the projects, run in the sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packages.offline.reproduction.drafts import build_drafts
from packages.offline.reproduction.machine import is_told_failure, reproduce
from packages.offline.reproduction.probe_run import ProbeRunner, find_packages
from packages.offline.reproduction.report.extract import extract_report
from sandbox.backends.selection import choose_sandbox
from sandbox.fs.workspace_tree import Tree
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace

SECONDS = 1800.0
"""Of wall time for one issue: the machine may be shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project whose issues are run: its git folder and its interpreter."""

    clone: Path
    python: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Outcome of one issue.

    has_code: the issue holds a snippet or a trace; after: "passes", "fails as told" or "fails otherwise" when fixed
    tells_result: it also tells what some of this code does or should do, which has to be compared
    """

    name: str
    repo: str
    has_code: bool
    outcome: str
    kind: str
    reason: str
    after: str
    script: str
    rejected: list[str]
    runs: int
    seconds: float
    tells_result: bool = False

    @property
    def is_true(self) -> bool:
        return self.outcome == "reproduced" and self.after == "passes"


def main() -> None:
    options = _parser().parse_args()
    if options.command == "report":
        print(report([Result(**json.loads(line)) for line in options.results.read_text().splitlines()]))
        return
    if not options.instances.is_file():
        sys.exit(
            f"{options.instances} is missing: name a file of SWE-bench instances, one JSON object a line"
        )
    projects = dict(_parse_project(each) for each in options.projects)
    done = set()
    if options.results.exists():
        done = {json.loads(line)["name"] for line in options.results.read_text().splitlines()}
    options.scratch.mkdir(parents=True, exist_ok=True)
    with options.results.open("a", encoding="utf-8") as file:
        for instance in _select(options.instances, projects, options.only, done):
            result = measure(instance, projects[instance["repo"].split("/")[1]], options.scratch)
            file.write(json.dumps(asdict(result)) + "\n")
            file.flush()
            word = (
                ("TRUE" if result.is_true else "FALSE") if result.outcome == "reproduced" else result.outcome
            )
            print(
                f"{result.name:34} {word:15} {result.kind:10} {result.after:16} {result.runs:3} runs "
                f"{result.seconds:5.1f} s  {result.reason[:110]}",
                flush=True,
            )


def measure(instance: Mapping[str, Any], project: Project, scratch: Path) -> Result:
    """Reproduce one issue at its base, and run the script again with its patch."""
    text = instance["problem_statement"]
    if not extract_report(text).has_code:
        return Result(
            name=instance["instance_id"], repo=instance["repo"], has_code=False, outcome="not-reproduced", kind="",
            reason="no snippet and no trace", after="", script="", rejected=[], runs=0, seconds=0.0,
        )  # fmt: skip
    name = instance["repo"].split("/")[1]
    root = (scratch / name).resolve()
    if not root.exists():
        _git(scratch, "clone", "-q", "--shared", "--no-checkout", str(project.clone.resolve()), str(root))
    _git(root, "checkout", "-q", "-f", instance["base_commit"])
    _git(root, "clean", "-fdq")
    os.environ["VIRTUAL_ENV"] = str(project.python.parent.parent)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        at = _open_workspace(root, Path(folder), scratch / "cache")
        found = asyncio.run(reproduce(at, text, seconds=SECONDS))
        after = ""
        if found.is_reproduced and found.failure is not None:
            _git(root, "apply", "--whitespace=nowarn", "-", text=instance["patch"])
            runner = ProbeRunner(at=at, python=found.python, packages=find_packages(root))
            done = asyncio.run(runner.run_script(found.script))
            told = is_told_failure(done.returncode, done.stdout.text(), found.failure)
            after = "passes" if done.returncode == 0 else "fails as told" if told else "fails otherwise"
    return Result(
        name=instance["instance_id"], repo=instance["repo"], has_code=extract_report(text).has_code,
        outcome=str(found.outcome), kind=found.failure.kind if found.failure else "", reason=found.reason, after=after,
        script=found.script, rejected=[f"{each.reason}: {each.detail}" for each in found.rejections],
        runs=found.runs, seconds=round(time.monotonic() - began, 1), tells_result=tells_result(text),
    )  # fmt: skip


def tells_result(text: str) -> bool:
    """Return whether a report tells an output, an exception or a right value of code that it holds."""
    found = extract_report(text)
    drafts = build_drafts(found)
    told = any(each.output or each.expected or each.error for draft in drafts for each in draft.exchanges)
    return told or bool(drafts and any(each.role != "expected" for each in found.errors))


def report(results: Sequence[Result]) -> str:
    """Return the table by project, and the causes of misses."""
    rows = [
        "project                   reports  with code  told  reproduced  true  false  share  median s  runs"
    ]
    by_repo: dict[str, list[Result]] = defaultdict(list)
    for each in results:
        by_repo[each.repo].append(each)
    for name, group in [*sorted(by_repo.items()), ("all", list(results))]:
        code = [each for each in group if each.has_code]
        claimed = [each for each in group if each.outcome == "reproduced"]
        true = [each for each in claimed if each.is_true]
        share = f"{100 * len([e for e in true if e.has_code]) / len(code):.0f} %" if code else "–"
        seconds = sorted(each.seconds for each in group)
        rows.append(
            f"{name:25} {len(group):7} {len(code):10} {sum(e.tells_result for e in code):5} "
            f"{len(claimed):11} {len(true):5} {len(claimed) - len(true):6} "
            f"{share:>6} {seconds[len(seconds) // 2]:9.1f} {sum(e.runs for e in group):5}"
        )
    misses = Counter(
        each.reason.partition(" (")[0] for each in results if each.has_code and each.outcome != "reproduced"
    )
    rows += [
        "",
        "causes of misses (with code)",
        *(f"{count:4}  {reason}" for reason, count in misses.most_common()),
    ]
    return "\n".join(rows)


def _select(
    instances: Path, projects: Mapping[str, Project], only: Sequence[str], done: set[str]
) -> Iterator[Mapping[str, Any]]:
    for line in instances.read_text("utf-8").splitlines():
        instance = json.loads(line)
        name = instance["instance_id"]
        wanted = not only or any(part in name for part in only)
        if instance["repo"].split("/")[1] in projects and wanted and name not in done:
            yield instance


def _open_workspace(root: Path, folder: Path, cache: Path) -> Workspace:
    (folder / "spill").mkdir()
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=choose_sandbox(root, spill=folder / "spill"),
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache", shared=cache),
    )


def _parse_project(text: str) -> tuple[str, Project]:
    name, _, rest = text.partition("=")
    clone, _, python = rest.rpartition(":")
    for path in (clone, python):
        if not Path(path).exists():
            sys.exit(f"{name}: {path or '(nothing)'} is missing; give NAME=CLONE:PYTHON")
    return name, Project(clone=Path(clone), python=Path(python).absolute())


def _git(folder: Path, *arguments: str, text: str | None = None) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.verification.reproduction", description=(__doc__ or "").split("\n")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="reproduce the issues")
    running.add_argument("instances", type=Path)
    running.add_argument(
        "results", type=Path, help="file of JSON lines that is added to; what is in it is not run again"
    )
    running.add_argument(
        "projects", nargs="+", help="NAME=CLONE:PYTHON, the name being what stands after the / in `repo`"
    )
    running.add_argument("--scratch", type=Path, required=True, help="folder for clones that are changed")
    running.add_argument("--only", nargs="*", default=(), help="parts of names")
    told = commands.add_parser("report", help="the table")
    told.add_argument("results", type=Path)
    return parser


if __name__ == "__main__":
    main()
