"""What the guards of a large workspace cost: the first walk, each later look, and the copies of hard links.

    python benchmarks/guards.py [files]

The workspace has ten files of 4 KB in a folder. Prints wall and processor milliseconds.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox.guards.hard_links import OutsideLinks
from sandbox.guards.workspace_inventory import Inventory

IN_A_FOLDER = 10
ROUNDS = 20


def build_workspace(root: Path, files: int) -> None:
    for number in range(files):
        path = _name_file(root, number)
        if number % IN_A_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 4096)


def _name_file(root: Path, number: int) -> Path:
    folder = number // IN_A_FOLDER
    return root / f"node_modules/{folder // 100}/{folder}" / f"{number}.js"


def link_all(root: Path, store: Path, files: int) -> None:
    store.mkdir()
    for number in range(files):
        os.link(_name_file(root, number), store / str(number))


def measure(what: str, action: Callable[[], object], rounds: int = 1) -> None:
    """Run an action and print the median of its times."""
    wall, processor = [], []
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        action()
        wall.append((time.perf_counter() - start) * 1000)
        processor.append((time.process_time() - used) * 1000)
    print(f"{what:44} {statistics.median(wall):10.2f} {statistics.median(processor):10.2f}", flush=True)


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "workspace")
        build_workspace(root, files)
        inventory = Inventory(root)
        print(f"{f'{files:,} files':44} {'wall':>10} {'processor':>10}   (ms)")
        measure("first command of a session: walk", inventory.refresh)
        time.sleep(0.1)  # folders that just changed are listed twice
        measure("second command: watch the folders", inventory.refresh)
        measure("later commands, nothing changed", inventory.refresh, ROUNDS)
        links = OutsideLinks(inventory)
        measure("look for hard links to files outside, none", lambda: links.copy_files(()), ROUNDS)
        changed = _name_file(root, 0).parent / "new"
        measure("later commands, one file is new", lambda: (changed.touch(), inventory.refresh()), ROUNDS)
        unwatched = Inventory(root, worth_watching=sys.maxsize)
        unwatched.refresh()
        measure("later commands where nothing can be watched", unwatched.refresh, ROUNDS)
        link_all(root, Path(folder, "store"), files)
        inventory = Inventory(root)
        inventory.refresh()
        measure("all files are hard links: copy them, once", lambda: OutsideLinks(inventory).copy_files(()))


if __name__ == "__main__":
    main()
