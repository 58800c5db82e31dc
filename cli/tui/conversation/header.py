"""What stands first in a conversation: program, folder, model, branch, test runner, and a tip or the way to a model."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.fs.repository import read_branch
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from tools.core.workspace import Workspace

TIPS = (
    "Shift-Tab goes through plan, ask and auto",
    "@ names a file or a symbol, ! runs a command of yours, # adds a line to AGENTS.md",
    "type while it works: what you say is delivered after its present step",
    "Esc Esc goes back to before an earlier prompt, with the files or without",
    "/undo takes back all that a turn changed, what commands changed included",
    "Ctrl-O shows the whole session, nothing folded",
    "/status shows what it may do, and what it asks about",
)


def format_facts(runtime: Runtime, runner: str) -> str:
    """Return the line about the model, the branch and the tests. `runner`: see `find_runner`"""
    branch = read_branch(Path(runtime.workspace.root))
    model = (
        "no model: the offline engine" if runtime.model.name == "offline" else f"model {runtime.model.name}"
    )
    facts = [model, f"branch {branch}" if branch else "", f"tests {runner}" if runner else "no tests found"]
    return sanitize_text(" · ".join(filter(None, facts)))


def choose_tip(today: datetime.date) -> str:
    """Return the tip of a day."""
    return f"tip: {TIPS[today.toordinal() % len(TIPS)]}"


def find_runner(workspace: Workspace) -> str:
    """Return the command or the runner of the project's tests, "" for none; reads files, so not in the event loop."""
    if command := workspace.settings.tests.command:
        return command
    from tools.testing.project_files import Project
    from tools.testing.runners import find_fitting_runners

    found = find_fitting_runners(Project(workspace), ())
    return found[0].name if found else ""
