"""What a transaction is asked to do, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A file to make, or one to give new content; of a link, the file that it leads to. Parents are made.

    The new file takes the old one's place by a rename, as git does it: another hard link to the old one
    keeps the old content.

    path: relative to the tree
    before: fingerprint of the content that it replaces; None: no file may stand there
    mode: permission bits to set; None: the old file's, or what the umask leaves of a new one's
    """

    path: str
    content: bytes
    before: str | None
    mode: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A file to remove, or a link (not what it leads to). Its folder stays, also if it is empty then.

    before: fingerprint of its content; of a link, that of its text or of the file that it leads to
    """

    path: str
    before: str


class Conflict(ValueError):
    """Files are not as they were when the changes were worked out; the text is for the model.

    paths: as they were given
    """

    def __init__(self, message: str, paths: Sequence[str]) -> None:
        super().__init__(message)
        self.paths = tuple(paths)

    @classmethod
    def from_reasons(cls, reasons: Mapping[str, str]) -> Conflict:
        """Nothing was written. reasons: by path, a predicate ("has changed")."""
        found = "; ".join(f"{path!r} {reason}" for path, reason in reasons.items())
        return cls(f"nothing was written: {found}", list(reasons))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedFile:
    """A file of a transaction that could not be brought to where it should be.

    reason: a predicate: "was changed by somebody else"
    kept: where its new content lies now, from the root; "" when there is none
    """

    path: str
    reason: str
    kept: str = ""

    def __str__(self) -> str:
        where = f"; its new content is in {self.kept!r}" if self.kept else ""
        return f"{self.path!r} {self.reason}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What was done about a transaction that a process which is no more had begun.

    outcome: finished; undone: all is as it was before; abandoned: its record could not be used
    paths: the files that it was about
    left: those of them that need a look
    reason: why it was abandoned, and where the record is
    """

    outcome: Literal["finished", "undone", "abandoned"]
    paths: tuple[str, ...] = ()
    left: tuple[UnresolvedFile, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        """For a person."""
        if self.outcome == "abandoned":
            return f"an interrupted edit was left as it is: {self.reason}"
        files = f"{len(self.paths)} file{'s' if len(self.paths) != 1 else ''}"
        return "; ".join([f"an interrupted edit of {files} was {self.outcome}", *map(str, self.left)])
