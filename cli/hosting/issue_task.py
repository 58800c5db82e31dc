"""The task of an issue: a person's words, and the issue as text of others."""

from __future__ import annotations

import os
import re
from pathlib import Path

from agent.app_dirs import Home
from cli.hosting.host import Issue
from cli.hosting.open_host import Place, find_place, open_host
from cli.settings.layers import load_settings
from sandbox.errors import Fault, UserError
from tools.core.untrusted_output import enclose_in_tag
from tools.git.git_process import Git

TASK = "Resolve the issue below."

MOST_COMMENTS = 30
"""Comments that are read: the first describe the problem, the last the agreement."""


def read_issue_task(folder: Path, issue: str, prompt: str | None) -> str:
    """Return the prompt for an issue, named by its number or its page's address. Raises UserError.

    prompt: the person's words, None for the usual ones. Only they count as the person's.
    """
    git = Git.from_folder(folder)
    hosting = load_settings(Home.from_environment(), git.root, {}).hosting
    place, number = _find_issue(git, issue, hosting)
    found = open_host(place, git.root, os.environ).read_issue(number)
    return f"{prompt or TASK}\n\n{enclose_in_tag('stdin', _format_issue(place, found))}"


def _find_issue(git: Git, issue: str, hosting: dict[str, str]) -> tuple[Place, int]:
    if issue.removeprefix("#").isdecimal():
        return find_place(git.read_setting("remote.origin.url"), hosting), int(issue.removeprefix("#"))
    found = re.fullmatch(r"(https?://.+?)/(?:-/)?issues/(\d+)(?:[?#].*)?", issue)
    if found is None:
        raise UserError(Fault.USAGE, f"{issue!r} is no issue", "Give its number, or the address of its page.")
    return find_place(found[1], hosting), int(found[2])


def _format_issue(place: Place, issue: Issue) -> str:
    parts = [f"Issue {issue.number} of {place.name}: {issue.title}", f"{issue.author}:\n{issue.text.strip()}"]
    comments = list(issue.comments)
    half = MOST_COMMENTS // 2
    kept = comments if len(comments) <= MOST_COMMENTS else [*comments[:half], *comments[-half:]]
    return "\n\n".join([*parts, *(f"{author}:\n{text.strip()}" for author, text in kept)])
