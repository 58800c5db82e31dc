"""The examples of the documentation run: the monitor seam, and a monitor of one's own in a real turn."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agent.events import ObservationEvent
from agent.monitor import answers, build_monitors
from agent.monitor.monitor import Monitor
from tests.support.bench import Bench, bench
from tests.support.cli import CHECKOUT, call
from tools.core.action import Observation
from tools.core.action_guard import BegunAction
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.shell.shell_tool import shell


def read_example(path: str, heading: str) -> str:
    """Return the first Python block under a heading."""
    section = (CHECKOUT / path).read_text("utf-8").partition(f"{heading}\n")[2]
    block = re.search(r"^( *)```python\n(.*?)^\1```", section, re.MULTILINE | re.DOTALL)
    assert block is not None
    return textwrap.dedent(block[2])


def run_example(path: str, heading: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(read_example(path, heading), path, "exec", dont_inherit=True), names)
    return names


@tool("git")
async def git_commit(message: str, *, at: Workspace) -> Observation:
    """Commit."""
    return Observation(text="committed")


def list_texts(it: Bench) -> list[str]:
    found = [each for each in it.events if isinstance(each, ObservationEvent)]
    return [each.text for each in found if not each.call.startswith("harness-")]


@pytest.mark.parametrize("day", ["Monday", "Tuesday"])
def test_the_example_of_the_architecture_holds(tmp_path: Path, day: str) -> None:
    it = bench(tmp_path, [{"calls": [call("git_commit", message="m")]}, {"text": "Done."}], [git_commit])
    names = {**vars(answers), "Monitor": Monitor, "BegunAction": BegunAction, "today": lambda: day}
    run_example("docs/architecture.md", "### Monitors", {**names, "runtime": it.runtime})
    it.turn("go")
    said = "denied: it commits on a Monday, and nobody can be asked. Instead: leave the commit to the user"
    assert list_texts(it) == [f"git_commit: {said}" if day == "Monday" else "committed"]


def test_every_answer_and_every_monitor_is_described(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs/architecture.md").read_text("utf-8").partition("### Monitors\n")[2]
    described = re.findall(r"^\| `(\w+)` \|", page.partition("\n## ")[0], re.MULTILINE)
    built = bench(tmp_path, [], []).runtime.loop.monitors.monitors
    known = ["GO_ON", "TellModel", "TellPerson", "Refuse", "Ask", "StopTurn", "Retry"]
    assert described == [*known, *(each.name for each in built)]
    assert all(hasattr(answers, name) for name in known)
    assert build_monitors.__doc__


def test_the_walk_through_fits_on_a_screen() -> None:
    section = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8").partition("### Add a monitor\n")[2]
    assert len(section.partition("\n### ")[0].splitlines()) < 40


def test_the_monitor_of_the_walk_through_refuses_one_command_too_many_in_each_turn(tmp_path: Path) -> None:
    run_true = {"calls": [call("shell", command="true")]}
    it = bench(tmp_path, [run_true, run_true, {"text": "Done."}, run_true, {"text": "Done."}], [shell])
    names = run_example("CONTRIBUTING.md", "### Add a monitor", {"__name__": "few_commands"})
    it.runtime.loop.monitors.add_monitor(names["FewCommands"](most=1))
    it.turn("go")
    it.turn("again")
    refused = [text.startswith("shell: not done: this turn has run 1 commands") for text in list_texts(it)]
    assert refused == [False, True, False]
