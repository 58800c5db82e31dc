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
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.children.children import Children
from agent.children.spec import ChildResult, ChildSpec
from agent.session_request import SessionRequest
from agent.session_settings import LimitSettings, SessionSettings
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


async def measure_starts(children: Children, short: str) -> None:
    """Print what a child costs from its spec to its first reply."""
    starts, used = [], []
    for _ in range(30):
        begun, before = time.perf_counter(), time.process_time()
        child = await children.start(ChildSpec(prompt="look", model=short))
        first: list[tuple[float, float]] = []
        child.runtime.session.subscribe(
            lambda event, first=first: (
                first.append((time.perf_counter(), time.process_time())) if event.kind == "message" else None
            )
        )
        await child.run()
        starts.append(1000 * (first[0][0] - begun))
        used.append(1000 * (first[0][1] - before))
        await child.close()
    print(
        f"spec to first reply: median {statistics.median(used[5:]):.1f} ms of processor time,"
        f" {statistics.median(starts[5:]):.1f} ms of wall time, of {len(starts) - 5}"
    )


async def measure_steps(children: Children, long: str, many: LimitSettings) -> None:
    """Print the processor time of a session's step, alone and while other children are open."""
    alone = await measure_step(children, long, many)
    others = [await children.start(ChildSpec(prompt="wait", model=long)) for _ in range(32)]
    beside = await measure_step(children, long, many)
    print(f"a session's step: {alone:.2f} ms of processor time, {beside:.2f} ms beside 32 open ones")
    for each in others:
        await each.close()


async def measure_step(children: Children, long: str, many: LimitSettings) -> float:
    """Milliseconds of processor time between two replies of a session."""
    times: list[float] = []
    async with await children.start(ChildSpec(prompt="look", model=long, limits=many)) as child:
        child.runtime.session.subscribe(
            lambda event: times.append(time.process_time()) if event.kind == "message" else None
        )
        await child.run()
    return 1000 * statistics.median(after - before for before, after in pairwise(times))


async def measure_processes(children: Children, short: str, count: int) -> None:
    """Print what children in processes of their own cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = []
    for _ in range(count):
        child = await children.start(ChildSpec(prompt="look", model=short, runs="process"))
        await child.run()
        pid = child._execution._channel.process.pid  # type: ignore[attr-defined]
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        memory.append(int(rollup.partition("\nPss:")[2].split()[0]) / 1000)
        await child.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"a child in a process, one turn of two calls: {1000 * seconds / count:.0f} ms of processor time,"
        f" {statistics.median(memory):.0f} MB"
    )


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
        await children.run(ChildSpec(prompt="look", model=short))  # loads what the first one loads
        gc.collect()
        before = read_memory()
        at_once = [await children.start(ChildSpec(prompt="look", model=short)) for _ in range(args.at_once)]
        await asyncio.gather(*(child.run() for child in at_once))
        gc.collect()
        print(f"{args.at_once} at once: {(read_memory() - before) / args.at_once:.2f} MB each")
        await asyncio.gather(*(child.close() for child in at_once))
        del at_once

        await measure_starts(children, short)
        await measure_steps(children, long, many)
        await measure_processes(children, short, args.processes)

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
        sys.stdout.flush()
        await children.close()
        await runtime.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--finished", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=10)
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
