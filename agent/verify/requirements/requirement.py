"""One requirement of a task, its result, and the tree that several of them make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from agent.verify.verdict import Evidence
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Kind = Literal[
    "group",
    "file-exists",
    "file-gone",
    "file-changed",
    "file-unchanged",
    "only-files",
    "name-exists",
    "name-gone",
    "name-unchanged",
    "signature",
    "command",
    "tests",
    "max-lines",
    "max-files",
    "no-dependency",
    "judged",
]
"""How a requirement is checked. group: met when all below it are; judged: by a model, whose answer is an opinion."""

KINDS: tuple[Kind, ...] = get_args(Kind)

OWN_SOURCES = frozenset(("prompt", "user"))
"""Sources whose commands may be run without further ado: under the policy of the session, like any other."""

EXECUTED_KINDS = ("command", "tests")
"""Kinds whose check runs something."""

WITHOUT_CHECK = ("group", "judged", "no-dependency", "tests")
"""Kinds whose `check` may be empty."""

NUMERIC = ("max-lines", "max-files")
"""Kinds whose `check` is a number."""

State = Literal["met", "not met", "not checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A checkable part of a task.

    id: unique in its tree; text: for a person
    check: what the kind looks at: a path, a name (`cart.py:total` for one in a file), a command, a test, a number
    parent: id of the group that it belongs to, "" for none
    source: "prompt", "user", "model", or "file:" and the path of the file that has it
    """

    __pydantic_config__ = FORBID_UNKNOWN

    id: str
    text: str
    kind: Kind = "judged"
    check: str = ""
    parent: str = ""
    source: str = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """State of a requirement at the end of a turn. evidence: None where it was not checked"""

    state: State = "not checked"
    evidence: Evidence | None = None
    detail: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether code found it not met; an opinion is none."""
        return self.state == "not met" and self.evidence in ("executed", "static")


def number_requirements(
    requirements: Sequence[Requirement], taken: Sequence[Requirement] = ()
) -> list[Requirement]:
    """Return the requirements with the next free ids `r1`, `r2`, … in place of those that are in use, or empty."""
    used = {each.id for each in taken}
    known: dict[str, str] = {}
    found = []
    for each in requirements:
        new = each.id
        if not new or new in used:
            new = next(name for count in range(1, 10_000) if (name := f"r{count}") not in used)
        if each.id:
            known[each.id] = new
        used.add(new)
        found.append(replace(each, id=new, parent=known.get(each.parent, each.parent)))
    return found


def walk_tree(requirements: Sequence[Requirement]) -> Iterator[tuple[int, Requirement]]:
    """Yield (depth, requirement), each below its parent; one whose parent is unknown is at the top."""
    ids = {each.id for each in requirements}
    below: dict[str, list[Requirement]] = {}
    for each in requirements:
        below.setdefault(each.parent if each.parent in ids else "", []).append(each)
    stack = [(0, each) for each in reversed(below.get("", ()))]
    while stack:
        depth, each = stack.pop()
        yield depth, each
        stack += [(depth + 1, child) for child in reversed(below.get(each.id, ()))]


def combine_groups(requirements: Sequence[Requirement], results: Mapping[str, Result]) -> dict[str, Result]:
    """Return the results with those of the groups, which follow from the requirements below them."""
    found = dict(results)
    for _, each in reversed(list(walk_tree(requirements))):
        if each.kind == "group":
            below = [found.get(child.id, Result()) for child in requirements if child.parent == each.id]
            found[each.id] = _combine(below)
    return found


def _combine(below: Sequence[Result]) -> Result:
    weakest = next((each for each in below if each.is_failure), None)
    weakest = weakest or next((each for each in below if each.state == "not met"), None)
    if weakest is not None:
        return Result(state="not met", evidence=weakest.evidence)
    if not below or any(each.state == "not checked" for each in below):
        return Result()
    order: tuple[Evidence, ...] = ("opinion", "static", "executed")
    return Result(state="met", evidence=min((each.evidence or "opinion" for each in below), key=order.index))
