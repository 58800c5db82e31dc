"""False alarms of the requirements that are read from prompts: a commit's message as the prompt, its diff as the work.

    python -m benchmarks.verification.prompt_requirements REPOSITORY … [--commits N] [--show]

Each commit did what its message says, or so its reviewers held. A requirement that is found not met is a false alarm,
but for the few messages that promise more than the diff has; those that are stopped are printed with --show. What runs
something is not tried: old commits need old machines. Of the commits, every second one (`--half odd`) is for tuning.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.verify.requirement import EXECUTED_KINDS
from packages.search.requirements.extraction import extract_late_requirements
from packages.search.requirements.static_checks import check_statically
from packages.search.requirements.symbol_checks import check_symbols
from packages.search.requirements.turn_changes import TurnChanges
from sandbox.backends.selection import choose_sandbox
from sandbox.fs.workspace_tree import Tree
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace


def git(root: Path, *words: str) -> bytes:
    """Run git and return what it prints."""
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True).stdout


@dataclass(slots=True, kw_only=True)
class CommitChanges(TurnChanges):
    """The change of one commit, in place of a turn's."""

    root: Path = field(default=Path())
    commit: str = ""

    def list_changed_files(self) -> list[str]:
        """See `TurnChanges`."""
        names = git(self.root, "diff", "--name-only", "-z", f"{self.commit}^", self.commit)
        return sorted(filter(None, names.decode("utf-8", "replace").split("\0")))

    def read_before(self, path: str) -> str | None:
        """See `TurnChanges`."""
        return self._read(f"{self.commit}^", path)

    def read_after(self, path: str) -> str | None:
        """See `TurnChanges`."""
        return self._read(self.commit, path)

    def _read(self, commit: str, path: str) -> str | None:
        try:
            return git(self.root, "show", f"{commit}:{path}").decode("utf-8", "replace")
        except subprocess.CalledProcessError:
            return None


def list_commits(repository: Path, most: int, half: str) -> Iterator[tuple[str, str]]:
    """Yield (commit, message) of commits with one parent that change code, the newest first."""
    words = ("log", "--no-merges", "--min-parents=1", f"-{most}", "-z", "--format=%H%n%B")
    for number, each in enumerate(git(repository, *words).decode("utf-8", "replace").split("\0")):
        commit, _, message = each.strip().partition("\n")
        if commit and (half == "all" or (half == "odd") == bool(number % 2)):
            yield commit, message.strip()


def main() -> None:
    """Print how many commits have requirements, and how many of those are stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=400)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--subject", action="store_true", help="only the first line of each message")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    for repository in options.repositories:
        found = asyncio.run(measure(repository, options, kinds, alarms))
        print(f"{repository}: {dict(found)}", flush=True)
        totals += found
    print(f"all: {dict(totals)}; stopped {totals['stopped'] / max(1, totals['commits']):.2%} of commits")
    for kind, count in kinds.most_common():
        print(f"  {kind:15} {count:5} checked, {alarms[kind]:3} not met")


def open_workspace(root: Path, folder: Path) -> Workspace:
    """Return a clone as the checks see it."""
    (folder / "spill").mkdir(exist_ok=True)
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=choose_sandbox(root, spill=folder / "spill"),
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache"),
    )


async def measure(
    repository: Path, options: argparse.Namespace, kinds: Counter[str], alarms: Counter[str]
) -> Counter[str]:
    """Return the counts of one repository; add to those of the kinds."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "clone")
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(repository), str(root)], check=True)
        for commit, message in list_commits(root, options.commits, options.half):
            prompt = message.partition("\n")[0] if options.subject else message
            counts["commits"] += 1
            began = time.perf_counter()
            wanted = [each for each in extract_late_requirements(prompt) if each.kind not in EXECUTED_KINDS]
            counts["milliseconds"] += round(1000 * (time.perf_counter() - began))
            if not any(each.kind != "group" for each in wanted):
                continue
            counts["with requirements"] += 1
            git(root, "checkout", "-q", "-f", commit)
            at = open_workspace(root, Path(folder))
            changes = CommitChanges(workspace=at, root=root, commit=commit)
            stopped = False
            for each in wanted:
                if each.kind == "group":
                    continue
                result = await check_statically(each, changes, at) or await check_symbols(each, changes, at)
                if result is None or result.evidence is None:
                    counts["not checked"] += 1
                    continue
                kinds[each.kind] += 1
                if result.is_failure:
                    alarms[each.kind] += 1
                    stopped = True
                    if options.show:
                        print(f"{commit[:9]} {each.kind} {each.check!r}: {result.detail} | {message[:200]!r}")
            counts["stopped"] += stopped
    return counts


if __name__ == "__main__":
    main()
