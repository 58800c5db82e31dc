"""The index of the code on a large repository: cold, warm, after an edit, and what questions cost. Beside ripgrep.

    python benchmarks/code_index.py FOLDER      # a copy of it is indexed; without FOLDER, this checkout

CPU seconds of this process and its children, since wall time on a shared machine says little; wall time is told too.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _measure import CHECKOUT

sys.path.insert(0, str(CHECKOUT))


def cpu() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@contextmanager
def told(what: str, target: str = "") -> Iterator[None]:
    wall, before = time.monotonic(), cpu()
    yield
    used = 1000 * (cpu() - before)
    print(f"{what:34} {used:9.1f} ms CPU {1000 * (time.monotonic() - wall):9.1f} ms wall   {target}")


def main() -> None:
    from tools.codebase.graph import graph
    from tools.codebase.index import Index
    from tools.codebase.map import mapped
    from tools.codebase.queries import find, references
    from tools.localization import locate
    from tools.search import ripgrep_path

    source = Path(sys.argv[1]) if len(sys.argv) > 1 else CHECKOUT
    with tempfile.TemporaryDirectory() as scratch:
        root, database = Path(scratch) / "tree", Path(scratch) / "index.sqlite"
        shutil.copytree(
            source, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__")
        )
        with told("cold index", "target on django: 6 s on 2 processors"), Index(root, database) as index:
            index.refresh()
        with told("warm start", "target 150 ms"), Index(root, database) as index:
            index.refresh()
        with Index(root, database) as index:
            index.refresh()
            print(f"{len(index.paths)} files, database {database.stat().st_size >> 20} MB")
            path = sorted(index.paths, key=lambda each: (root / each).stat().st_size)[
                len(index.paths) * 9 // 10
            ]
            name = index.outline(path).symbols[-1].short if index.outline(path).symbols else "main"
            for round_ in range(3):
                with (root / path).open("a") as file:
                    file.write(f"\n# {round_}\n")
                with told("after an edit, its path known", "target 20 ms"):
                    index.refresh([path])
            with (root / path).open("a") as file:
                file.write("\n# more\n")
            with told("after an edit, all files looked at"):
                index.refresh()
            asked: dict[str, tuple[Callable[[], Any], str]] = {
                f"find {name}": (lambda: find(index, name), "target 5 ms"),
                f"references {name}": (lambda: list(references(index, name)), ""),
                "graph for the map, once": (lambda: graph(index), ""),
                "map": (lambda: mapped(index, {}, 2000), "target 100 ms"),
                "localize": (
                    lambda: locate(index, "the map forgets what was read\n\nIt fails in find()."),
                    "target 1 s",
                ),
            }
            for what, (act, target) in asked.items():
                with told(what, target):
                    act()
        with told(f"ripgrep for {name}, for comparison"):
            argv = [ripgrep_path(), "--no-config", "-w", "-c", name, "./"]
            subprocess.run(argv, cwd=root, stdout=subprocess.DEVNULL, check=False)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"memory: {most} MB, and {worker} MB the largest worker (target 200 MB)")


if __name__ == "__main__":
    main()
