"""RefactorBench (Gautam et al., ICLR 2025): refactorings over several files, checked on the syntax tree.

Five of its repositories are checked without being installed. Their files become commits of one repository in the
suite's folder, so that ten tasks of a project share one copy. An engine that mends faults has nothing to mend here:
build the suite with `--refuse` for it, so that an honest refusal is the expected result.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packages.evaluation.suites.built_task import BuildRequest, BuiltTask, MissingTask, make_task_name
from packages.evaluation.suites.projects.commit_store import CommitStore
from packages.evaluation.suites.source_folder import read_data_file
from packages.evaluation.tasks.task_file import BaseFiles, TaskFile, TaskLimits
from packages.evaluation.tasks.task_writer import TaskDraft
from sandbox.lazy_pattern import compile_lazily

PROJECTS = ("flask", "requests", "celery", "scrapy", "fastapi")
"""Repositories whose tests read the syntax tree only."""

SECONDS = 600.0

STORE = ".repository"
"""Folder of the suite with the projects' commits."""

_ENTRY = compile_lazily(r"'\.\./tests/([^']+)'\s*:\s*'\.\./(problems/[^']+)'")

_RUN = """\
import re
import subprocess
import sys

done = subprocess.run([sys.executable, "-I", "-B", "tests.py"], cwd=".refactorbench", stderr=subprocess.PIPE, text=True)
sys.stderr.write(done.stderr)
raise SystemExit(done.returncode or not re.search(r"Ran [1-9]", done.stderr))
"""


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the tasks of the data set's own list, in its order."""
    text = (read_data_file(request.source, "scripts/base_mapping.py") or b"").decode("utf-8", "replace")
    store: CommitStore | None = None
    commits: dict[str, str] = {}
    for test, problem in _ENTRY.findall(text):
        project = test.partition("/")[0].removesuffix("_refactor")
        name = make_task_name(project, Path(test).stem.removesuffix("-test"))
        if not request.selects(test, "python") or not request.is_wanted(name):
            continue
        place = request.source / "repositories" / f"{project}_refactor"
        reason = _find_obstacle(request.source, project, place, test, problem)
        if reason:
            yield MissingTask(name=name, reason=reason)
            continue
        if project not in commits:
            store = store or CommitStore.open(request.output / STORE)
            commits[project] = store.add_folder(place, f"{project} as RefactorBench has it")
        file = TaskFile(
            base=BaseFiles(repository=f"../{STORE}", commit=commits[project]),
            check="python3 -I -B .refactorbench/run.py",
            limits=TaskLimits(seconds=SECONDS),
            tags=("refactorbench", project),
            language="python",
        )
        checker = {
            ".refactorbench/tests.py": read_data_file(request.source, f"tests/{test}") or b"",
            ".refactorbench/run.py": _RUN.encode(),
        }
        prompt = (read_data_file(request.source, problem) or b"").decode("utf-8", "replace")
        yield BuiltTask(name=name, draft=TaskDraft(file=file, prompt=prompt, checker_files=checker))


def _find_obstacle(source: Path, project: str, place: Path, test: str, problem: str) -> str:
    if project not in PROJECTS:
        return f"{project} runs only when it is installed"
    if not place.is_dir():
        return f"the repository of {project} is not in the folder"
    if not read_data_file(source, f"tests/{test}") or not read_data_file(source, problem):
        return "its test or its text is not in the folder"
    return ""
