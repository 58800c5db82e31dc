"""The model that a repair may ask to fill gaps: on this machine, since project files are sent unredacted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.model.infill.filler import Filler, find_filler, is_local
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from packages.offline.infill.filled_search import FilledSearch

ASKING, LONGEST_ASKING = 0.15, 30.0
"""Share of a turn's time, and seconds, in which a model has to answer the question whether it fills gaps."""

FILLER = "filler of gaps"
"""Fact of a workspace: the `Filler` that a repair may ask, where there is one."""


async def has_filler(at: Workspace, model: object) -> bool:
    """Return whether the model fills gaps, and let the repairs of the workspace ask it; found out once a session."""
    if FILLER not in at.facts:
        found = find_filler(model) if is_local(model) else None
        at.facts[FILLER] = found if found is not None and await _answers_in_time(at, found) else None
    return at.facts[FILLER] is not None


async def _answers_in_time(at: Workspace, filler: Filler) -> bool:
    """Return whether the model fills a gap before much of the turn is gone: one that needs longer helps no search."""
    with suppress(TimeoutError):
        async with asyncio.timeout(min(LONGEST_ASKING, at.seconds_left() * ASKING)):
            return await filler.probe()
    return False


def prepare_fillings(
    at: Workspace, tests: Sequence[tuple[str, str]], read_text: Callable[[str], str]
) -> FilledSearch | None:
    """Return what the model can add to a search, None without one. tests: file and id of each failing one"""
    filler = at.facts.get(FILLER)
    if filler is None:
        return None
    from packages.offline.infill.filled_search import FilledSearch, read_test_file

    return FilledSearch(filler=filler, beside=read_test_file(tests, read_text))
