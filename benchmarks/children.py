"""What child sessions cost: from spec to first request, memory of many at once, throughput of many in parallel.

All in one process with a scripted model, in a small repository: the figures are of the sessions themselves.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.limit_settings import LimitSettings
from agent.children.children import Children
from agent.children.spec import ChildResult, ChildSpec
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval

TARGETS = """targets: at most 15 ms from spec to first request; at most 3 MB for each of 100 at once; memory flat over
1,000 finished ones; 64 in parallel with 50 steps each: at least 80 % of one's steps a CPU second, slowest within 1.5
times the median"""


def read_memory() -> float:
    """Megabytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def write_script(folder: Path, name: str, steps: int) -> str:
    turns = [
        {"calls": [{"tool": "read", "arguments": {"path": "cart.py"}}], "repeat": steps},
        {"text": "done"},
    ]
    (folder / name).write_text(json.dumps({"turns": turns}))
    return f"scripted:{folder / name}"


async def measure(folder: Path, args: argparse.Namespace) -> None:
    home = Home.from_environment({"PATCHWRIGHT_HOME": str(folder / "own"), "HOME": str(folder)})
    shop = folder / "shop"
    short, long = write_script(folder, "short.json", 1), write_script(folder, "long.json", args.steps)
    settings = SessionSettings(
        model=short, access=AccessSettings(approval=Approval.NEVER), limits=LimitSettings(max_steps=10**6)
    )
    runtime = assemble_runtime(settings, SessionRequest(working=shop), home)
    children = Children(runtime)
    many = LimitSettings(max_steps=args.steps + 5)
    try:
        starts = []
        for _ in range(30):
            begun = time.perf_counter()
            child = await children.start(ChildSpec(prompt="look", model=short))
            first: list[float] = []
            child.runtime.session.subscribe(
                lambda event, first=first: (
                    first.append(time.perf_counter()) if event.kind == "message" else None
                )
            )
            await child.run()
            starts.append(1000 * (first[0] - begun))
            await child.close()
        print(f"spec to first reply: median {statistics.median(starts[5:]):.1f} ms of {len(starts) - 5}")

        gc.collect()
        before = read_memory()
        at_once = [await children.start(ChildSpec(prompt="look", model=short)) for _ in range(args.at_once)]
        await asyncio.gather(*(child.run() for child in at_once))
        gc.collect()
        print(f"{args.at_once} at once: {(read_memory() - before) / args.at_once:.2f} MB each")
        await asyncio.gather(*(child.close() for child in at_once))
        del at_once

        marks = []
        for number in range(args.finished):
            await children.run(ChildSpec(prompt="look", model=short))
            if number % (args.finished // 4) == args.finished // 4 - 1:
                gc.collect()
                marks.append(f"{read_memory():.0f}")
        print(f"memory after each quarter of {args.finished} finished ones: {', '.join(marks)} MB")

        async def run_many(count: int) -> tuple[float, list[ChildResult]]:
            begun = time.process_time()
            spec = ChildSpec(prompt="look", model=long, limits=many)
            results = await asyncio.gather(*(children.run(spec) for _ in range(count)))
            return count * args.steps / (time.process_time() - begun), results

        alone, _ = await run_many(1)
        together, results = await run_many(args.parallel)
        seconds = [each.seconds for each in results]
        spread = max(seconds) / statistics.median(seconds)
        print(
            f"{args.parallel} in parallel, {args.steps} steps each: {together:.0f} steps a CPU second,"
            f" one alone {alone:.0f} ({together / alone:.0%}); slowest {spread:.2f} times the median"
        )
    finally:
        await children.close()
        await runtime.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--finished", type=int, default=1000)
    parser.add_argument("--parallel", type=int, default=64)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="children-") as made:
        folder = Path(made)
        (folder / "shop").mkdir()
        (folder / "shop" / "cart.py").write_text("total = 0\n" * 40)
        subprocess.run(["git", "init", "-q", str(folder / "shop")], check=True)
        asyncio.run(measure(folder, args))
    print(TARGETS)


if __name__ == "__main__":
    main()
