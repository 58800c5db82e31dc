"""The index of the code on a large repository: cold, warm, after an edit, and what questions cost.

    python benchmarks/code_index.py [FOLDER]        # a copy of it is indexed; without FOLDER, this checkout
    python benchmarks/code_index.py --files 100000  # a tree of so many files, made for it

Beside ripgrep, and beside aider's repository map where PATCHWRIGHT_AIDER names a Python that has aider. CPU seconds
of this process and its children, since wall time on a shared machine says little; wall time is told too. Of what is
quick, the median of some rounds.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _measure import CHECKOUT

sys.path.insert(0, str(CHECKOUT))

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

ROUNDS = 7
"""Of a question that is quick."""

FOLDER = 500
"""Files in a folder of a tree that is made."""


def cpu() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@contextmanager
def told(what: str, target: str = "") -> Iterator[None]:
    wall, before = time.monotonic(), cpu()
    yield
    tell(what, cpu() - before, time.monotonic() - wall, target)


def tell(what: str, used: float, wall: float, target: str) -> None:
    print(f"{what:38} {1000 * used:9.1f} ms CPU {1000 * wall:9.1f} ms wall   {target}", flush=True)


def rounds(what: str, act: Callable[[], Any], target: str = "") -> None:
    """Median of several."""
    found = []
    for _ in range(ROUNDS):
        wall, before = time.monotonic(), cpu()
        act()
        found.append((cpu() - before, time.monotonic() - wall))
    used, walls = zip(*found, strict=True)
    tell(what, statistics.median(used), statistics.median(walls), target)


AIDER = """
import sys, time, resource
from aider.io import InputOutput
from aider.repomap import RepoMap

class Model:  # its tokens are counted by length, which is quicker than its own way
    def token_count(self, text):
        return len(text) // 4

root, files = sys.argv[1], sys.stdin.read().split("\\0")
for what in ("cold", "warm"):
    wall, used = time.monotonic(), time.process_time()
    there = RepoMap(map_tokens=2000, root=root, main_model=Model(), io=InputOutput(yes=True), map_mul_no_files=1)
    made = there.get_repo_map([], [f"{root}/{each}" for each in files]) or ""
    print(f"{time.process_time() - used} {time.monotonic() - wall} {what}, {len(made) // 4} tokens")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def aider(root: Path, paths: list[str]) -> None:
    """Its map of the same files, without and with its cache; it starts anew in each session."""
    python = os.environ.get("PATCHWRIGHT_AIDER")
    if not python:
        print("aider's map: skipped (PATCHWRIGHT_AIDER)")
        return
    done = subprocess.run(
        [python, "-c", AIDER, str(root)],
        cwd=root, input="\0".join(paths), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip
    *lines, memory = done.stdout.strip().split("\n")
    for line in lines[-2:]:
        used, wall, what = line.split(" ", 2)
        tell(f"aider's map, {what}", float(used), float(wall), "")
    print(f"memory of aider: {memory} MB")


def make_tree(root: Path, count: int) -> None:
    """Small files that use one another."""
    for number in range(count):
        folder = root / f"part_{number // FOLDER}"
        if number % FOLDER == 0:
            folder.mkdir(parents=True)
        before = number - 1 if number % FOLDER else number
        (folder / f"unit_{number}.py").write_text(
            f"from part_{number // FOLDER}.unit_{before} import step_{before}\n\n\n"
            f"class Unit{number}:\n    def run_{number % 97}(self, amount):\n        return step_{before}(amount)\n\n\n"
            f"def step_{number}(amount):\n    return amount + {number}\n"
        )


def edits(root: Path, index: Index) -> None:
    path = sorted(index.paths, key=lambda each: (root / each).stat().st_size)[len(index.paths) * 9 // 10]

    def edit() -> None:
        with (root / path).open("a") as file:
            file.write(f"\n# {time.monotonic_ns()}\n")

    def known() -> None:
        edit()
        index.refresh([path])

    def all_looked_at() -> None:
        edit()
        index.refresh()

    rounds("after an edit, its path known", known, "target 20 ms")
    rounds("after an edit, all files looked at", all_looked_at)


def questions(root: Path, index: Index) -> None:
    from tools.code.index.reference_graph import get_graph
    from tools.code.index.repository_map import build_map
    from tools.code.index.symbol_queries import find_definitions, find_references
    from tools.code.localization import localize_text
    from tools.fs.ripgrep import find_ripgrep

    names = [each.short for path in index.code[:: max(1, len(index.code) // 25)] for each in
             index.outline(path).symbols[-1:] if each.short.isidentifier()][:ROUNDS] or ["main"]  # fmt: skip
    text = "the map forgets what was read\n\nIt fails in find()."

    def searched() -> None:
        argv = [find_ripgrep(), "--no-config", "-w", "-c", names[0], "./"]
        subprocess.run(argv, cwd=root, stdout=subprocess.DEVNULL, check=False)

    turns = cycle(names)
    rounds("find a name", lambda: find_definitions(index, next(turns)), "target 5 ms")
    rounds(f"references of {names[0]}", lambda: list(find_references(index, names[0])))
    rounds(f"ripgrep for {names[0]}", searched)
    with told("graph for the map, once"):
        get_graph(index)
    rounds("map", lambda: build_map(index, {}, 2000), "target 100 ms")
    rounds("localize", lambda: localize_text(index, text), "target 1 s")


def measure(root: Path, database: Path) -> None:
    from tools.code.index.code_index import Index

    def started() -> None:
        with Index(root, database) as index:
            index.refresh()

    with told("cold index", "target on django: 6 s on 2 processors, 12 s CPU"):
        started()
    rounds("warm start", started, "target 150 ms")
    with Index(root, database) as index:
        index.refresh()
        print(f"{len(index.paths)} files, database {database.stat().st_size >> 20} MB")
        edits(root, index)
        questions(root, index)
        paths = list(index.code)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"memory: {most} MB, and {worker} MB the largest worker (target 200 MB)", flush=True)
    aider(root, paths)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the index of the code.")
    parser.add_argument("folder", nargs="?", type=Path, default=CHECKOUT)
    parser.add_argument("--files", type=int, default=0, help="measure a tree of so many files instead")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root, database = Path(scratch) / "tree", Path(scratch) / "index.sqlite"
        if asked.files:
            make_tree(root, asked.files)
        else:
            ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__")
            shutil.copytree(asked.folder, root, symlinks=True, ignore=ignored)
        measure(root, database)


if __name__ == "__main__":
    main()
