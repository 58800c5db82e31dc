"""Order of one trial: data that goes to another process, or to another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from packages.evaluation.runs.variant import RunFolders
from sandbox.lazy_dataclass import dataclass

MOST_QUEUED = 3600.0
"""Seconds of all waits for a rate limit in one trial. Beyond them it ends, and says nothing about the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOrder:
    """One trial to run.

    key: content address of its result; trial: from 0; label: of its variant
    folder, digest: of the task, so that a task changed meanwhile is noticed
    settings: of its session; instructions: added to the system prompt
    max_cost: what is left of the run's budget, None without one
    total_seconds: when it is ended, whatever it does; with `MOST_QUEUED` where its models have a limit of rate
    user_model: that plays the task's user, "" where it has none
    """

    key: str
    label: str
    task: str
    trial: int
    folder: Path
    digest: str
    settings: SessionSettings
    instructions: str
    folders: RunFolders
    version: str
    max_cost: float | None
    total_seconds: float
    user_model: str = ""

    def encode(self) -> dict[str, Any]:
        """Return its fields for JSON."""
        return {
            "key": self.key,
            "label": self.label,
            "task": self.task,
            "trial": self.trial,
            "folder": str(self.folder),
            "digest": self.digest,
            "settings": _encode_settings(self.settings),
            "instructions": self.instructions,
            "home": self.folders.home.encode(),
            "scratch": str(self.folders.scratch),
            "sessions": str(self.folders.sessions),
            "version": self.version,
            "max_cost": self.max_cost,
            "total_seconds": self.total_seconds,
            "user_model": self.user_model,
        }


def decode_order(values: Mapping[str, Any]) -> TrialOrder:
    """Return an order from JSON. Raises ValueError."""
    return TrialOrder(
        key=values["key"],
        label=values["label"],
        task=values["task"],
        trial=values["trial"],
        folder=Path(values["folder"]),
        digest=values["digest"],
        settings=_decode_settings(values["settings"]),
        instructions=values["instructions"],
        folders=RunFolders(
            home=Home.decode(values["home"]),
            scratch=Path(values["scratch"]),
            sessions=Path(values["sessions"]),
        ),
        version=values["version"],
        max_cost=values["max_cost"],
        total_seconds=values["total_seconds"],
        user_model=values["user_model"],
    )


def _encode_settings(settings: SessionSettings) -> str:
    import json

    return json.dumps(asdict(settings), separators=(",", ":"))


@lru_cache(maxsize=64)
def _decode_settings(text: str) -> SessionSettings:
    """Return the settings; the trials of a variant share theirs."""
    import json

    from agent.children.process.wire import decode_settings

    return decode_settings(json.loads(text))
