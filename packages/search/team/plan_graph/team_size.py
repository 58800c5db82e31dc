"""How many children a task is worth: from the localizer's spread, the files, the tests and the history.

One agent by default: parallel hands help where the parts are independent, and amplify errors where they are not. The
estimate bounds children and the needs between their steps (AgentConductor); it grows only when tests fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent.events import Signal
from agent.session.log import Session
from packages.search.team.plan_graph.nodes import PlanNode
from sandbox.lazy_dataclass import dataclass
from tools.code.localization.commit_history import load_commits
from tools.core.text import format_count

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

MOST_CHILDREN = 6
"""Children of one task, whatever its spread: their reports have to be read."""

NEAR = 0.5
"""Share of the first file's score from which on a file belongs to the task."""

TOGETHER = 2
"""Commits that change two files from which on their work is not independent."""

RANKED = 12
"""Files that the localizer names: more are no part of the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamSize:
    """Greatest number of children at work at the same time; reason: in one line that begins with it, for the log"""

    children: int
    reason: str

    @property
    def edges(self) -> int:
        """Greatest number of needs between the steps of a plan: one for each child.

        Where more steps build on each other, the work is sequential, and one child does them better.
        """
        return self.children

    def find_excess(self, nodes: Sequence[PlanNode]) -> Iterator[str]:
        """Yield what is too much of a plan for this size, worded for the model that made it."""
        needs = sum(len(node.needs) for node in nodes)
        if needs > self.edges:
            yield f"{needs} needs between steps, at most {self.edges}: join steps that build on each other"

    def enlarge(self, failing_tests: int, step: str) -> TeamSize:
        """Return the size after a step with whose change tests fail: one child more; otherwise the same."""
        if not failing_tests or self.children >= MOST_CHILDREN:
            return self
        told = format_count(failing_tests, "failing test")
        return TeamSize(children=self.children + 1, reason=f"{self.children + 1} children: {told} at {step}")


def estimate_team_size(index: Index, text: str) -> TeamSize:
    """Return the size for a task that a text describes. Blocking."""
    from tools.code.localization import localize_text

    ranked = localize_text(index, text, files=RANKED, functions=0).files
    commits = [each.files for each in load_commits(index)]
    return size_team({each.path: each.score for each in ranked}, commits)


def size_team(scores: Mapping[str, float], commits: Sequence[Sequence[str]]) -> TeamSize:
    """Return the size from the localizer's scores, and the files of past commits."""
    highest = max(scores.values(), default=0.0)
    files = [path for path, score in scores.items() if highest and score >= NEAR * highest]
    sources = [path for path in files if not _is_test(path)]
    groups = _group_files(sources, commits)
    tested = len(files) - len(sources)
    folders = {PurePosixPath(path).parent for path in sources}
    told = f"{format_count(len(sources), 'file')} in {format_count(len(folders), 'folder')}"
    if len(groups) <= 1:
        why = "are changed together" if len(sources) > 1 else "is one place"
        return TeamSize(children=1, reason=f"single: {told} {why}")
    children = min(len(groups), MOST_CHILDREN)
    reason = (
        f"{children} children: {told}, {len(groups)} independent groups, {format_count(tested, 'test file')}"
    )
    return TeamSize(children=children, reason=reason)


def _group_files(files: Sequence[str], commits: Sequence[Sequence[str]]) -> list[set[str]]:
    """Group files that past commits changed together."""
    counts: dict[tuple[str, str], int] = {}
    known = set(files)
    for changed in commits:
        for pair in combinations(sorted(known.intersection(changed)), 2):
            counts[pair] = counts.get(pair, 0) + 1
    groups = [{path} for path in files]
    for (one, other), count in counts.items():
        if count >= TOGETHER:
            joined = [group for group in groups if one in group or other in group]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return groups


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path)
    return parts.name.startswith("test_") or "tests" in parts.parts[:-1]


SIZE = "team-size"
"""Name of the signal that keeps how many children a turn may have at the same time, and why."""


def read_sizes(session: Session) -> Iterator[str]:
    """Yield the logged sizes of the last turn, the estimate first."""
    history = session.replayed
    for event in history.read_events_from(f"e{history.find_newest_place('prompt')}"):
        if isinstance(event, Signal) and event.name == SIZE:
            yield event.detail


def record_size(session: Session, size: TeamSize) -> None:
    """Log a size, unless it was before a kill."""
    if size.reason not in read_sizes(session):
        session.append(Signal(name=SIZE, detail=size.reason))
