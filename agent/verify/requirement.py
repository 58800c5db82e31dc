"""One requirement of a task, its result, and the tree that several of them make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from agent.verify.verdict import Evidence, Verifier
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

if TYPE_CHECKING:
    from sandbox.policy.trust import Definition

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
    "result",
    "output",
    "renamed",
    "documented",
    "typed",
    "deprecated",
    "tested",
    "parameter",
    "mentioned",
    "code-changed",
    "behavior",
    "judged",
]
"""How a requirement is checked. group: met when all below it are; judged: by a model, whose answer is an opinion."""

KINDS: tuple[Kind, ...] = get_args(Kind)

OWN_SOURCES = frozenset(("prompt", "user"))
"""Sources whose commands may be run without further ado: under the policy of the session, like any other."""

EXECUTED_KINDS = ("command", "tests", "result", "output")
"""Kinds whose check runs something."""

WITHOUT_CHECK = ("group", "judged", "no-dependency", "tests", "tested", "code-changed", "behavior")
"""Kinds whose `check` may be empty."""

NUMERIC = ("max-lines", "max-files")
"""Kinds whose `check` is a number."""

State = Literal["met", "not met", "not checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A checkable part of a task.

    id: unique in its tree; text: for a person
    check: what the kind looks at: a path, a name (`cart.py:total` for one in a file), two names (`a -> b`), a call or
        command with its result (`total([5]) == 5`, `f(-1) raises ValueError`, `make version prints 1.0`), a command, a
        test, a number
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementFile:
    """The requirements of one file.

    inside: the file is in the workspace, so that its commands need the user's trust
    """

    name: str
    requirements: tuple[Requirement, ...]
    inside: bool

    @property
    def source(self) -> str:
        """Source of its requirements."""
        return f"file:{self.name}"

    def list_definitions(self) -> tuple[Definition, ...]:
        """Return the commands that need the user's trust, () for a file outside the workspace, which is the user's."""
        if not self.inside:
            return ()
        import hashlib

        from sandbox.policy.trust import Definition

        return tuple(
            Definition(
                kind="setting",
                name=f"{self.name} {each.id}",
                runs=each.check,
                digest=hashlib.sha256(each.check.encode()).hexdigest(),
            )
            for each in self.requirements
            if each.kind == "command"
        )


class Requirements(Verifier, Protocol):
    """The requirements of the prompt, of a file and of the user are met.

    requirements, results: those of the turn, and by id what they came to at its end
    correct_prompt: returns a prompt as its user has corrected it before the work
    spans_turns: the next turns go on with the same task: its requirements, and the changes since its first turn
    """

    requirements: list[Requirement]
    results: dict[str, Result]
    correct_prompt: Callable[[str], str]
    spans_turns: bool

    def add(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        """Add requirements of the user to the running turn, or to the next one; return them with their ids."""

    def drop(self, id_: str) -> bool:
        """Drop a requirement with those below it; return whether there was one."""


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


def list_results(requirements: Sequence[Requirement], results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return requirements with their results as they are logged and printed as JSON, in the order of the tree."""
    rows = []
    for _, each in walk_tree(requirements):
        result = results.get(each.id, Result())
        rows.append(
            asdict(each) | {"state": result.state, "evidence": result.evidence or "", "detail": result.detail}
        )
    return rows


def restore_requirement(item: Mapping[str, Any]) -> Requirement:
    """Return a requirement from its logged fields; of a kind that this version does not know: one for a model."""
    names = ("id", "text", "check", "parent", "source")
    kind: Kind = next((each for each in KINDS if each == item.get("kind")), "judged")
    return Requirement(kind=kind, **{name: str(item.get(name, "")) for name in names})
