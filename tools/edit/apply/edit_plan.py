"""Data of an edit plan: the planned state of each file, and the problems that prevent a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.file_changes import Remove, Write
from sandbox.lazy_dataclass import dataclass
from tools.edit.apply.edit_engine import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """Planned state of one file. Content is None where there is no file; for a removed link it is the link's
    text.

    places: where each edit was made
    source: the path from which the file moved here, "" if it was here
    to: the path to which the file moved, "" if it did not
    mode: permission bits to set, None to keep them
    place: as of a `Write`: the content is that of a link's target, of the entry itself, or the text of a link
    """

    path: str
    before: bytes | None
    after: bytes | None
    old_text: str
    new_text: str
    places: tuple[Place, ...] = ()
    source: str = ""
    to: str = ""
    mode: int | None = None
    notes: tuple[str, ...] = ()
    place: Literal["target", "entry", "link"] = "target"

    @property
    def has_changes(self) -> bool:
        return self.before != self.after or self.mode is not None or self.place == "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why one change cannot be made.

    already: it was made before. folder: the path is a folder. missing: the path, if there is no such file
    gone: the missing file was to be removed
    """

    path: str
    text: str
    already: bool = False
    folder: bool = False
    missing: str = ""
    gone: bool = False


class PlanRefused(ValueError):
    """Some of the changes cannot be made, so none is.

    fitting: how many of the others could be made
    already: nothing is left to do, because all of them were made before
    """

    def __init__(self, problems: Sequence[Problem], fitting: int, *, already: bool = False) -> None:
        super().__init__("\n".join(f"{each.path}: {each.text}" for each in problems))
        self.problems = tuple(problems)
        self.fitting = fitting
        self.already = already


class ChangeRefused(Exception):
    """Raised within a plan: one change cannot be made."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def build_writes(planned: Sequence[PlannedFile]) -> list[Write | Remove]:
    """Return the writes and removals of a plan, for a transaction."""
    writes: list[Write | Remove] = []
    for each in planned:
        before = None if each.before is None else compute_fingerprint(each.before)
        if not each.has_changes:
            continue
        if each.after is not None:
            writes.append(
                Write(path=each.path, content=each.after, before=before, mode=each.mode, place=each.place)
            )
        elif before is not None:
            writes.append(Remove(path=each.path, before=before))
    return writes
