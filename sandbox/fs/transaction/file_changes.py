"""Requested changes of a transaction, and the errors and outcomes that it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A file to create or overwrite; for a link, its target. Parents are created.

    The new file replaces the old one by a rename, as in git: another hard link to the old one keeps the old
    content.

    path: relative to the tree
    before: fingerprint of the content to replace; None: the file must not exist
    mode: permission bits to set; None: those of the old file, or the umask's default for a new one
    place: what is written: the file that a link at `path` leads to; the entry at `path` itself, which may be a
    link that a file replaces; or a link at `path`, whose target is `content`
    """

    path: str
    content: bytes
    before: str | None
    mode: int | None = None
    place: Literal["target", "entry", "link"] = "target"

    @property
    def follows_link(self) -> bool:
        """Whether a link at the path is followed."""
        return self.place == "target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A file or link (not its target) to remove. Its folder stays, even if empty.

    before: fingerprint of the content; for a link, of its text or of its target's content
    """

    path: str
    before: str


class Conflict(ValueError):
    """Files changed since the changes were computed; the message is for the model.

    paths: as they were given
    """

    def __init__(self, message: str, paths: Sequence[str]) -> None:
        super().__init__(message)
        self.paths = tuple(paths)

    @classmethod
    def from_reasons(cls, reasons: Mapping[str, str]) -> Conflict:
        """Build the error for a transaction that wrote nothing. reasons: by path, a predicate ("has changed")"""
        found = "; ".join(f"{path!r} {reason}" for path, reason in reasons.items())
        return cls(f"nothing was written: {found}", list(reasons))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedFile:
    """A file of a transaction that could not be brought to its intended state.

    reason: a predicate: "was changed by somebody else"
    kept: path of its new content, relative to the root; "" if there is none
    """

    path: str
    reason: str
    kept: str = ""

    def __str__(self) -> str:
        where = f"; its new content is in {self.kept!r}" if self.kept else ""
        return f"{self.path!r} {self.reason}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Outcome of recovering a transaction that a terminated process left unfinished.

    outcome: finished; undone: everything is as before; abandoned: its record could not be used
    paths: the files of the transaction
    left: those that need the user's attention
    reason: why it was abandoned, and the path of the record
    """

    outcome: Literal["finished", "undone", "abandoned"]
    paths: tuple[str, ...] = ()
    left: tuple[UnresolvedFile, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        """Return a description for the user."""
        if self.outcome == "abandoned":
            return f"an interrupted edit was left as it is: {self.reason}"
        files = f"{len(self.paths)} file{'s' if len(self.paths) != 1 else ''}"
        return "; ".join([f"an interrupted edit of {files} was {self.outcome}", *map(str, self.left)])
