"""What a step costs: `shell true` again and again, from an answer sent to the next request received."""

from __future__ import annotations

import statistics
import sys
from itertools import pairwise

from _measure import COMMAND, repository, server, stamps, timed

TARGETS = """targets: at most 25 ms a step at 50 steps; the last eighth of 400 steps within 1.3 times the first;
under 90 MB at 400 steps"""


def gaps(steps: int) -> tuple[list[float], float]:
    """Milliseconds between answer and next request, step by step, and the peak memory of the process in MB."""
    turns = [
        {"calls": [{"tool": "shell", "arguments": {"command": "true"}}], "repeat": steps},
        {"text": "done"},
    ]
    with server(turns) as (url, log), repository() as (root, env):
        argv = [
            COMMAND,
            "run",
            "go",
            "--model",
            "openai/test",
            "--api-base",
            url,
            "--max-steps",
            str(steps + 1),
        ]
        run = timed(argv, env, root)
        seen = stamps(log)
    found = [1000 * (after["arrived"] - before["answered"]) for before, after in pairwise(seen)]
    return found, run.memory


def main() -> None:
    """50 and 400 steps; the floor is the sandboxed command itself (see sandbox_overhead.py)."""
    for steps in [int(each) for each in sys.argv[1:]] or [50, 400]:
        found, memory = gaps(steps)
        eighth = max(len(found) // 8, 1)
        first, last = statistics.median(found[:eighth]), statistics.median(found[-eighth:])
        print(
            f"{steps} steps: median {statistics.median(found):.1f} ms a step; first eighth {first:.1f},"
            f" last eighth {last:.1f} (ratio {last / first:.2f}); {memory:.0f} MB"
        )
    print(TARGETS)


if __name__ == "__main__":
    main()
