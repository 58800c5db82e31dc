"""Bug fixes of public repositories since a day, of one hunk with tests: code that a model of before has not seen.

    python -m benchmarks.local_model.fixes MIRRORS OUT.jsonl [--since 2026-01-01] [--most 6] [--seed 1] [OWNER+NAME …]

MIRRORS holds git folders, OWNER+NAME/repo. A commit counts if it changes one Python file beside tests, there one hunk
of few lines, if the test files that it changes pass with it, and if some of their tests fail without it. They run in
the sandbox, with the environment that VIRTUAL_ENV names: nothing of the repositories is installed. OUT has no code.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.local_model.tasks import Task, is_development
from packages.offline.commands.repair import open_workspace
from tools.testing import run
from tools.testing.report import TestReport

LONGEST_HUNK = 8
"""Lines of the hunk, old and new ones each: an issue of this size is a fault, and not a feature."""

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.M)


def read_git(repository: Path, *arguments: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(
        ["git", f"--git-dir={repository}", *arguments], capture_output=True, text=True, check=True
    ).stdout


def copy_revision(repository: Path, revision: str, root: Path) -> None:
    """Write the files of a revision into a folder."""
    git = [repository] if (repository / "objects").is_dir() else [repository / ".git"]
    archive = subprocess.run(
        ["git", f"--git-dir={git[0]}", "archive", revision], capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "x"], cwd=root, input=archive, check=True)


def list_commits(repository: Path, since: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield commits, each with the program and the test files that it changes, newest first."""
    log = read_git(
        repository,
        "log",
        "--no-merges",
        f"--since={since}",
        "--diff-filter=AM",
        "--name-only",
        "--format=%x00%H",
    )
    for entry in log.split("\0")[1:]:
        commit, *names = entry.split()
        code = [
            name for name in names if name.endswith(".py") and not name.startswith(("docs/", "examples/"))
        ]
        tests = [name for name in code if is_test(name)]
        programs = [name for name in code if not is_test(name) and "/test" not in f"/{name}"]
        if len(programs) == 1 and tests and has_small_hunk(repository, commit, programs[0]):
            yield commit, programs[0], tests


def is_test(path: str) -> bool:
    """Return whether a file has tests, by its name."""
    name = path.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def has_small_hunk(repository: Path, commit: str, program: str) -> bool:
    """Return whether a commit changes a file in one hunk of few lines."""
    diff = read_git(repository, "diff", "-U0", "--diff-filter=M", f"{commit}^", commit, "--", program)
    hunks = _HUNK.findall(diff)
    return len(hunks) == 1 and all(int(count or 1) <= LONGEST_HUNK for count in hunks[0])


def check_fix(root: Path, program: str, before: str, tests: list[str]) -> bool:
    """Return whether the tests pass in a folder, and fail with the program's text of before."""
    after = (root / program).read_text()
    if run_tests(root, tests).outcome != "passed":
        return False
    (root / program).write_text(before)
    try:
        return run_tests(root, tests).outcome == "failed"
    finally:
        (root / program).write_text(after)


def run_tests(root: Path, tests: list[str]) -> TestReport:
    """Return the report of some test files."""
    with open_workspace(root) as at:
        return asyncio.run(run(at, tests))


def read_fixes(path: Path, mirrors: Path) -> Iterator[Task]:
    """Yield the tasks of a list."""
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        source = mirrors / entry["repository"] / "repo"
        commit, program = entry["commit"], entry["program"]
        yield Task(
            id=f"{entry['repository']}@{commit[:12]}",
            program=program,
            text=read_git(source, "show", f"{commit}^:{program}"),
            tests=tuple(entry["tests"]),
            files={},
            source=source,
            revision=commit,
            original=read_git(source, "show", f"{commit}:{program}"),
        )


def main() -> None:
    """Write one line for each fix that is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="+", metavar="OWNER+NAME")
    parser.add_argument("--since", default="2026-01-01")
    parser.add_argument("--most", type=int, default=6, help="fixes of one repository")
    parser.add_argument("--tried", type=int, default=24, help="commits of one repository whose tests are run")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name in options.names:
        repository = options.mirrors / name / "repo"
        commits = list(list_commits(repository, options.since))
        random.Random(options.seed).shuffle(commits)
        found = 0
        for commit, program, tests in commits[: options.tried]:
            if found >= options.most:
                break
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder).resolve()
                copy_revision(repository, commit, root)
                before = read_git(repository, "show", f"{commit}^:{program}")
                if not check_fix(root, program, before, tests):
                    continue
            found += 1
            half = "development" if is_development(f"{name}@{commit[:12]}") else "held"
            entry = {"repository": name, "commit": commit, "program": program, "tests": tests, "half": half}
            with options.out.open("a") as file:
                file.write(json.dumps(entry) + "\n")
        print(f"{name}: {found} of {len(commits)}", flush=True)


if __name__ == "__main__":
    main()
