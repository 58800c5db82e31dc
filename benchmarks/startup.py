"""How long until a user sees something: --version, --help, and a one-shot question to a server that answers at once."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from _measure import COMMAND, milliseconds, repository, server, stamps, timed

ROUNDS = 15
WARM_AFTER = 4  # runs: what one had to load is there for the next

TARGETS = """targets: --version at most 60 ms and --help at most 150 ms over `python -c pass`;
one-shot at most 450 ms in all, less than 310 ms to the first request, under 80 MB; first request at most 12 KB"""


@contextmanager
def warm_process(env: Mapping[str, str], root: Path) -> Iterator[str]:
    """A warm process with a home of its own (`patchwright warm`); yields that home."""
    with tempfile.TemporaryDirectory() as place:
        env = {**env, "PATCHWRIGHT_HOME": place}
        timed([COMMAND, "warm"], env, root)
        try:
            yield place
        finally:
            timed([COMMAND, "warm", "stop"], env, root)


def main() -> None:
    """Each round measures everything once, so that a slow moment hits all alike."""
    walls: dict[str, list[float]] = {"python -c pass": [], "--version": [], "--help": [], "one-shot": []}
    walls["one-shot, warm"] = []
    first: list[float] = []
    first_warm: list[float] = []
    memory: list[float] = []
    with server() as (url, log), repository() as (root, env):
        question = [COMMAND, "run", "say hello", "--model", "openai/test", "--api-base", url]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "--version": [COMMAND, "--version"],
            "--help": [COMMAND, "--help"],
            "one-shot": question,
        }
        timed(question, env, root)  # warms the byte code
        with warm_process(env, root) as place:
            warm_env = {**env, "PATCHWRIGHT_HOME": place}
            for _ in range(WARM_AFTER):
                timed(question, warm_env, root)
            for _ in range(ROUNDS):
                for name, argv in commands.items():
                    run = timed(argv, env, root)
                    walls[name].append(run.wall)
                    if name == "one-shot":
                        first.append(stamps(log)[-1]["arrived"] - run.started)
                        memory.append(run.memory)
                run = timed(question, warm_env, root)
                walls["one-shot, warm"].append(run.wall)
                first_warm.append(stamps(log)[-1]["arrived"] - run.started)
        size = stamps(log)[-1]["bytes"]
    floor = statistics.median(walls["python -c pass"])
    for name, values in walls.items():
        over = 1000 * (statistics.median(values) - floor)
        print(f"{name:16} {milliseconds(values)}   {over:+.0f} ms over the floor")
    print(f"{'first request':16} {milliseconds(first)}")
    print(f"{'… warm':16} {milliseconds(first_warm)}")
    print(f"first request: {size} bytes; largest process: {statistics.median(memory):.0f} MB")
    print(TARGETS)


if __name__ == "__main__":
    main()
