"""Logs of sessions that a test writes, event by event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

START = 1_795_613_000.0


class Log:
    """A log in a folder of its own; each event is a second after the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self._calls = 0
        folder.mkdir(parents=True)
        self.event(
            "session",
            session=folder.name,
            project="/shop",
            model="m",
            mode="workspace",
            version="1",
            system="s" * 360,
        )

    def event(self, kind: str, **fields: Any) -> str:
        """Write an event; return its id."""
        self.count += 1
        name = f"e{self.count}"
        base = {"v": 2, "id": name, "parent": f"e{self.count - 1}" if self.count > 1 else ""}
        line = json.dumps({**base, "time": START + self.count, "kind": kind, **fields})
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        return name

    def prompt(self, text: str) -> str:
        """Write what a person asks."""
        return self.event("prompt", text=text)

    def say(self, text: str, **fields: Any) -> str:
        """Write a reply without actions."""
        return self.event("message", text=text, model="m", **fields)

    def step(
        self, tool: str, arguments: Mapping[str, Any], output: str, *, text: str = "", failed: bool = False,
        usage: Mapping[str, Any] = {}, **data: Any,
    ) -> str:  # fmt: skip
        """Write a reply with one action and its result; return the id of the reply."""
        self._calls += 1
        call = f"c{self._calls}"
        asked = {"id": call, "tool": tool, "arguments": arguments}
        name = self.event("message", text=text, actions=[asked], usage=usage, model="m", stop="actions")
        effect = {"edit": "write", "write": "write", "shell": "execute", "run_tests": "execute"}.get(
            tool, "read"
        )
        paths = [arguments["path"]] if "path" in arguments else []
        self.event("action", call=call, tool=tool, effect=effect, paths=paths)
        self.event("observation", call=call, tool=tool, text=output, failed=failed, data=data, seconds=0.5)
        return name

    def tests(self, passed: int, *failing: str, message: str = "") -> str:
        """Write a step that runs the tests."""
        failures = [{"id": each, "file": each.partition("::")[0], "message": message} for each in failing]
        report = {"passed": passed, "failed": len(failing), "errors": 0, "failures": failures}
        word = "FAILED" if failing else "passed"
        output = "\n".join([f"pytest: {word}", *(f"FAILED {each}\n  {message}" for each in failing)])
        return self.step("run_tests", {}, output, report=report)

    def end(self, outcome: str = "done", code: int = 0, **fields: Any) -> str:
        """Write the end of the turn."""
        return self.event("end", outcome=outcome, exit_code=code, **fields)
