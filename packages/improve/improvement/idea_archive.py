"""Archive of tried ideas: each step of `improve` as a line of JSON, which later runs read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from sandbox.fs.regular_file import read_regular_file
from sandbox.parsed_data import parse_json

LARGEST = 16 << 20
"""Bytes of the archive that are read."""

MOST_TOLD = 5
"""Earlier ideas for the same failures that the model is told."""


class IdeaArchive:
    """The steps of one project. path: the file, which is made with the first step"""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add_step(self, step: str, **facts: Any) -> None:
        """Append a step."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"time": round(time.time(), 3), "step": step, **facts}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def list_steps(self) -> list[dict[str, Any]]:
        """Return all steps; a line that was cut off by a kill is left out."""
        found = []
        for line in (read_regular_file(self.path, LARGEST) or b"").decode("utf-8", "replace").splitlines():
            try:
                step = parse_json(line)
            except ValueError:
                continue
            if isinstance(step, dict):
                found.append(step)
        return found

    def list_ideas(self, cluster: str) -> list[tuple[str, str]]:
        """Return what was tried for a cluster and what came of it, the newest last."""
        return [
            (str(each.get("idea", "")), str(each.get("result", "")))
            for each in self.list_steps()
            if each.get("step") == "idea" and each.get("cluster") == cluster
        ][-MOST_TOLD:]
