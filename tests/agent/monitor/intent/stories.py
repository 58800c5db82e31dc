"""Chains of actions in words: played through the monitor without running them, except that edits are made."""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

from agent.events import (
    ActionEvent,
    ChainEvent,
    DecisionEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
)
from agent.monitor.answers import Ask
from agent.monitor.intent.cumulative_intent import CumulativeIntent
from sandbox.policy.effects import Effect
from sandbox.policy.shell import judge_command_line
from tests.support.repo import Repo
from tools.core.action import Action
from tools.core.action_guard import BegunAction
from tools.core.workspace import Workspace

FILES = {
    ".env": "API_TOKEN=4f9c1d7e8a2b6035\n",
    ".env.example": "API_TOKEN=\n",
    "config/secrets.yml": "password: hunter2hunter2\n",
    "certs/server.key": "key\n",
    "certs/ca.pem": "public\n",
    "tests/fixtures/key.pem": "made for tests\n",
    "app.py": "print('hello')\n",
    "logo.png": "png\n",
    "build/app.js": "1\n",
    "scripts/deploy.sh": "echo deploy\n",
    "public/index.html": "<html>\n",
    ".gitignore": ".env\nbuild/\n",
    ".pre-commit-config.yaml": "repos:\n- repo: local\n",
    ".github/workflows/ci.yml": "on: push\n",
    ".git/hooks/pre-commit": "exit 1\n",
    "requirements.txt": "requests\n",
}


def make_project(folder: Path) -> Repo:
    """A project with secrets, guards and examples of them."""
    repo = Repo(folder)
    for name, text in FILES.items():
        path = repo.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return repo


class Play:
    """A session of words. `asked` has what the monitor asked before the last action, "" if nothing."""

    def __init__(self, at: Workspace, level: Any = "ask") -> None:
        self.at = at
        self.events: list[Event] = []
        self.monitor = CumulativeIntent(at, level, self.log)
        self.asked = ""
        self.hint = ""
        self._count = 0

    def log(self, event: Event) -> None:
        self.events.append(event)
        self.monitor.handle_event(event)

    @property
    def chain_events(self) -> list[ChainEvent]:
        return [each for each in self.events if isinstance(each, ChainEvent)]

    def act(self, words: str, *, person: str = "") -> str:
        """Play one action; return the question. person: the answer to it, "" if nobody is there"""
        if words.startswith("prompt: "):
            self.log(Prompt(text=words.removeprefix("prompt: ")))
            return ""
        self._count += 1
        call = f"c{self._count}"
        begun = self._begin(call, words)
        self.log(MessageEvent())
        self.log(ActionEvent(call=call, tool=begun.action.tool, effect=begun.effect.kind))
        answer = self.monitor.before_action(begun)
        answer = asyncio.run(answer) if inspect.iscoroutine(answer) else answer
        self.asked = answer.question if isinstance(answer, Ask) else ""
        self.hint = answer.hint if isinstance(answer, Ask) else ""
        refused = False
        if self.asked:
            verdict = person or "deny"
            refused = verdict != "allow"
            by: Any = "person" if person else "policy"
            self.log(DecisionEvent(call=call, verdict=verdict, reason="", by=by))
        if not refused:
            self._apply(words)
        data = {"denied": True} if refused else {}
        self.log(ObservationEvent(call=call, tool=begun.action.tool, text="", data=data, failed=refused))
        return self.asked

    def _begin(self, call: str, words: str) -> BegunAction:
        tool, arguments, effect = _read_words(words)
        command = None
        if effect.argv[:2] == ("bash", "-c"):
            command = judge_command_line(effect.argv[2], root=self.at.root)
        return BegunAction(
            action=Action(id=call, tool=tool, arguments=arguments), effect=effect, command=command
        )

    def _apply(self, words: str) -> None:
        if match := re.match(r"write (\S+): (.*)", words, re.DOTALL):
            path = self.at.root / match[1]
            before = path.read_bytes() if path.exists() else None
            self.at.changes.originals.setdefault(match[1], before)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(match[2])


def _read_words(words: str) -> tuple[str, dict[str, Any], Effect]:
    kind, _, rest = words.partition(" ")
    match kind:
        case "$":
            return "shell", {"command": rest}, Effect(kind="execute", argv=("bash", "-c", rest))
        case "py:":
            return "python", {"code": rest}, Effect(kind="execute", argv=("python", "-c", rest))
        case "read":
            return "read", {"path": rest}, Effect(kind="read", paths=(rest,))
        case "write":
            path, _, content = rest.partition(": ")
            return "write", {"path": path, "content": content}, Effect(kind="write", paths=(path,))
        case "edit":
            path, _, change = rest.partition(": ")
            old, _, new = change.partition(" => ")
            return "edit", {"path": path, "old": old, "new": new}, Effect(kind="write", paths=(path,))
        case "commit":
            return "git_commit", {"message": "m"}, Effect(kind="git")
        case "fetch":
            return "web_fetch", {"url": rest}, Effect(kind="network", hosts=(rest.split("/")[2],))
        case "mcp":
            name, _, text = rest.partition(": ")
            return name, {"text": text}, Effect(kind="mcp", server_tool=name, call=text)
    raise ValueError(words)
