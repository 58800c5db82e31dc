"""A team whose roles follow scripts, on a shop with a wrong total and an unnamed sender."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.session_settings import SessionSettings, TeamSettings
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.cli import call, script
from tools.core.tool_settings import ToolSettings

TASK = "The total in cart.py has to add up, and the sender in mail.py has to be named"

BRIEF: dict[str, Any] = {
    "title": "Mend total and sender",
    "requirements": ["total adds up", "sender is named"],
}
PLAN: dict[str, Any] = {
    "steps": [
        {"id": "cart", "task": "mend total in cart.py", "covers": [1], "done_when": "test_total.py passes"},
        {"id": "mail", "task": "mend sender in mail.py", "covers": [2], "done_when": "test_sender.py passes"},
    ]
}
TESTS: dict[str, Any] = {
    "files": [
        {
            "path": "test_total.py",
            "content": "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
            "steps": ["cart"],
        },
        {
            "path": "test_sender.py",
            "content": "from mail import sender\n\n\ndef test_sender():\n    assert sender() == 'shop'",
            "steps": ["mail"],
        },
    ]
}
MEND = (
    "if [ -e test_total.py ]; then sed -i 's/-sum/sum/' cart.py; fi; "
    "if [ -e test_sender.py ]; then sed -i \"s/return ''/return 'shop'/\" mail.py; fi"
)


def answers(*texts: object) -> list[dict[str, Any]]:
    return [{"text": each if isinstance(each, str) else json.dumps(each)} for each in texts]


class Team:
    """Scripts of the roles; those that are not given do what is right."""

    def __init__(self, folder: Path, **roles: Sequence[Mapping[str, Any]]) -> None:
        given: dict[str, Sequence[Mapping[str, Any]]] = {
            "brief": answers(BRIEF),
            "plan": answers(f"Here it is:\n```json\n{json.dumps(PLAN)}\n```"),
            "tester": answers(TESTS),
            "coder": [{"calls": [call("shell", command=MEND)]}, {"text": "It is mended.", "repeat": 9}],
            "replan": answers("no"),
            "own": [{"text": "I gave up.", "repeat": 20}],
            "judge": [{"text": '{"accepts": true, "reason": "right"}', "repeat": 9}],
            **roles,
        }
        self.models = {name: script(folder, turns, f"{name}.json") for name, turns in given.items()}

    def build_settings(self, **more: Any) -> SessionSettings:
        own = SessionSettings()
        tools = ToolSettings()
        return SessionSettings(
            model=self.models["own"],
            access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined"),
            tools=replace(
                tools, tests=replace(tools.tests, command="python -m pytest -q -p no:cacheprovider")
            ),
            agents=TeamSettings(models=self.models),
            models=replace(own.models, judge=self.models["judge"]),
            commit="turn",
            **more,
        )
