"""The search of the offline engine for a turn with a model: what it finds, and what of it is sure.

What it is sure of is written before a small model is asked, and not given up for a change of the model's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from packages.offline.lead.edit_words import describe_fix
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect

if TYPE_CHECKING:
    from packages.offline.lead.edit_words import Edit
    from sandbox.policy.decision import Approver
    from tools.core.action import Observation

ENGINE_SECONDS = 45
"""Budget of the offline engine: a model on a processor takes as long for a reply or two."""

FILLING_SECONDS = 120
"""The same where the model fills in statements for it, which takes a processor some seconds each."""

ENGINE_HEAD = 10.0
"""Seconds for which a small model waits for the engine before its first question: most searches end by then."""

BESIDE = 0.7
"""Share of the time for a reply that a search beside the model may take: what it finds has to be written and tested."""

MOST_CANDIDATES = 3
"""Candidates of the engine that a model is shown."""

LONGEST_HINT = 500
"""Characters of the prompt that the engine is given."""

_FOUND = "The offline engine found the fault:\n"


class EngineSearch:
    """One search at a time. repair: runs the tool of that name

    sure: edits of the last search that mend all, not in doubt; places: its suspects
    """

    def __init__(self, repair: Callable[[dict[str, object]], Awaitable[Observation]]) -> None:
        self._repair = repair
        self._task: asyncio.Future[Observation] | None = None
        self.sure: Sequence[Edit] = ()
        self.places: Sequence[Mapping[str, Any]] = ()

    @property
    def is_running(self) -> bool:
        """Whether a search was started whose result was not collected."""
        return self._task is not None

    @property
    def has_found(self) -> bool:
        """Whether the search has ended and is sure of a change."""
        return self._task is not None and self._task.done() and bool(select_sure_edits(_get_data(self._task)))

    async def wait_until_found(self) -> None:
        """Return once the search is sure of a change; never if it is of none."""
        if self._task is not None:
            await asyncio.wait({self._task})
        if not self.has_found:
            await asyncio.Event().wait()

    def start(self, seconds: float, prompt: str) -> None:
        """Start a search beside what comes next."""
        arguments: dict[str, object] = {"budget": int(seconds), "hint": prompt[:LONGEST_HINT]}
        self._task = asyncio.ensure_future(self._repair(arguments))

    async def wait(self, seconds: float) -> bool:
        """Return whether the search ends in this time."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)
        return self._task is not None and self._task.done()

    async def collect(self) -> list[list[Edit]] | None:
        """Return the candidates that the search ends with, None if there was none to wait for."""
        if self._task is None:
            return None
        task, self._task = self._task, None
        await task
        data = _get_data(task)
        self.sure, self.places = select_sure_edits(data), data.get("suspects") or ()
        fixes, others = data.get("fixes") or [], data.get("alternatives") or []
        found = [fixes, *others] if fixes else []
        return [_get_edits(each) for each in found[:MOST_CANDIDATES]]

    def cancel(self) -> None:
        """End the search, and forget what was found."""
        if self._task is not None:
            self._task.cancel()
        self._task, self.sure, self.places = None, (), ()


def _get_data(task: asyncio.Future[Observation]) -> Mapping[str, Any]:
    data: Mapping[str, Any] = {} if task.cancelled() else task.result().data.get("repair", {})
    return data


def select_sure_edits(repair: Mapping[str, Any]) -> list[Edit]:
    """Return the edits of a repair that mends all failing tests with changes that are not in doubt; else none."""
    from packages.offline.model.offline_messages import select_confident_fixes

    fixes = repair.get("fixes") or []
    if repair.get("outcome") != "fixed" or len(select_confident_fixes(fixes)) != len(fixes):
        return []
    return _get_edits(fixes)


async def write_sure_edits(
    edits: Sequence[Edit],
    run_edit: Callable[[Edit], Awaitable[None]],
    run_tests: Callable[[], Awaitable[Mapping[str, Any]]],
) -> str:
    """Write edits; return what was changed, "" if the tests fail with them, which are then taken back."""
    for edit in edits:
        await run_edit(edit)
    if (await run_tests()).get("outcome") == "passed":
        return describe_fix(edits, _FOUND)
    for edit in reversed(edits):
        await run_edit({"path": edit["path"], "old": edit["new"], "new": edit["old"]})
    return ""


async def may_fall_back(setting: str, approver: Approver | None) -> bool:
    """Return whether a change of the engine may be written where the model got nowhere. setting: `lead.fallback`"""
    if setting != "ask" or approver is None:
        return setting == "always"
    question = Decision(
        verdict="ask",
        reason="the model got nowhere; the offline engine has a change with which the tests pass",
    )
    answer = await approver.ask("repair", Effect(kind="write"), question)
    return answer.verdict == "allow"


def _get_edits(fixes: Sequence[Mapping[str, Any]]) -> list[Edit]:
    return [{key: str(each[key]) for key in ("path", "old", "new")} for each in fixes]
