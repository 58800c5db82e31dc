"""What a sandbox costs: median milliseconds of the program `true`, started plainly and in each sandbox.

    python benchmarks/sandbox_overhead.py [rounds]

The ways take turns, so that a busy moment of the machine hits them all alike. Beside the time that passes stands
the processor time of this process and of all that it started: that can be trusted on a busy machine too. (Not that of
"resident": its server, which prepares the next command meanwhile, is no child that is waited for.)
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox.backends.selection import BACKENDS, choose_sandbox
from sandbox.errors import UserError
from sandbox.process.command import Command

Way = Callable[[], Awaitable[object]]


async def plain() -> None:
    process = await asyncio.create_subprocess_exec(
        "true", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    await process.communicate()


def ways(workspace: Path) -> dict[str, Way]:
    found: dict[str, Way] = {"plain asyncio": plain}
    command = Command(argv=("true",), cwd=workspace)
    for name in reversed(BACKENDS):
        try:
            box = choose_sandbox(workspace, name)
        except UserError as error:  # this machine does not have it
            print(f"{name}: {error.message}")
            continue
        found[name] = lambda box=box: box.run(command)
        if name == "bubblewrap":
            resident = choose_sandbox(workspace, name, resident=True)
            found["resident"] = lambda box=resident: box.run(command)
    return found


def spent() -> float:
    """Seconds of processor time until now, of children that were waited for included."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


async def measure(
    found: dict[str, Way], rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Milliseconds that passed, and milliseconds of processor time, of each way."""
    times: dict[str, list[float]] = {name: [] for name in found}
    used: dict[str, list[float]] = {name: [] for name in found}
    for number in range(rounds + _WARM):
        for name, way in found.items():
            start, before = time.perf_counter(), spent()
            await way()
            if number >= _WARM:  # the first ones import modules, warm caches and start the resident place
                times[name].append((time.perf_counter() - start) * 1000)
                used[name].append((spent() - before) * 1000)
    return times, used


_WARM = 5


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        times, used = asyncio.run(measure(ways(Path(folder)), rounds))
    bare = statistics.median(used["plain asyncio"])
    base, floor = statistics.median(times["plain asyncio"]), min(times["plain asyncio"])
    print(
        f"{'':14}  median     min   median over plain   min over plain   processor, over plain   (ms, {rounds} rounds)"
    )
    for name, values in times.items():
        middle, least = statistics.median(values), min(values)
        over = f"{middle - base:10.2f} ({middle / base:4.1f}x) {least - floor:10.2f} ({least / floor:4.1f}x)"
        processor = statistics.median(used[name])
        print(f"{name:14} {middle:7.2f} {least:7.2f} {over} {processor:10.2f} {processor - bare:10.2f}")


if __name__ == "__main__":
    main()
