"""Bugs mended by the offline engine alone, by a model's fillings alone, and by both together.

    python -m benchmarks.local_model --record FILE --humaneval-fix humanevalpack.jsonl [--mutations 16] [--count 16]
        [--languages FILE …] [--ways engine,fillings,both]
        [--api-base URL] [--model NAME] [--budget 60] [--seed 1]

`humanevalpack.jsonl` is in `evaluation/create/humaneval-x/data/python/data` of bigcode-project/octopack, for
--languages in `js`, `java`, `rust`, `cpp`, `go` beside it; the development half is used, in an order of the seed's.
Mutations are made of this project's functions, and tried in a copy of its last commit that has no other tests. The
example tests, or the function's test file, judge in the search. The truth: hidden tests, or for a mutation the syntax
of the original, so that another right way to write it counts as wrong. "Claimed" is what would be written unasked. Each
task is one line of the record; what is in it already is not run again. VIRTUAL_ENV names this project's environment,
in which its tests run.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from agent.model.infill import filler as fillers
from benchmarks._measure import CHECKOUT
from benchmarks.local_model.counted_filler import CountedFiller
from benchmarks.local_model.fixes import copy_revision, read_fixes
from benchmarks.local_model.tasks import (
    Task,
    is_development,
    list_mutations,
    read_humaneval_fix,
    read_other_languages,
)
from packages.offline.commands.repair import open_workspace
from packages.offline.infill.filler import FILLER
from packages.offline.repair.engine import repair_engine
from packages.offline.repair.engine.candidates.ranking import select_confident_fixes
from packages.offline.repair.languages import language_engine
from packages.offline.repair.result import Fix
from sandbox.backends.selection import choose_sandbox
from sandbox.process.command import Command

WAYS = ("engine", "fillings", "both")

SILENT = ("all-pass", "unsteady", "cannot-run", "import-error")
"""Outcomes of a task that is none: the visible tests do not notice the fault, or cannot be run here."""

JUDGING = 120.0
"""Seconds for the hidden tests, which compile in some languages."""


def run_task(task: Task, way: str, root: Path, filler: CountedFiller | None, budget: float) -> dict[str, Any]:
    """Return how one way did on one task; `root` holds the project with the fault."""
    started = time.monotonic()
    with ExitStack() as stack:
        at = stack.enter_context(open_workspace(root))
        if way == "fillings":
            for engine in (repair_engine, language_engine):
                stack.enter_context(patch.object(engine, "generate_candidates", lambda *given: iter(())))
            stack.enter_context(patch.object(repair_engine, "FILLING_SHARE", 0.9))
        at.facts[FILLER] = filler
        result = asyncio.run(repair_engine.repair(at, targets=list(task.tests), budget=budget))
    seconds = time.monotonic() - started
    ranked = [each for each in (result.fixes, *result.alternatives) if each]
    judged = [{"fixes": [fix.as_data() for fix in each], "right": judge(task, each)} for each in ranked]
    sure = select_confident_fixes(result.fixes)
    return {
        "outcome": str(result.outcome),
        "reason": result.reason,
        "found": bool(result.fixes),
        "right": bool(judged) and bool(result.fixes) and judged[0]["right"],
        "right_among_five": any(each["right"] for each in judged[:5]),
        "claimed": bool(sure) and len(sure) == len(result.fixes) and result.outcome == "fixed",
        "seconds": round(seconds, 1),
        "tried": result.tried,
        **(filler.list_counts() if filler is not None else {}),
        "load": round(os.getloadavg()[0], 1),
        "candidates": judged,
    }


def judge(task: Task, fixes: Sequence[Fix]) -> bool:
    """Return whether a change is right: by the hidden tests in the sandbox, or by the original's syntax."""
    text = task.text
    for fix in fixes:
        if fix.path != task.program or text.count(fix.old) != 1:
            return False
        text = text.replace(fix.old, fix.new)
    if task.original:
        try:
            return ast.dump(ast.parse(text)) == ast.dump(ast.parse(task.original))
        except SyntaxError:
            return False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        write_files(place, {**task.hidden, task.program: text})
        command = Command(argv=("sh", "-c", task.check), cwd=place, timeout=JUDGING)
        return asyncio.run(choose_sandbox(place).run(command)).returncode == 0


def find_half(task: Task) -> str:
    """Return the name of the half that a task belongs to."""
    return "development" if is_development(task.id) else "held"


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write texts below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


