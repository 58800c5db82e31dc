"""Changes that are not what was asked: real commits, spoiled in four ways by a seed, with their messages as prompts.

    python -m benchmarks.verification.asked_and_done REPOSITORY … [--number 200] [--seed 1] [--subject] [--show]
    python -m benchmarks.verification.asked_and_done --functions MIRRORS [--number 100] [--seed 1] [--show]

Half of the changes are the commits as they are. The other half: nothing but a comment (no-op), the half of the changed
files or definitions, the change of another commit (other), or the whole and an unrelated
change with it (too much). With --functions, they are those of single functions (`asked_functions`). A change counts as
told where a requirement is not met, or a line says what is lacking or beside it, as stopped only where a requirement is
not met. Of commits, suites and commands are not run, since old commits need old machines; functions are, as in a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.prompt.prompt_reader import read_intent
from agent.verify.requirement import Result
from benchmarks.verification.asked_functions import iter_changes, read_problems
from benchmarks.verification.prompt_requirements import git, list_commits, open_workspace
from packages.search.requirements.change.code_content import reduce_code
from packages.search.requirements.change.departures import find_departures
from packages.search.requirements.executed.behavior_check import judge_limit, list_behavior_notices
from packages.search.requirements.executed.behavior_runs import compare_functions
from packages.search.requirements.extraction import extract_late_requirements
from packages.search.requirements.stated_results import check_stated_result
from packages.search.requirements.static_checks import check_statically
from packages.search.requirements.symbol_checks import check_symbols
from packages.search.requirements.turn_changes import TurnChanges
from sandbox.fs.line_diff import compute_opcodes
from sandbox.process.command import Command
from tools.core.action import Observation
from tools.core.workspace import Workspace
from tools.lint.honesty.file_changes import find_role

Contents = Mapping[str, tuple[str | None, str | None]]
"""Text before and after by path."""

OF_CHANGES = (
    "code-changed",
    "file-unchanged",
    "only-files",
    "max-lines",
    "max-files",
    "signature",
    "name-unchanged",
)

NEED_PROJECT = ("command", "tests", "output")
"""Kinds whose check runs the project as it is installed: not tried of commits."""

MARKS = {".py": "#", ".rb": "#", ".sh": "#", ".css": "/*"}


@dataclass(slots=True, kw_only=True)
class MadeChanges(TurnChanges):
    """A made change, in place of a turn's."""

    contents: Contents = field(default_factory=dict)

    def list_changed_files(self) -> list[str]:
        """See `TurnChanges`."""
        return sorted(path for path, (before, after) in self.contents.items() if before != after)

    def read_before(self, path: str) -> str | None:
        """See `TurnChanges`."""
        return self.contents[path][0] if path in self.contents else self.read_after(path)

    def read_after(self, path: str) -> str | None:
        """See `TurnChanges`."""
        return self.contents[path][1] if path in self.contents else None


def read_commit(root: Path, commit: str) -> dict[str, tuple[str | None, str | None]]:
    """Return the contents of the files that a commit changes."""
    names = git(root, "diff", "--no-renames", "--name-only", "-z", f"{commit}^", commit)
    found = {}
    for path in filter(None, names.decode("utf-8", "replace").split("\0")):
        found[path] = (_read(root, f"{commit}^", path), _read(root, commit, path))
    return found


def _read(root: Path, commit: str, path: str) -> str | None:
    try:
        return git(root, "show", f"{commit}:{path}").decode("utf-8", "replace")
    except subprocess.CalledProcessError:
        return None


def list_product(contents: Contents) -> list[str]:
    """Return the files of the product whose code a change changes, that were there before and still are."""
    return [
        path
        for path, (before, after) in contents.items()
        if find_role(path) == "product"
        and before and after and reduce_code(path, before) != reduce_code(path, after)
    ]  # fmt: skip


