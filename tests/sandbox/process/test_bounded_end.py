"""Work in a thread whose caller was cancelled delays neither the end of a loop nor that of the program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

from sandbox.process.bounded_end import run_loop

CHECKOUT = Path(__file__).parents[3]

PROGRAM = """
import asyncio, sys, time
sys.path.insert(0, {checkout!r})
from sandbox.process.bounded_end import exit_past_leftovers, run_loop

def work(seconds):
    time.sleep(seconds)
    return seconds

async def main():
    assert await asyncio.to_thread(work, 0.01) == 0.01
    try:
        async with asyncio.timeout(0.1):
            await asyncio.to_thread(work, {seconds})
    except TimeoutError:
        print("cut off")
    return 4

code = run_loop(main())
exit_past_leftovers(code)
print("ended as ever")
sys.exit(code)
"""


def play(seconds: float) -> tuple[int, str, float]:
    started = time.monotonic()
    program = PROGRAM.format(checkout=str(CHECKOUT), seconds=seconds)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr, time.monotonic() - started


def test_long_work_is_left_behind() -> None:
    code, said, took = play(30)
    assert (code, said) == (4, "cut off\n")
    assert took < 10


def test_every_command_with_a_loop_ends_so() -> None:
    for path in sorted((CHECKOUT / "cli").rglob("*.py")):
        assert "asyncio.run(" not in path.read_text("utf-8"), path


def test_a_loop_has_the_threads_that_it_is_given() -> None:
    async def work() -> int:
        gate = threading.Barrier(40)
        return len(await asyncio.gather(*(asyncio.to_thread(gate.wait, 20) for _ in range(40))))

    assert run_loop(work(), threads=40) == 40


def test_work_that_is_nearly_done_is_waited_for_and_the_end_is_an_ordinary_one() -> None:
    code, said, _ = play(0.12)
    assert (code, said) == (4, "cut off\nended as ever\n")
