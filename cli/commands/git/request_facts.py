"""What sessions know of the commits of a branch: the issues that they were for, and the tests that were run."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MOST_SESSIONS = 50
"""Newest sessions of a project that are read: older ones made no commit of a branch that is still to be merged."""

_ISSUE = compile_lazily(r"^<stdin>\nIssue (\d+) of ([\w./-]+): ", re.MULTILINE)
"""Beginning of an issue in a prompt, as `run --from-issue` writes it; the issue's own text can open no such block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """issues: (repository, number) of each; tests: results of the checks, the last one last"""

    issues: tuple[tuple[str, int], ...] = ()
    tests: tuple[str, ...] = ()

    def format_closing(self, remote: str) -> str:
        """Return the lines by which a service closes the issues; "" for none. remote: address of the repository"""
        here = remote.removesuffix("/").removesuffix(".git")
        named = [
            f"Fixes {'' if re.search(rf'[/:]{re.escape(name)}$', here) else name}#{number}"
            for name, number in self.issues
        ]
        return "\n".join(named)


def read_request_facts(root: Path, commits: Collection[str]) -> RequestFacts:
    """Return the facts of the turns that made these commits."""
    from agent.app_dirs import Home
    from agent.events import End, ObservationEvent, Prompt
    from agent.session.log import read_events
    from agent.session.session_preview import list_logs
    from sandbox.errors import UserError

    logs = list_logs(Home.from_environment().get_project_folder(root) / "sessions")
    newest = sorted(logs, key=lambda path: path.stat().st_mtime_ns)[-MOST_SESSIONS:]
    issues: dict[tuple[str, int], None] = {}
    tests: dict[str, None] = {}
    for log in newest:
        text = checked = ""
        try:
            for event in read_events(log.parent):
                if isinstance(event, Prompt):
                    text, checked = event.text, ""
                    continue
                if isinstance(event, End):
                    checked, made = event.verification, event.commit
                else:  # by `/commit`, after the turn
                    made = str(event.data.get("commit", "")) if isinstance(event, ObservationEvent) else ""
                if made in commits:
                    found = _ISSUE.search(text)
                    if found is not None:
                        issues[found[2], int(found[1])] = None
                    if checked.startswith("passed"):
                        tests[checked.partition(": ")[2]] = None
        except (OSError, UserError):  # gone, or damaged: the other sessions count
            continue
    return RequestFacts(issues=tuple(issues), tests=tuple(filter(None, tests)))
