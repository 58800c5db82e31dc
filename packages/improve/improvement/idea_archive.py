"""Archive of tried ideas: each step of `improve` as a line of JSON, which later runs read."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.app_dirs import make_private_folder
from sandbox.fs.private_files import open_private
from sandbox.fs.regular_file import read_regular_text
from sandbox.parsed_data import parse_json
from sandbox.secrets.redaction import redact_values

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
        make_private_folder(self.path.parent)
        line = json.dumps(redact_values({"time": round(time.time(), 3), "step": step, **facts}))
        with open(self.path, "a", encoding="ascii", opener=open_private) as file:
            file.write(line + "\n")

    def list_ideas(self, cluster: str) -> list[tuple[str, str]]:
        """Return what was tried for a cluster and what came of it, the newest last.

        Lines that a kill cut off are left out; nothing is known any more of an archive that has become too large.
        """
        found = []
        for line in (read_regular_text(self.path, LARGEST) or "").split("\n"):
            with suppress(ValueError, AttributeError):
                step = parse_json(line)
                if step.get("step") == "idea" and step.get("cluster") == cluster:
                    found.append((str(step.get("idea", "")), str(step.get("result", ""))))
        return found[-MOST_TOLD:]
