"""Steps of the offline engine's turn, as its messages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.model.protocol import AssistantMessage, Message, ToolMessage, UserMessage
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of this turn and its observation."""

    action: Action
    result: ToolMessage

    @property
    def data(self) -> Mapping[str, Any]:
        return self.result.data or {}

    @property
    def text(self) -> str:
        """The whole text of the observation, without references to earlier ones."""
        return self.result.whole or self.result.text


_ENDS = ("finish", "propose")
"""Tools that end a turn."""


def collect_steps(messages: Sequence[Message]) -> list[Step]:
    """Return the calls among the messages that have observations."""
    results = {each.call: each for each in messages if isinstance(each, ToolMessage)}
    actions = [action for each in messages if isinstance(each, AssistantMessage) for action in each.actions]
    return [Step(action=each, result=results[each.id]) for each in actions if each.id in results]


def find_proposed_search(messages: Sequence[Message]) -> Step | None:
    """Return the search whose changes were proposed at the very end of these messages."""
    steps = collect_steps(messages)
    if not steps or steps[-1].action.tool != "propose":
        return None
    return next((each for each in reversed(steps) if each.action.tool == "repair"), None)


def find_turn_start(messages: Sequence[Message]) -> int:
    """Return the index of the current turn's prompt: after the last message that ended a turn."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, AssistantMessage):
            ended = not message.actions or any(action.tool in _ENDS for action in message.actions)
            if ended:
                later = range(place + 1, len(messages))
                return next((at for at in later if isinstance(messages[at], UserMessage)), len(messages))
    return 0


def get_report(step: Step) -> Mapping[str, Any]:
    """Return the structured report; without one (a log of another version), the outcome in the text's first line."""
    report = step.data.get("report")
    if isinstance(report, Mapping):
        return report
    first = step.result.text.partition("\n")[0].lower()
    for word in ("no tests", "not verified", "not run", "broken", "timed out", "failed", "passed"):
        if word in first:
            known = {
                "no tests": "no-tests",
                "not verified": "unverified",
                "not run": "no-runner",
                "timed out": "timeout",
            }
            return {"outcome": known.get(word, word)}
    return {"outcome": "broken"}


def list_failing_tests(step: Step) -> list[str]:
    """Return the ids of the failing tests of a run."""
    return [str(each["id"]) for each in get_report(step).get("failures", ())]