class Project:
    """Folder with a task's project; the copy of a repository is kept for the next task of the same revision."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "project"
        self._kept: tuple[Path, str] | None = None

    def place(self, task: Task) -> Path:
        """Write the project with the fault; return its root."""
        key = (task.source, task.revision) if task.source is not None else None
        if key is None or key != self._kept:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root.mkdir()
            if task.source is not None:
                copy_revision(task.source, task.revision, self._root)
            self._kept = key
        if task.source is not None and task.is_alone:
            for path in self._root.glob("tests/**/test_*.py"):
                path.unlink()
            for name in task.tests:
                shutil.copyfile(task.source / name, self._root / name)
        write_files(self._root, {**task.files, task.program: task.text})
        return self._root

    def clear(self, task: Task, root: Path) -> None:
        """Put the original back, for the next task in the same copy."""
        if task.source is not None:
            (root / task.program).write_text(task.original)


def list_tasks(options: argparse.Namespace) -> Iterator[tuple[str, int, Iterator[Task]]]:
    """Yield suites with the number of their tasks to run."""
    if options.humaneval_fix is not None:
        if not options.humaneval_fix.is_file():
            raise SystemExit(f"no such file: {options.humaneval_fix} (see the module's docstring)")
        tasks = read_humaneval_fix(options.humaneval_fix)
        random.Random(options.seed).shuffle(tasks)
        yield "humaneval-fix", options.count or len(tasks), iter(tasks)
    for path in options.languages:
        tasks = read_other_languages(path, options.go_modules)
        random.Random(options.seed).shuffle(tasks)
        yield tasks[0].id.partition("/")[0], options.count or len(tasks), iter(tasks)
    if options.fixes is not None:
        fixes = list(read_fixes(options.fixes, options.mirrors))
        random.Random(options.seed).shuffle(fixes)
        yield "fixes", options.count or len(fixes), iter(fixes)
    if options.mutations:
        yield "mutations", options.mutations, list_mutations(CHECKOUT, options.seed)


def read_record(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the entries of a record by task and way."""
    lines = path.read_text().splitlines() if path.exists() else []
    entries = [json.loads(line) for line in lines]
    return {(each["task"], each["way"]): each for each in entries}


def main() -> None:
    """Run the tasks by each way, one after the other, and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--humaneval-fix", type=Path, default=os.environ.get("HUMANEVAL_FIX"), metavar="FILE")
    parser.add_argument("--languages", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--go-modules", type=Path, metavar="FOLDER", help="a go.mod and vendor, with testify")
    parser.add_argument(
        "--fixes", type=Path, metavar="FILE", help="list made by benchmarks.local_model.fixes"
    )
    parser.add_argument("--mirrors", type=Path, help="folder with git folders, OWNER+NAME/repo, of the fixes")
    parser.add_argument(
        "--count", type=int, default=0, help="tasks of HumanEvalFix whose tests fail; 0 for all"
    )
    parser.add_argument("--mutations", type=int, default=0, help="mutations that the tests notice")
    parser.add_argument("--half", choices=("development", "held"), help="only tasks of this half")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--api-base", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument(
        "--patience", type=float, default=fillers.PATIENCE, help="seconds for a filling, on a busy machine"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.humaneval_fix is not None:
        options.humaneval_fix = Path(options.humaneval_fix)
    fillers.PATIENCE = options.patience
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        for suite, most, tasks in list_tasks(options):
            run = 0
            for task in tasks:
                if run >= most:
                    break
                if options.half and find_half(task) != options.half:
                    continue
                entries = run_ways(task, suite, options, project)
                run += any(each["outcome"] not in SILENT for each in entries)
    print_sums(list(read_record(options.record).values()))


def run_ways(
    task: Task,
    suite: str,
    options: argparse.Namespace,
    project: Project,
) -> list[dict[str, Any]]:
    """Run a task by each way that is not in the record; return the entries of all."""
    known = read_record(options.record)  # by the way of another process, too
    entries = [known[task.id, way] for way in WAYS if (task.id, way) in known]
    for way in options.ways.split(","):
        if any(each["outcome"] in SILENT for each in entries):
            break
        entry = known.get((task.id, way))
        if entry is None:
            root = project.place(task)
            filler = None
            if way != "engine":
                filler = CountedFiller(options.api_base, options.model)
            try:
                outcome = run_task(task, way, root, filler, options.budget)
            finally:
                project.clear(task, root)
            entry = {
                "suite": suite,
                "half": find_half(task),
                "task": task.id,
                "way": way,
                "seed": options.seed,
                **outcome,
            }
            with options.record.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            shown = {key: value for key, value in entry.items() if key != "candidates"}
            print(json.dumps(shown), flush=True)
            entries.append(entry)
    return entries


def print_sums(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print a row for each suite and way."""
    print(
        "| suite | way | tasks | right | among five | claimed | claimed, right | seconds | candidates"
        " | gaps asked | unanswered | tokens read | written |"
    )
    print("|---|---|" + "--:|" * 11)
    keys = [(f"{each['suite']}, {each['half']}", each["way"]) for each in entries]
    for suite, way in sorted(set(keys)):
        rows = [
            each
            for key, each in zip(keys, entries, strict=True)
            if key == (suite, way) and each["outcome"] not in SILENT
        ]
        claims = [each for each in rows if each["claimed"]]
        sums = [sum(each[key] for each in rows) for key in ("right", "right_among_five")]
        means = [
            sum(each.get(key, 0) for each in rows) / max(1, len(rows))
            for key in ("seconds", "tried", "asked", "unanswered", "read", "written")
        ]
        print(
            f"| {suite} | {way} | {len(rows)} | {sums[0]} | {sums[1]} | {len(claims)} |"
            f" {sum(each['right'] for each in claims)} | "
            + " | ".join(f"{each:.0f}" for each in means)
            + " |"
        )


if __name__ == "__main__":
    main()
