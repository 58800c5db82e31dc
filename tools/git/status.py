"""State of a repository: branch, distance to its upstream, changed files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Trusts, trust_nothing
from tools.git.broker import Broker


@dataclass(slots=True, kw_only=True)
class Status:
    """Parsed `git status`; names are "M path", with git's status letter.

    branch: "" when HEAD is detached
    head: the last commit, "" before the first
    ahead, behind: None when there is no upstream to compare with
    """

    branch: str = ""
    head: str = ""
    upstream: str = ""
    ahead: int | None = None
    behind: int | None = None
    staged: list[str] = field(default_factory=list)
    unstaged: list[str] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    unmerged: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """Branch and distance to the upstream, on one line."""
        where = f"On branch {self.branch}" if self.branch else f"HEAD detached at {self.head[:10]}"
        if not self.head:
            where += ", no commits yet"
        if self.ahead is None or self.behind is None:
            return where
        if not (self.ahead or self.behind):
            return f"{where}, even with {self.upstream}"
        return f"{where}, {self.ahead} ahead of and {self.behind} behind {self.upstream}"

    @property
    def groups(self) -> tuple[tuple[str, list[str]], ...]:
        """Title and names, most urgent first."""
        return (
            ("In conflict", self.unmerged),
            ("Staged", self.staged),
            ("Not staged", self.unstaged),
            ("Untracked", self.untracked),
        )

    def as_data(self, limit: int) -> dict[str, object]:
        """Return the status as JSON-able data, with at most `limit` names per group."""
        facts: dict[str, object] = {
            name: getattr(self, name) for name in ("branch", "head", "upstream", "ahead", "behind")
        }
        for title, names in self.groups:
            key = title.lower().replace(" ", "_")
            facts |= {key: [name[2:] for name in names[:limit]], f"{key}_count": len(names)}
        return facts


async def read_status(path: Path, trusts: Trusts = trust_nothing) -> Status:
    """Return the status of the repository that contains `path`."""
    broker = Broker.from_path(path, trusts)
    return await broker.run_in_thread(lambda: _run_status(broker))


def _run_status(broker: Broker) -> Status:
    options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
    return _parse_status(broker.run("status", *options, "--no-renames").split_fields())


def _parse_status(fields: Sequence[str]) -> Status:
    found = Status()
    for line in fields:
        kind, _, rest = line.partition(" ")
        if kind == "#":
            _parse_header(found, rest)
        elif kind == "1":
            _add_changed_file(found, rest)
        elif kind == "u":
            found.unmerged.append(f"U {rest.split(' ', 9)[9]}")
        elif kind == "?":
            found.untracked.append(f"? {rest}")
    return found


def _parse_header(found: Status, text: str) -> None:
    name, _, value = text.partition(" ")
    if name == "branch.oid":
        found.head = "" if value == "(initial)" else value
    elif name == "branch.head":
        found.branch = "" if value == "(detached)" else value
    elif name == "branch.upstream":
        found.upstream = value
    elif name == "branch.ab":
        ahead, behind = _parse_distances(value)
        found.ahead, found.behind = ahead, behind


def _parse_distances(value: str) -> Iterator[int]:
    return (abs(int(number)) for number in value.split(" "))


def _add_changed_file(found: Status, rest: str) -> None:
    letters, *_, path = rest.split(" ", 7)
    for letter, names in zip(letters, (found.staged, found.unstaged), strict=True):
        if letter != ".":
            names.append(f"{letter} {path}")
