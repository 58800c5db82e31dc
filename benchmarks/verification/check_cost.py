"""What the default checks of a prompt cost: the same turn with them and without, by processor and wall time.

    python -m benchmarks.verification.check_cost REPOSITORY FILE [--runs 10] [--think 2.0]

FILE is a Python file of the repository to which a function is added; another function, which the benchmark adds to the
repository with a test, is changed, so that it is run before and after. Turns alternate, so that a busy machine is busy
for both. A reply of the scripted model comes after --think seconds; real ones take longer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMPTS = (
    "fix the total of an empty list in that module",
    "add a function `total_of` to {file}. It must return 0 for an empty list. No file but {file} may change",
    "refactor count_totals",
    "add a docstring to total_of and rename total_of to sum_of everywhere; do not touch the tests",
)


PATH, TEST = "benchmark_totals.py", "test_benchmark_totals.py"
FUNCTION = "def count_totals(items):\n    return sum(items)\n"
CHANGED = "def count_totals(items):\n    found = 0\n    for each in items:\n        found += each\n    return found\n"
TESTED = "from benchmark_totals import count_totals\n\n\ndef test_totals():\n    assert count_totals([1, 2]) == 3\n"


def add_function(root: Path) -> None:
    """Commit a module with one function, and its test."""
    (root / PATH).write_text(FUNCTION, encoding="utf-8")
    (root / TEST).write_text(TESTED, encoding="utf-8")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", "-C", str(root), "add", PATH, TEST], check=True)
    subprocess.run(["git", "-C", str(root), *who, "commit", "-qm", "Add totals"], check=True)


def write_script(folder: Path, file: str, text: str, think: float) -> str:
    """Write a model's turns: read, write two files, answer. Return its name."""
    added = f"{text}\n\ndef total_of(items):\n    return sum(items)\n"
    turns = [
        {"calls": [{"tool": "read", "arguments": {"path": each}} for each in (file, PATH)], "delay": think},
        {
            "calls": [
                {"tool": "write", "arguments": {"path": file, "content": added}},
                {"tool": "write", "arguments": {"path": PATH, "content": CHANGED}},
            ],
            "delay": think,
        },
        {"text": "Done.", "delay": think, "repeat": 5},
    ]
    path = folder / "turns.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted:{path}"


def run_turn(root: Path, prompt: str, model: str, home: Path, checks: str) -> tuple[float, float]:
    """Return (wall seconds, processor seconds) of a turn."""
    subprocess.run(["git", "-C", str(root), "checkout", "-q", "-f", "."], check=True)
    variables = {
        **os.environ,
        "HOME": str(home),
        "PATCHWRIGHT_VERIFY__REQUIREMENTS": checks,
    }
    command = [
        sys.executable,
        "-m",
        "patchwright",
        "run",
        prompt,
        "--model",
        model,
        "--tests",
        "true",
        "--no-commit",
    ]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=root, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the medians for each prompt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--think", type=float, default=2.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "clone")
        subprocess.run(["git", "clone", "-q", str(options.repository), str(root)], check=True)
        add_function(root)
        model = write_script(Path(folder), options.file, (root / options.file).read_text(), options.think)
        for prompt in PROMPTS:
            said = prompt.format(file=options.file)
            times: dict[str, list[tuple[float, float]]] = {"auto": [], "off": []}
            for number in range(options.runs):
                for checks in ("auto", "off") if number % 2 else ("off", "auto"):
                    times[checks].append(run_turn(root, said, model, Path(folder), checks))
            (wall, spent), (bare, bare_spent) = (
                tuple(statistics.median(column) for column in zip(*times[each], strict=True))
                for each in ("auto", "off")
            )
            print(
                f"{said!r}: {wall:.2f} s with, {bare:.2f} s without; processor {spent:.2f} s and {bare_spent:.2f} s"
            )
            print(
                f"  the checks take {1000 * (spent - bare_spent):.0f} ms of the processor, {(wall - bare) / wall:+.1%}"
            )


if __name__ == "__main__":
    main()
