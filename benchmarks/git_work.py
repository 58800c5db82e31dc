"""What git work costs: snapshots of a large tree against `git stash create`, and the hooks that every commit waits for.

    python benchmarks/git_work.py [FOLDER …]

FOLDER: repositories to measure as well (a checkout of django, say). CPU time of the process and all that it started
is given beside the wall time: on a shared machine only that can be compared.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from _measure import COMMAND, environment

from sandbox.snapshots.workspace_snapshots import Snapshots

FILES = 50_000
ROUNDS = 7

TARGETS = """targets: an unchanged tree of 50,000 files in under 100 ms;
pre-commit of 10 files under 200 ms, with nothing to look at under 120 ms"""


def main(folders: Sequence[str]) -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory(prefix="patchwright-bench-") as place:
        env = environment(Path(place))
        made = _tree(Path(place) / "large", env)
        for root in (made, *map(Path, folders)):
            _snapshots(root, Path(place) / "store", env)
        _hooks(Path(place) / "hooks", env)
    print(TARGETS)


def _tree(root: Path, env: dict[str, str]) -> Path:
    for number in range(FILES // 20):
        folder = root / f"d{number // 50}" / f"e{number % 50}"
        folder.mkdir(parents=True)
        for each in range(20):
            (folder / f"f{each}.py").write_text(f"x = {number * 20 + each}\n")
    _git(root, env, "init", "-q")
    _git(root, env, "add", "-A")
    _git(root, env, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "s")
    return root


def _snapshots(root: Path, store: Path, env: dict[str, str]) -> None:
    print(f"{root}: {len(_git(root, env, 'ls-files').splitlines()):,} files")
    shutil.rmtree(store, ignore_errors=True)
    first = Snapshots(root, store)
    _row("first ever (all is read)", 1, first.take)
    time.sleep(0.1)
    _row("second (watching begins)", 1, first.take)
    _row("unchanged", ROUNDS, first.take)
    probe = root / "patchwright-bench.txt"

    def changed() -> None:
        probe.write_text(str(time.monotonic()))
        first.take()

    _row("one file changed", ROUNDS, changed)
    probe.unlink()
    first.take()
    first.close()
    second = Snapshots(root, store)
    _row("first of a new process", 1, second.take)
    _row("unchanged, there", ROUNDS, second.take)
    second.close()
    _row("git stash create, unchanged", ROUNDS, lambda: _git(root, env, "stash", "create"))


def _hooks(root: Path, env: dict[str, str]) -> None:
    root.mkdir()
    _git(root, env, "init", "-q")
    _git(root, env, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "s", "--allow-empty")
    hook = lambda: subprocess.run([COMMAND, "hook", "run", "pre-commit"], cwd=root, env=env, check=True)  # noqa: E731
    floor = lambda: subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)  # noqa: E731
    hook()
    print("hooks")
    _row("python -c pass", ROUNDS, floor)
    _row("pre-commit, nothing staged", ROUNDS, hook)
    for number in range(10):
        body = "\n".join(f"def f{i}(x):\n    return x + {i}\n" for i in range(40))
        (root / f"m{number}.py").write_text(f"import os\n\n\n{body}")
    _git(root, env, "add", "-A")
    _row("pre-commit, 10 Python files", ROUNDS, hook)


def _row(name: str, rounds: int, act: Callable[[], object]) -> None:
    """The least of several rounds: what others do on the machine only adds."""
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.monotonic(), _cpu()
        act()
        walls.append(time.monotonic() - wall)
        cpus.append(_cpu() - cpu)
    print(f"  {name:30} {1000 * min(cpus):9.1f} ms CPU {1000 * min(walls):9.1f} ms wall")


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _git(root: Path, env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, env=env, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main([os.path.abspath(each) for each in sys.argv[1:]])  # noqa: PTH100
