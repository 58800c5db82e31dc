"""Results that agents of one session share: a search or a test run is not repeated while nothing has changed.

BFS-Prover and "AI Overlords" share results between provers; here a result is another one's if the tree of files, the
call and the environment are the same. What a turn is judged by is never taken from here: only agents that change
nothing have it, and a session verifies its own work afresh.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sandbox.lazy_dataclass import dataclass
from tools.core.action import Observation
from tools.core.registry import Tool
from tools.core.workspace import Workspace

SHARED = frozenset({"read", "list", "search", "code", "run_tests"})
"""Tools whose results depend on the files, the arguments and the environment only."""

MOST_KEPT = 512
"""Results that are kept, the most recently used ones."""

LARGEST = 200_000
"""Characters of a result that is kept."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A result. whole: content of its artifact; tests: the report of a test run"""

    observation: Observation
    whole: bytes
    tests: Any
    at: float


class SharedResults:
    """Results by tree, call and environment. take_tree: returns the id of the present files; blocking"""

    tools = SHARED

    def __init__(self, take_tree: Callable[[], str]) -> None:
        self.reused = 0
        self._take_tree = take_tree
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._running: dict[Key, asyncio.Future[None]] = {}
        self._outcomes: dict[tuple[str, str], str] = {}
        self._flaky: set[str] = set()

    async def run(self, tool: Tool, arguments: Mapping[str, Any], at: Workspace) -> Observation:
        """Return the result of a call: a known one, that of a call under way, or a new one."""
        tree = await asyncio.to_thread(self._take_tree)
        key = _build_key(tree, tool, arguments, at)
        if (running := self._running.get(key)) is not None:
            await asyncio.wait([running])
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            self.reused += 1
            return await asyncio.to_thread(_adopt_result, kept, tool, at)
        done = self._running.setdefault(key, asyncio.get_running_loop().create_future())
        try:
            observation = await tool.run(**arguments, at=at)
            if await asyncio.to_thread(self._take_tree) == tree:
                await asyncio.to_thread(self._keep, key, tree, tool, observation, at)
            return observation
        finally:
            self._running.pop(key, None)
            if not done.done():
                done.set_result(None)

    def _keep(self, key: Key, tree: str, tool: Tool, observation: Observation, at: Workspace) -> None:
        if len(observation.text) > LARGEST:
            return
        report = at.facts.get("tests") if tool.name == "run_tests" else None
        if tool.name == "run_tests" and not self._is_repeatable(tree, report):
            return
        path = at.artifacts.find_file(observation.ref) if observation.ref else None
        whole = path.read_bytes() if path is not None else b""
        self._kept[key] = _Kept(observation, whole, report, time.monotonic())
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def _is_repeatable(self, tree: str, report: Any) -> bool:
        """Whether a test run came to an end, and none of its tests has come out otherwise on the same files."""
        if report is None or report.outcome not in ("passed", "failed") or not report.counted:
            return False
        outcomes = {**dict.fromkeys(report.passed_tests, "passed")}
        outcomes |= {each.id: "failed" for each in report.failures}
        for test, outcome in outcomes.items():
            if self._outcomes.setdefault((tree, test), outcome) != outcome:
                self._flaky.add(test)
        if self._flaky.isdisjoint(outcomes):
            return True
        for each in [key for key, kept in self._kept.items() if kept.tests is not None]:
            del self._kept[each]
        return False


def _build_key(tree: str, tool: Tool, arguments: Mapping[str, Any], at: Workspace) -> Key:
    return (
        tree,
        str(at.root),
        f"{tool.run.__module__}.{tool.name}",
        json.dumps(arguments, sort_keys=True, default=str),
        at.sandbox.name,
        at.mode,
        repr(at.settings.tests),
        repr(at.rules.read_denials),
        str(hash(frozenset(os.environ.items()))),
    )


def _adopt_result(kept: _Kept, tool: Tool, at: Workspace) -> Observation:
    """Return a kept result as one of this session, with its own copy of the artifact. Blocking."""
    observation = kept.observation
    if kept.whole:
        ref = at.artifacts.save(kept.whole)
        text = observation.text.replace(f'"{observation.ref}"', f'"{ref}"')
        observation = replace(observation, ref=ref, text=text)
    if kept.tests is None:
        return replace(observation, data={**observation.data, "shared": True})
    at.facts["tests"] = kept.tests
    seconds = time.monotonic() - kept.at
    note = f"(not run again: the same files, command and environment as {seconds:.0f} s ago)"
    return replace(
        observation,
        text=f"{observation.text}\n{note}",
        data={**observation.data, "shared": True},
    )
