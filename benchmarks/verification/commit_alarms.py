"""False alarms of all checks that are on by default together: a commit's message as the prompt, its diff as the work.

    python -m benchmarks.verification.commit_alarms REPOSITORY … [--number 50] [--seed 1] [--show]

Each commit did what its message says, or so its reviewers held: a turn that is stopped for it is a false alarm, but for
the commits that weaken tests and say so (see `weakening`). Requirements and guards against gaming are asked; functions
are run before and after, and stated results are called, in the sandbox; suites and commands are not, since old commits
need old machines.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from agent.prompt.excused_changes import read_request
from benchmarks.verification.asked_and_done import judge, list_product
from benchmarks.verification.prompt_requirements import open_workspace
from benchmarks.verification.real_commits import Commit, describe_commit, list_any_commits, read_files
from benchmarks.verification.weakening import is_weakening
from tools.core.workspace import Workspace
from tools.lint.honesty.file_changes import ChangeSet, FileChange
from tools.lint.honesty.scan import find_signs


async def judge_commit(
    commit: Commit, files: list[FileChange], others: dict[str, str], at: Workspace
) -> tuple[list[str], list[str], bool]:
    """Return what stops the commit, what is told, and whether all that stops it is a loss of tests that is there."""
    prompt = describe_commit(commit.message)
    contents = {each.path: (each.before, each.after) for each in files}
    stops, told = await judge(prompt, contents, commit.name, at)
    change = ChangeSet(files=files, request=read_request([prompt]), other_tests=others)
    signs = find_signs(change)
    failing = [each for each in signs if each.severity == "error"]
    is_true = bool(failing) and not stops and is_weakening(failing, files)
    stops = [*stops, *(f"{each.check}: {each.path}:{each.line} {each.message}" for each in failing)]
    return stops, [*told, *(each.message for each in signs if each.severity != "error")], is_true


async def measure(
    repositories: list[Path], options: argparse.Namespace, folder: Path
) -> dict[str, Counter[str]]:
    """Return the counts of each repository."""
    totals: dict[str, Counter[str]] = {}
    for number, source in enumerate(repositories):
        name = source.parent.name if source.name == "repo" else source.name
        counts = totals[name] = Counter()
        root = folder / str(number)
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(source), str(root)], check=True)
        at = open_workspace(root, folder)
        commits = list_any_commits(root, name)
        random.Random(options.seed).shuffle(commits)
        for commit, files, others in read_files(root, commits[: options.number]):
            began = time.perf_counter()
            stops, told, is_true = await judge_commit(commit, files, others, at)
            counts["milliseconds"] += round(1000 * (time.perf_counter() - began))
            counts["commits"] += 1
            contents = {each.path: (each.before, each.after) for each in files}
            counts["with product code"] += bool(list_product(contents))
            counts["stopped"] += bool(stops)
            counts["weakens tests"] += is_true
            counts["told"] += bool(told and not stops)
            for kind in {each.partition(":")[0] for each in stops}:
                counts[f"by {kind}"] += not is_true
            if options.show and stops:
                subject = commit.message.partition("\n")[0]
                word = "weakens tests" if is_true else "alarm"
                print(f"{word} {name} {commit.name[:10]} {subject[:120]!r} | {stops}", flush=True)
        print(name, dict(counts), flush=True)
    return totals


def compute_interval(count: int, number: int) -> tuple[float, float]:
    """Return the 95 % interval (Wilson) of a share."""
    share, z = count / number, 1.96
    middle = (share + z * z / (2 * number)) / (1 + z * z / number)
    width = z * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number)) / (1 + z * z / number)
    return max(0.0, middle - width), min(1.0, middle + width)


def main() -> None:
    """Print how many commits are stopped, by repository and kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--number", type=int, default=50, help="commits of each repository")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the commits that are stopped")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        totals = asyncio.run(measure(options.repositories, options, Path(folder)))
    both = sum(totals.values(), Counter[str]())
    false, number = both["stopped"] - both["weakens tests"], max(1, both["commits"])
    low, high = compute_interval(false, number)
    print(f"all: {dict(both)}; false alarms {false / number:.1%} ({low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
