"""A terminal that is not read for a while (ssh over a bad line): the work goes on, and nothing is lost."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import at_rest, log_of, talk, wait_until
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1")) > 1

PARAGRAPHS = 36_000 if STRESS else 1_400
"""2 MB, or somewhat more than any terminal takes unread."""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two megabytes take their time."""
    if STRESS:
        monkeypatch.setattr("tests.support.terminal.PATIENCE", 600.0)
        monkeypatch.setattr("tests.support.talking.PATIENCE", 600.0)


ANSWER = "\n\n".join(f"paragraph {number} of an answer that goes on and on" for number in range(PARAGRAPHS))


def kinds(shop: Path) -> list[str]:
    return [event["kind"] for event in log_of(shop)]


def test_work_goes_on_while_nobody_reads(shop: Path) -> None:
    """A step runs and is stopped, the turn ends, the program is ended by a signal, each while the window hangs."""
    turns = [
        {"text": ANSWER, "calls": [call("shell", command="touch started; sleep 600")]},
        {"text": "I stopped."},
        {"text": ANSWER, "calls": [call("shell", command="touch again; sleep 600")]},
    ]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        begin(terminal)
        wait_until(lambda: (shop / "started").exists())
        terminal.type("\x03")
        wait_until(lambda: "end" in kinds(shop))
        terminal.wait("I stopped.")
        at_rest(terminal)
        seen = paragraphs(terminal)  # as far back as the scrollback goes
        assert seen == list(range(PARAGRAPHS))[-len(seen) :]
        assert len(seen) >= min(PARAGRAPHS, 4_000)
        assert {int(each) for each in re.findall(rb"paragraph (\d+) of an answer", terminal.raw)} == set(
            range(PARAGRAPHS)
        )
        assert peak(terminal.pid) < 150

        begin(terminal)
        wait_until(lambda: (shop / "again").exists())
        os.kill(terminal.pid, signal.SIGTERM)
        wait_until(lambda: not terminal.running)
    assert kinds(shop)[-1] == "end"


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="what a process has written is not told here")
def test_lines_that_nobody_reads_hold_up_no_signal(shop: Path) -> None:
    with talk(shop, [{"text": ANSWER}], TERM="dumb") as terminal:
        terminal.wait(">")
        begin(terminal)
        before = -1
        while before != (before := written(terminal.pid)):  # until it waits for its reader
            time.sleep(0.2)
        os.kill(terminal.pid, signal.SIGTERM)
        wait_until(lambda: not terminal.running)
    assert kinds(shop)[-1] == "end"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what a process has open is not told here")
def test_lines_that_are_said_at_the_end_hold_up_no_signal(shop: Path) -> None:
    """The terminal is full when the signal comes, though not of what the program is writing just then."""
    with talk(
        shop, [{"calls": [call("shell", command="touch started; sleep 600")]}], TERM="dumb"
    ) as terminal:
        terminal.wait(">")
        terminal.type("go\n")
        wait_until(lambda: (shop / "started").exists())
        fill(Path(f"/proc/{terminal.pid}/fd/1"))
        os.kill(terminal.pid, signal.SIGTERM)
        wait_until(lambda: not terminal.running)
    assert kinds(shop)[-1] == "end"


def fill(output: Path) -> None:
    """Write to a terminal that is not read as much as it takes."""
    descriptor = os.open(output.readlink(), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        while os.write(descriptor, b"full\n" * 100):
            pass
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def begin(terminal: Terminal) -> None:
    """Send a prompt, see that it is being answered, and read no further."""
    there = terminal.raw.count(b"paragraph 5 of")
    terminal.type("go\r")
    terminal.wait(lambda: terminal.raw.count(b"paragraph 5 of") > there)


def paragraphs(terminal: Terminal) -> list[int]:
    """The numbers of those that stand in the scrollback."""
    return [int(number) for number in re.findall(r"(?m)^paragraph (\d+) of an answer", terminal.everything)]


def peak(pid: int) -> float:
    """The most memory that a process has had, in MB; 0 where nobody says so."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else 0


def written(pid: int) -> int:
    """Bytes that a process has written."""
    return int(Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0])
