"""openevolve beside `patchwright optimize`: the same functions, the same proposals, the same evaluator.

    python -m benchmarks.slow_functions.openevolve_peer FOLDER [NAME …] [--orders 0 1]

installs openevolve (pinned) into FOLDER once. Each of eight functions of `histories.txt`, drawn by a seed, is given to
three programs: openevolve, `patchwright optimize --model`, and the latter without its own rewrites. A loopback server
answers each request with the next proposal of the function's list: five that are useless, and one or two that help
(`peer_versions.txt`), in an order drawn by a seed. A proposal is a whole file, which both read. The evaluator is one
command that checks 300 answers for pieces of the arguments and prints the milliseconds; openevolve's runs it on the
original as well, so that both see a ratio. Counted is up to the first version that is seen as 1.3 times quicker.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from agent.model.protocol import Request
from benchmarks.slow_functions.__main__ import QUICKER, SCREENED, answer, end_call, load
from benchmarks.slow_functions.history_inputs import HISTORIES
from tests.support.loopback import Loopback

PACKAGE = "openevolve==0.4.1"

DRAWN, SEED = 8, 0
"""Functions, and the seed by which they are drawn."""

LONGEST_PIECE = 12
"""Items of an argument in a call whose answer is checked."""

MOST_REQUESTS = 24
"""Iterations of openevolve: as many as our three islands have in eight rounds."""

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]

PROGRAMS = ("openevolve", "ours", "ours, no rewrites")

METRIC = """
import ast, copy, pickle, sys, time
from slow import NAME

arguments, calls = pickle.load(open("case.pickle", "rb"))
for call, before in calls:
    given, named = ast.literal_eval(call)
    try:
        after = repr((NAME(*given, **named), given))
    except Exception:
        after = "an error"
    if after != before:
        sys.exit("another answer")
best = float("inf")
for _ in range(5):
    given = copy.deepcopy(arguments)
    begun = time.process_time()
    NAME(*given)
    best = min(best, time.process_time() - begun)
print("ms:", best * 1000)
"""

EVALUATOR = """
import json, os, shutil, subprocess, tempfile, time

FOLDER, LOG = os.environ["PEER_FOLDER"], os.environ["PEER_LOG"]
runs = 0


def measure(path):
    global runs
    runs += 1
    with tempfile.TemporaryDirectory() as place:
        for name in ("metric.py", "case.pickle"):
            shutil.copy(os.path.join(FOLDER, name), place)
        shutil.copy(path, os.path.join(place, "slow.py"))
        words = [os.environ["PEER_PYTHON"], "metric.py"]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True)
    return None if done.returncode else float(done.stdout.split()[-1])


def evaluate(program_path):
    global runs
    runs = 0
    value = measure(program_path)
    gain = measure(os.path.join(FOLDER, "slow.py")) / value if value else 0.0
    with open(LOG, "a") as log, open(program_path) as program:
        told = {"at": time.time(), "runs": runs, "gain": gain, "text": program.read()}
        log.write(json.dumps(told) + "\\n")
    return {"combined_score": gain}
"""

CONFIG = """
diff_based_evolution: false
llm:
  api_base: {url}
  api_key: test
  primary_model: test
"""

COUNTED = """
import sys
from packages.improve.optimize import optimization
from packages.improve.optimize.measurement import Measurement

run = Measurement._run

async def count(self, *arguments, **named):
    print("a run of the metric", file=sys.stderr, flush=True)
    return await run(self, *arguments, **named)

async def nothing(*arguments): return []

Measurement._run = count
if WITHOUT:
    optimization.list_rewrites = lambda *arguments: []
    optimization.list_ruff_rewrites = nothing
