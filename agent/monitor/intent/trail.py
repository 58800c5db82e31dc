"""The trail of a session: which paths hold data of which origin, which guards were removed, what was approved."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal, cast, get_args

from sandbox.lazy_dataclass import dataclass

Label = Literal["secret", "download"]
"""Origin of data that is followed from path to path."""

Mark = Literal["hooks", "protection", "pipeline", "ignored", "startup", "change"]
"""What was done, apart from data: a guard removed, a start-up file written, history made."""

INDEX, COMMITS = "git:index", "git:commits"
"""Names by which what is staged and what is committed are followed, like paths."""

MOST_PATHS = 512
"""Paths that are followed for each label; the oldest are forgotten. A session marks a handful."""

MOST_APPROVED = 64
"""Approved chains that are remembered."""

MOST_LINKS = 6
"""Links of a chain that are kept: the first and the last ones of a longer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One step of a chain. number: unique in the session; step: of the session; previous: what it goes on from"""

    number: int
    step: int
    text: str
    previous: Link | None = None

    def list_links(self) -> list[Link]:
        """Return the links from the first to this one."""
        links: list[Link] = []
        link: Link | None = self
        while link is not None:
            links.append(link)
            link = link.previous
        return links[::-1]

    def shorten(self) -> Link:
        """Return the link with at most MOST_LINKS links: the first two and the last ones of a longer chain."""
        links = self.list_links()
        if len(links) <= MOST_LINKS:
            return self
        link: Link | None = None
        for each in (*links[:2], *links[2 - MOST_LINKS :]):
            link = replace(each, previous=link)
        return link or self

    @property
    def origin(self) -> str:
        """The first step of the chain, in words."""
        return self.list_links()[0].text


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the trail by an action that ran: label and paths, or a mark."""

    link: Link
    label: Label | None = None
    paths: tuple[str, ...] = ()
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain that an action would complete. key: the same for the same chain; hint: what to do instead"""

    key: str
    links: tuple[Link, ...]
    deed: str
    hint: str

    def describe(self) -> str:
        """Return the chain in one line, with the numbers of its steps."""
        told = dict.fromkeys(f"step {each.step} {each.text}" for each in self.links)
        return f"{', then '.join(told)}; now it {self.deed}"


@dataclass(slots=True)
class Trail:
    """State over a session. Bounded, and the same after the same changes."""

    labels: dict[Label, OrderedDict[str, Link]] = field(
        default_factory=lambda: {"secret": OrderedDict(), "download": OrderedDict()}
    )
    marks: dict[Mark, Link] = field(default_factory=dict)
    approved: OrderedDict[str, None] = field(default_factory=OrderedDict)
    count: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is followed."""
        return not self.marks and not any(self.labels.values())

    def apply_change(self, change: Change) -> None:
        """Apply a change."""
        self.count = max(self.count, change.link.number)
        if change.mark is not None:
            self.marks.setdefault(change.mark, change.link)
        if change.label is None:
            return
        known = self.labels[change.label]
        for path in change.paths:
            known.setdefault(path, change.link)
            if len(known) > MOST_PATHS:
                known.popitem(last=False)

    def restore_change(self, link: Link, label: str, paths: Sequence[str], mark: str) -> None:
        """Apply a change as it was logged; labels and marks of another version are left out."""
        self.apply_change(
            Change(
                link=link,
                label=cast(Label, label) if label in get_args(Label) else None,
                paths=tuple(paths),
                mark=cast(Mark, mark) if mark in get_args(Mark) else None,
            )
        )

    def approve(self, key: str) -> None:
        """Remember that a chain was approved."""
        self.approved[key] = None
        if len(self.approved) > MOST_APPROVED:
            self.approved.popitem(last=False)

    def find(self, label: Label, path: str) -> Link | None:
        """Return how a path came by a label; None if it has none."""
        return self.labels[label].get(path)

    def find_below(self, label: Label, folder: str) -> Link | None:
        """Return the link of a labelled path in a folder."""
        prefix = "" if folder in ("", ".") else f"{folder.rstrip('/')}/"
        inside = (
            link
            for path, link in self.labels[label].items()
            if path.startswith(prefix) and ":" not in path and (prefix or not path.startswith("/"))
        )
        return next(inside, None)
