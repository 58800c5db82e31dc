"""/tests: run the tests, then choose failing ones to run again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cli.tui.commands.slash_command import Command
from cli.tui.frontend import Choice
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def tests(chat: Conversation, argument: str) -> None:
    """Run the tests now, then each failing one that the user chooses, until they leave the list or none fails."""
    report = await _run_tests(chat, argument.split())
    failures = {str(each["id"]): each for each in report.get("failures", ()) if each.get("id")}
    states = {name: _describe_failure(each) for name, each in failures.items()}
    while chat.front.redraws and (failing := sum(each != PASSED for each in states.values())):
        names = list(states)
        chosen = await chat.front.pick(
            f"{format_count(failing, 'failing test')}: run which one again?",
            [
                Choice(
                    label=sanitize_text(name), about=states[name], preview=partial(_preview, failures[name])
                )
                for name in names
            ],
        )
        if chosen is None:
            return
        name = names[chosen]
        again = await _run_tests(chat, [name])
        failed = {str(each.get("id")): each for each in again.get("failures", ())}
        if name in failed:
            failures[name], states[name] = failed[name], _describe_failure(failed[name])
        elif again.get("outcome") == "passed":
            states[name] = PASSED


PASSED = "passes now"


async def _run_tests(chat: Conversation, targets: list[str]) -> Mapping[str, Any]:
    """Run tests as an action of the person; return the report, {} if there is none."""
    if chat.runtime.toolbox.get("run_tests") is None:
        raise UserError(Fault.USAGE, "this session has no tool 'run_tests'")
    chat.front.show_activity("Running tests")
    observation = await chat.runtime.run_harness_action("run_tests", {"targets": targets} if targets else {})
    report = observation.data.get("report")
    return report if isinstance(report, dict) else {}


def _describe_failure(failure: Mapping[str, Any]) -> str:
    message = str(failure.get("message", "")).strip().partition("\n")[0]
    return sanitize_text(message) or "fails"


def _preview(failure: Mapping[str, Any]) -> str:
    """Return the end of what a failing test printed: an assertion stands there."""
    from cli.tui.screen.picker import PREVIEW

    return sanitize_text("\n".join(str(failure.get("detail", "")).rstrip().split("\n")[-PREVIEW:]))


COMMANDS = (
    Command(
        name="/tests",
        argument="[TARGET…]",
        help="run the tests",
        details="Those that fail are listed: Enter runs one again, Esc leaves.",
        run=tests,
        while_working=False,
    ),
)
