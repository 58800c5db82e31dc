"""`finish` and `propose`: end the turn, or ask the user to decide on changes that were not written."""

from __future__ import annotations

from typing import Literal

from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace


@tool(effect="none", ends=True)
async def finish(
    summary: str, status: Literal["done", "nothing to do", "not achieved"] = "done", *, at: Workspace
) -> Observation:
    """End the turn: the task is done, or cannot be."""
    text = _strip_blanks(summary)
    return Observation(text=text or "finished", data={"summary": text, "status": status})


@tool(effect="none", ends=True)
async def propose(summary: str, *, at: Workspace) -> Observation:
    """End the turn with changes that were not written, for a person to decide on.

    summary: for the user: the changes, how sure each is, and how to have them written
    """
    text = _strip_blanks(summary)
    return Observation(text=text or "proposed", data={"summary": text, "status": PROPOSED})


def _strip_blanks(summary: str) -> str:
    """Return a summary without blanks around it; the indentation of a first line that is code stays."""
    text = summary.rstrip().lstrip("\r\n")
    return text if text.startswith(("    ", "\t")) else text.lstrip()


PROPOSED = "proposed"
"""Status of a turn that ended with `propose`."""