from patchwright.launcher import main
sys.exit(main())
"""
"""Our program, which tells each run of the metric; WITHOUT its own proposals only those of the model are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Evaluations, runs of the metric and seconds up to the first gain, None without one; ended: seconds in all."""

    gain: float
    evaluations: int | None
    runs: int | None
    seconds: float | None
    ended: float
    requests: int
    note: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--orders", type=int, nargs="*", default=[0], help="seeds of the orders of proposals")
    options = parser.parse_args()
    program = install(options.folder)
    names = options.names or random.Random(SEED).sample(sorted(HISTORIES), DRAWN)
    print("| function | order | program | gain | evaluations | runs | s | s in all | requests | |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|---|")
    found: dict[str, list[Outcome]] = {each: [] for each in PROGRAMS}
    for seed in options.orders:
        for number, name in enumerate(names):
            for which in range(len(PROGRAMS)):  # each is the first one in a third of the cases
                peer = PROGRAMS[(which + number + seed) % len(PROGRAMS)]
                outcome = run_case(program, peer, name, seed)
                found[peer].append(outcome)
                cells = [name, seed, peer, *format_outcome(outcome)]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
    print()
    for peer, outcomes in found.items():
        reached = [each for each in outcomes if each.seconds is not None]
        keys = ("evaluations", "runs", "seconds", "ended")
        sums = [f"{median(getattr(each, key) for each in reached):.1f}" for key in keys if reached]
        print(f"{peer}: {len(reached)} of {len(outcomes)}; medians of {', '.join(keys)}: {', '.join(sums)}")


def format_outcome(found: Outcome) -> list[str]:
    seconds = "" if found.seconds is None else f"{found.seconds:.1f}"
    counts = ["" if each is None else str(each) for each in (found.evaluations, found.runs)]
    return [f"{found.gain:.1f}", *counts, seconds, f"{found.ended:.1f}", str(found.requests), found.note]


def install(folder: Path) -> Path:
    """Return openevolve's program."""
    program = folder / "bin" / "openevolve-run"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", PACKAGE], check=True)
    return program


def run_case(program: Path, peer: str, name: str, seed: int) -> Outcome:
    """Run one program on one function."""
    slow = read_functions("histories.txt", name)[0]
    proposals, helpful = draw_proposals(name, slow, seed)
    asked = 0

    def next_proposal(request: Request) -> Mapping[str, Any]:
        nonlocal asked
        asked += 1
        return {"text": proposals[(asked - 1) % len(proposals)]}

    with tempfile.TemporaryDirectory() as place, Loopback(next_proposal, keep=False) as server:
        folder = Path(place) / "project"
        write_project(folder, name, slow)
        if peer == "openevolve":
            outcome = run_openevolve(program, folder, server.url, helpful)
        else:
            outcome = run_ours(peer, folder, server.url)
    return replace(outcome, requests=asked)


def read_functions(file: str, name: str) -> list[str]:
    """Return the versions of a function in a file of them, each with the imports that it needs."""
    found = []
    for block in re.split(r"^# .*\n", (HERE / file).read_text("utf-8"), flags=re.MULTILINE):
        if f"def {name}(" in block:
            needs_pattern = "re." in block and "import re" not in block
            found.append(("import re\n\n" if needs_pattern else "") + block.strip() + "\n")
    return found


def draw_proposals(name: str, slow: str, seed: int) -> tuple[list[str], list[str]]:
    """Return the answers of the model in their order, and the texts of the versions that help."""
    head, line, body = slow.partition(re.search(r"^def .*\n", slow, re.MULTILINE)[0])  # type: ignore[index]
    useless = [
        ast.unparse(ast.parse(slow)) + "  # another layout\n",
        f"{head}{line}    for _ in range(200_000):\n        pass\n{body}",  # slower
        f"{head}{line}    return None\n{body}",  # wrong
        f"{head}{line}    if (\n{body}",  # does not parse
    ]
    helpful = read_functions("peer_versions.txt", name)
    answers = [f"```python\n{each}```" for each in (*useless, *helpful)]
    answers.append("I know of nothing that would be quicker than this.")
    random.Random(f"{name}:{seed}").shuffle(answers)
    return answers, [each.strip() for each in helpful]


