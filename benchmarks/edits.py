"""What an edit costs: one line of a long file, a patch of 200 files, the ladder where it has most to look at.

    python benchmarks/edits.py [--aider PYTHON]

--aider: a Python with aider installed; its search/replace is measured on the same files in the same run
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measure import COMMAND, environment, milliseconds, timed

from sandbox.backends.unconfined import Unconfined
from sandbox.fs.workspace_tree import Tree
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace
from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Replace
from tools.edit.edit_tools import edit

TARGETS = (
    """targets: one line of 10,000 in 5 ms; 200 files in 500 ms; the worst rung of 50,000 lines in 1 s"""
)

FILES = 200
TIMES = 15


def main() -> None:
    """Every figure is a median of several runs; the floors are a copy of the file and `git apply`."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--aider", metavar="PYTHON", default="")
    aider = options.parse_args().aider
    one_line(aider)
    many_files()
    worst_rungs(aider)
    print(TARGETS)


# ── One line of 10,000 ─────────────────────────────────────────────────────────────────────────────


def one_line(aider: str) -> None:
    print("one line of 10,000")
    text = code(10_000)
    change = Replace(
        old="    return total_5000(a, b)\n", new="    return total_5000(b, a)\n", whole_lines=True
    )
    show("by the engine", repeated(lambda: edit_text(text, [change], path="long.txt")))
    fuzzy = Replace(old="return total_5000(a,  b)\n", new="return total_5000(b,  a)\n", whole_lines=True)
    show("by the engine, other white space", repeated(lambda: edit_text(text, [fuzzy], path="long.txt")))
    with tempfile.TemporaryDirectory() as folder:
        at = workspace(Path(folder))
        for name in ("long.txt", "long.py"):
            path = at.root / name
            path.write_text(text)
            show(f"by the tool, {name}", alternating(at, name))
        content = text.encode()
        show("floor: the file written and renamed", repeated(lambda: written(at.root / "floor", content)))
    if aider:
        show("aider's search/replace", by_aider(aider, text, change))


def alternating(at: Workspace, name: str) -> list[float]:
    """The tool changes the line there and back."""
    there, back = "total_5000(a, b)", "total_5000(b, a)"
    times = []
    loop = asyncio.new_event_loop()
    for number in range(2 * TIMES):
        old, new = (there, back) if number % 2 == 0 else (back, there)
        started = time.perf_counter()
        loop.run_until_complete(edit.run(path=name, old=f"return {old}", new=f"return {new}", at=at))
        times.append(time.perf_counter() - started)
    loop.close()
    return times[2:]  # the first calls import what is needed


def written(path: Path, content: bytes) -> None:
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(path)


# ── 200 files ──────────────────────────────────────────────────────────────────────────────────────


def many_files() -> None:
    print(f"a patch of {FILES} files")
    with tempfile.TemporaryDirectory() as folder:
        home, root = Path(folder) / "home", Path(folder) / "root"
        home.mkdir()
        env = environment(home)
        os.environ.update(PATCHWRIGHT_HOME=str(home / "patchwright"))
        diff = tree_with_diff(Path(folder) / "original")
        patch = Path(folder) / "patch.diff"
        patch.write_text(diff)
        inside: list[float] = []
        command: list[float] = []
        git: list[float] = []
        floor: list[float] = []
        for _ in range(5):
            for times, run in (
                (inside, lambda: in_process(root, patch)),
                (command, lambda: timed([COMMAND, "apply", str(patch)], env, root)),
                (git, lambda: timed(["git", "apply", str(patch)], env, root)),
                (floor, lambda: timed([COMMAND, "--version"], env, root)),
            ):
                shutil.rmtree(root, ignore_errors=True)
                shutil.copytree(Path(folder) / "original", root)
                times += repeated(run, times=1)
    show("patchwright apply, in this process", inside)
    show("patchwright apply, as a command", command)
    show("floor: patchwright --version", floor)
    show("git apply", git)
    print(f"  ratio to git apply: {statistics.median(inside) / statistics.median(git):.1f} in this process")