def add_comment(contents: Contents, draw: random.Random) -> Contents | None:
    """Return a change of nothing but a comment in a file of the change."""
    path = draw.choice(list_product(contents))
    before = contents[path][0] or ""
    mark = MARKS.get(Path(path).suffix, "//")
    lines = before.split("\n")
    lines.insert(len(lines) - 1, f"{mark} Looked at.{' */' if mark == '/*' else ''}")
    made = {path: (before, "\n".join(lines))}
    return made if reduce_code(path, before) == reduce_code(path, made[path][1]) else None


def halve(contents: Contents, draw: random.Random) -> Contents | None:
    """Return the half of the hunks of a change of several."""
    hunks = [
        (path, number)
        for path, (before, after) in contents.items()
        for number in range(len(_list_hunks(before or "", after or "")))
        if find_role(path) in ("product", "test")
    ]
    if len(hunks) < 2:
        return None
    kept = set(draw.sample(hunks, len(hunks) // 2))
    made = {}
    for path, (before, after) in contents.items():
        numbers = {number for one, number in kept if one == path}
        if numbers:
            made[path] = (before, _apply(before or "", after or "", numbers))
    return made


def _list_hunks(before: str, after: str) -> list[tuple[int, int, int, int]]:
    codes = compute_opcodes(before.split("\n"), after.split("\n"))
    return [(i1, i2, j1, j2) for kind, i1, i2, j1, j2 in codes if kind != "equal"]


def _apply(before: str, after: str, numbers: set[int]) -> str:
    old, new = before.split("\n"), after.split("\n")
    for number, (i1, i2, j1, j2) in reversed(list(enumerate(_list_hunks(before, after)))):
        if number in numbers:
            old[i1:i2] = new[j1:j2]
    return "\n".join(old)


def _write(root: Path, contents: Contents) -> None:
    for path, (_, after) in contents.items():
        if after is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(after, encoding="utf-8")
        else:
            (root / path).unlink(missing_ok=True)


async def judge(prompt: str, contents: Contents, commit: str, at: Workspace) -> tuple[list[str], list[str]]:
    """Return (what stops a change, what is told beside)."""
    wanted = [
        each
        for each in extract_late_requirements(prompt)
        if each.kind != "group" and (not commit or each.kind not in NEED_PROJECT)
    ]
    runs_python = any(path.endswith(".py") for path in list_product(contents))
    if runs_python or any(
        each.kind not in OF_CHANGES for each in wanted
    ):  # the others look at the change alone
        root = at.root
        if commit:
            git(root, "checkout", "-q", "-f", f"{commit}^")
            git(root, "clean", "-qfd")
        _write(root, contents)
    changes = MadeChanges(workspace=at, contents=contents)
    runs = await compare_functions(changes, at) if runs_python else []
    stops = []
    for each in wanted:
        if each.kind == "behavior":
            result: Result | None = judge_limit(each.check, prompt, runs)
        elif each.kind == "result":
            result = await check_stated_result(each, at, partial(run_shell, at))
        else:
            result = await check_statically(each, changes, at) or await check_symbols(each, changes, at)
        if result is not None and result.is_failure:
            stops.append(f"{each.kind}: {result.detail}")
    found = find_departures(prompt, changes)
    has_limit = any(each.kind == "behavior" for each in wanted)
    answers = [] if has_limit else list_behavior_notices(prompt, runs, changes)
    return stops, [*found.lacking, *found.beside, *answers]


async def run_shell(at: Workspace, tool: str, arguments: dict[str, object]) -> Observation:
    """Run a command in the sandbox, in place of the gateway's action."""
    argv = ("bash", "-c", str(arguments["command"]))
    done = await at.sandbox.run(
        Command(argv=argv, cwd=at.root, timeout=60.0, scope="read-only"), lambda chunk: None
    )
    return Observation(text=done.stdout.text())


def spoil(way: str, contents: Contents, other: Contents, draw: random.Random) -> Contents | None:
    """Return a change that is not what was asked; None where it cannot be made of this one."""
    if way == "no-op":
        return add_comment(contents, draw)
    if way == "half":
        return halve(contents, draw)
    apart = {
        path: each for path, each in other.items() if path not in contents and path in list_product(other)
    }
    if not apart:
        return None
    return apart if way == "other" else {**apart, **contents}


def iter_commits(
    root: Path, options: argparse.Namespace, draw: random.Random
) -> Iterator[tuple[str, str, Contents]]:
    """Yield commits that change code by a message that orders it, in an order of the seed."""
    commits = list(list_commits(root, options.commits, options.half))
    draw.shuffle(commits)
    for commit, message in commits:
        prompt = message.partition("\n")[0] if options.subject else message
        if read_intent(prompt).kind in ("repair", "change"):
            contents = read_commit(root, commit)
            if len(contents) <= 12 and list_product(contents):
                yield commit, prompt, contents


WAYS = ("no-op", "half", "other", "too much")


async def measure(
    roots: Sequence[Path], options: argparse.Namespace, folder: Path
) -> dict[str, Counter[str]]:
    """Return for each way, and for right changes, how many were made, told and stopped."""
    draw = random.Random(options.seed)
    totals: dict[str, Counter[str]] = {each: Counter() for each in ("right", *WAYS)}
    share = options.number // len(roots)
    for number, source in enumerate(roots):
        root = folder / str(number)
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(source), str(root)], check=True)
        at = open_workspace(root, folder)
        other: Contents = {}
        made, until = 0, time.monotonic() + options.seconds
        for commit, prompt, contents in iter_commits(root, options, draw):
            if made >= share or time.monotonic() > until:
                break
            way = "right" if made % 2 == 0 else WAYS[(made // 2) % len(WAYS)]
            change = contents if way == "right" else spoil(way, contents, other, draw)
            other = contents
            if change is None:
                continue
            made += 1
            began = time.perf_counter()
            stops, told = await judge(prompt, change, commit, at)
            totals[way]["milliseconds"] += round(1000 * (time.perf_counter() - began))
            totals[way]["made"] += 1
            totals[way]["stopped"] += bool(stops)
            totals[way]["told"] += bool(stops or told)
            if options.show and (way == "right") == bool(stops or told):
                print(
                    f"{way} {commit[:9]} {prompt[:150]!r} | {sorted(change)[:4]} | {stops} {told}", flush=True
                )
    return totals


async def measure_functions(options: argparse.Namespace, folder: Path) -> dict[str, Counter[str]]:
    """Return the same of changes of single functions."""
    totals: dict[str, Counter[str]] = {each: Counter() for each in ("right", *WAYS)}
    problems, place = read_problems(options.functions), open_workspace(folder, folder)
    number = 0
    async for way, prompt, contents in iter_changes(problems, options.number, options.seed, place):
        number += 1
        root = folder / "functions" / str(number)
        root.mkdir(parents=True)
        at = open_workspace(root, folder)
        stops, told = await judge(prompt, contents, "", at)
        totals[way]["made"] += 1
        totals[way]["stopped"] += bool(stops)
        totals[way]["told"] += bool(stops or told)
        if options.show and (way == "right") == bool(stops or told):
            print(f"{way} {prompt[:300]!r} | {stops} {told}", flush=True)
    return totals


def main() -> None:
    """Print how many changes of each way were told and stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="*", type=Path)
    parser.add_argument("--functions", type=Path, help="folder of mirrors that has HumanEval and MBPP")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--commits", type=int, default=400)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600, help="for each repository")
    parser.add_argument("--subject", action="store_true", help="only the first line of each message")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = measure_functions if options.functions else partial(measure, options.repositories)
        totals = asyncio.run(work(options, Path(folder)))
    for way, counts in totals.items():
        print(way, dict(counts))


if __name__ == "__main__":
    main()