def write_project(folder: Path, name: str, slow: str) -> None:
    """Write the function, the metric, and the answers that it checks."""
    signal.signal(signal.SIGPROF, end_call)
    given, function = HISTORIES[name], load(slow, name)
    calls = [(call, answer(function, call)) for call in draw_pieces(given, SCREENED)]
    folder.mkdir()
    (folder / "slow.py").write_text(slow)
    (folder / "metric.py").write_text(METRIC.replace("NAME", name))
    (folder / "case.pickle").write_bytes(pickle.dumps((given, [each for each in calls if each[1]])))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def draw_pieces(given: tuple[Any, ...], count: int) -> list[str]:
    """Return calls with pieces of the arguments."""
    draw = random.Random(SEED)

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return dict(draw.sample(list(value.items()), draw.randrange(1 + len(value))))
        if not isinstance(value, list | str):
            return value
        size = draw.randrange(min(len(value), LONGEST_PIECE) + 1)
        start = draw.randrange(len(value) - size + 1)
        return value[start : start + size]

    return [repr(([cut(each) for each in given], {})) for _ in range(count)]


def run_openevolve(program: Path, folder: Path, url: str, helpful: Sequence[str]) -> Outcome:
    """Run openevolve until a version has the gain; all settings but the form of answers are its own."""
    place = folder.parent
    (place / "evaluator.py").write_text(EVALUATOR)
    (place / "config.yaml").write_text(CONFIG.format(url=url))
    log = place / "log"
    variables = {"PEER_FOLDER": str(folder), "PEER_LOG": str(log), "PEER_PYTHON": sys.executable}
    words = [program, folder / "slow.py", place / "evaluator.py", "--config", place / "config.yaml"]
    words += ["--iterations", str(MOST_REQUESTS), "--target-score", str(QUICKER), "--output", place / "out"]
    wall, begun = time.time(), time.monotonic()
    done = subprocess.run(
        words, cwd=place, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    ended = time.monotonic() - begun
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    first = next((at for at, each in enumerate(lines) if each["gain"] >= QUICKER), None)
    if first is None:
        last = done.stderr.strip().rpartition("\n")[2][:80]
        return Outcome(gain=0, evaluations=None, runs=None, seconds=None, ended=ended, requests=0, note=last)
    found = lines[first]
    return Outcome(
        gain=found["gain"],
        evaluations=first + 1,
        runs=sum(each["runs"] for each in lines[: first + 1]),
        seconds=found["at"] - wall,
        ended=ended,
        requests=0,
        note="" if found["text"].strip() in helpful else "a gain by chance",
    )


def run_ours(peer: str, folder: Path, url: str) -> Outcome:
    """Run `patchwright optimize` to its end, which is the confirmation by fresh pairs."""
    program = COUNTED.replace("WITHOUT", str(peer != "ours"))
    words = [
        sys.executable,
        "-P",
        "-c",
        program,
        "optimize",
        "slow.py",
        "--metric",
        f"{sys.executable} metric.py",
    ]
    words += ["--no-commit", "--model", "openai/test", "--api-base", url]
    variables = {"PYTHONPATH": str(CHECKOUT), "OPENAI_API_KEY": "test", "HOME": str(folder.parent)}
    begun = time.monotonic()
    process = subprocess.Popen(
        words, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    evaluations, runs, gain = 1, 0, 0.0  # the original
    seconds = None
    for line in process.stderr:
        runs += seconds is None and line == "a run of the metric\n"
        if seconds is not None or not (said := re.match(r"patchwright: (.+?:\d+|\w+ \(.*\)): (.*)", line)):
            continue
        evaluations += 1
        times = re.fullmatch(r"([\d.]+) times", said[2])
        if times and float(times[1]) >= QUICKER:
            seconds, gain = time.monotonic() - begun, float(times[1])
    out = process.stdout.read()
    process.wait()
    ended = time.monotonic() - begun
    claimed = re.search(r"Make \S+ ([\d.]+) times faster", out)
    note = f"claimed {claimed[1]}" if claimed else "nothing claimed"
    if seconds is None:
        return Outcome(
            gain=gain, evaluations=None, runs=None, seconds=None, ended=ended, requests=0, note=note
        )
    return Outcome(
        gain=gain, evaluations=evaluations, runs=runs, seconds=seconds, ended=ended, requests=0, note=note
    )


if __name__ == "__main__":
    main()