def tree_with_diff(root: Path) -> str:
    """200 files of 200 lines, and a diff with two hunks for each."""
    parts = []
    for number in range(FILES):
        path = root / f"part_{number % 10}" / f"file_{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"line {n} of file {number}" for n in range(200)]
        path.write_text("\n".join(lines) + "\n")
        name = path.relative_to(root)
        parts.append(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n")
        for at in (20, 150):
            parts.append(f"@@ -{at},5 +{at},5 @@\n {lines[at - 1]}\n {lines[at]}\n")
            parts.append(f"-{lines[at + 1]}\n+changed {lines[at + 1]}\n {lines[at + 2]}\n {lines[at + 3]}\n")
    return "".join(parts)


def in_process(root: Path, patch: Path) -> None:
    from cli.commands.offline.apply import apply_edits

    with contextlib.redirect_stdout(io.StringIO()):
        code = apply_edits(root, str(patch), form="auto", check=False, exact=False, as_json=False)
    if code:
        raise SystemExit(f"apply ended with {code}")


# ── The worst that a rung can meet ─────────────────────────────────────────────────────────────────


def worst_rungs(aider: str) -> None:
    print("the ladder's worst, in 50,000 lines")
    for name, text, change in worst():
        show(name, repeated(partial(edit_text, text, [change], path="long.txt"), times=3))
        if aider:
            show("  aider's search/replace", by_aider(aider, text, change))


def worst() -> Iterator[tuple[str, str, Replace]]:
    """Names, texts and edits that find nothing, or too much."""
    text = code(50_000)
    unlike = "".join(f"    nothing_of_this(is_there_{n}, really)\n" for n in range(40))
    yield "no line of 40 is there", text, block(unlike, "x\n")
    drifted = text.split("\n")[25_000:25_040]
    drifted[3], drifted[20] = f"{drifted[3]} + drifted", f"{drifted[20]} + drifted"
    yield (
        "anchors: two of 40 lines reworded",
        text,
        block(joined(drifted), joined([*drifted[:-1], "    new()"])),
    )
    near = [f"    value = compute({n % 7}, first, second)" for n in range(50_000)]
    wanted = ["    value = compute(3, first, third)", *near[4:12], "    value = compute(9, other, second)"]
    yield (
        "anchors: every line is nearly alike",
        joined(near),
        block(joined(wanted), joined([*wanted, "    new()"])),
    )
    once_in_100 = [line if n % 100 else f"    begin_{n}()" for n, line in enumerate(near)]
    again = ["    begin_x()", *near[1:20], "    end()"]
    yield "anchors: 500 near places", joined(once_in_100), block(joined(again), joined([*again, "    new()"]))
    pairs = ["start()" if n % 2 else "stop()" for n in range(50_000)]
    yield (
        "elision: 25,000 candidates for either end",
        joined(pairs),
        block("start()\n...\nstop()\n", "start(1)\n...\nstop()\n"),
    )
    blank = ["" if n % 2 else "    repeated()" for n in range(50_000)]
    yield "50,000 equal lines", joined(blank), block("repeated()\n\nrepeated()\n", "once()\n")
    minified = ";".join(f"function f{n}(a,b){{return a+b*{n}}}" for n in range(30_000))
    yield (
        "one line of 1 MB, part of it",
        f"// x\n{minified}\n",
        Replace(old="function f15000(a,b){return a+b*15000}", new="function f15000(){}"),
    )
    yield (
        "one line of 1 MB, a part that is not there",
        f"// x\n{minified}\n",
        Replace(old="function f15000(a, b){return a-b}", new="function f15000(){}"),
    )
    line = minified[:20_000]
    slip = line.replace("f100(", "f100x(")
    yield (
        "one line of 20 kB, given whole with a slip",
        f"// x\n{line}\n// y\n",
        block(f"// x\n{slip}\n", "// z\n"),
    )


# ── What they share ────────────────────────────────────────────────────────────────────────────────


def code(lines: int) -> str:
    """Functions of five lines, each unlike the others in a name."""
    parts = []
    for number in range(0, lines, 5):
        parts.append(
            f"def compute_{number}(a, b):\n    first = a * {number}\n    if first > b:\n"
            f"        first = b\n    return total_{number}(a, b)\n"
        )
    return "".join(parts)


def joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def block(old: str, new: str) -> Replace:
    return Replace(old=old, new=new, whole_lines=True)


def workspace(folder: Path) -> Workspace:
    root = folder / "root"
    root.mkdir()
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=Unconfined(root, spill=folder),
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache"),
    )


def repeated(run: Callable[[], object], times: int = TIMES) -> list[float]:
    """Seconds of each run; a refusal is a result like any other."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        with contextlib.suppress(EditRefused):
            run()
        found.append(time.perf_counter() - started)
    return found


def show(name: str, times: Sequence[float]) -> None:
    print(f"  {name:<45} {milliseconds(times)}", flush=True)


AIDER = """
import json, sys, time
from aider.coders.editblock_coder import replace_most_similar_chunk
text, old, new = json.load(sys.stdin)
times = []
for _ in range(3):
    started = time.perf_counter()
    try:
        replace_most_similar_chunk(text, old, new)
    except Exception:  # a failure to find is timed, too
        pass
    times.append(time.perf_counter() - started)
    if times[0] > 20:
        break
print(json.dumps(times))
"""
"""Runs in aider's own interpreter, so that nothing of it is needed here."""


def by_aider(python: str, text: str, change: Replace) -> list[float]:
    """Seconds that its function takes, without the start of the process."""
    done = subprocess.run(
        [python, "-c", AIDER],
        input=json.dumps([text, change.old, change.new]),
        capture_output=True,
        text=True,
        check=False,
        cwd=tempfile.gettempdir(),
        timeout=300,
    )
    if done.returncode:
        raise SystemExit(f"{python} cannot run aider's search/replace:\n{done.stderr[-2000:]}")
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


if __name__ == "__main__":
    main()
