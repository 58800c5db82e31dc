"""Intent of a prompt: what it wants, what it forbids, and what it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sandbox.lazy_dataclass import dataclass

Kind = Literal["repair", "change", "task", "answer", "unclear"]
"""What a prompt wants: faulty code mended, files changed in another way, work that changes no file (a commit, an
installation), or an answer."""

ORDERS: tuple[Kind, ...] = ("repair", "change")
"""Kinds that are achieved by changed files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptIntent:
    """What a prompt wants, forbids and names.

    orders_repair: it orders a repair, even if it forbids to write one
    wants_passing_tests: failing tests are to pass, whatever else is wanted
    wants_changed_tests: it asks for changed tests, or says that they are wrong
    wants_restoration: it wants something taken back, or says yes to that
    wants_test_run: the tests are to be run
    wants_commit, forbids_commit: it says so; both are False if it says nothing about a commit
    forbids_edits: no file may be changed; spares_tests: no test file that is there
    forbidden_paths: files, folders and globs that may not be changed; only_paths: the only ones that may, () for all
    changed_paths: files that it wants changed
    """

    kind: Kind = "unclear"
    orders_repair: bool = False
    wants_passing_tests: bool = False
    wants_changed_tests: bool = False
    wants_restoration: bool = False
    wants_test_run: bool = False
    wants_commit: bool = False
    forbids_commit: bool = False
    forbids_edits: bool = False
    spares_tests: bool = False
    forbidden_paths: tuple[str, ...] = ()
    only_paths: tuple[str, ...] = ()
    changed_paths: tuple[str, ...] = ()

    @property
    def wants_change(self) -> bool:
        """Whether it is achieved only by changed files."""
        return self.kind in ORDERS

    @property
    def restricts_files(self) -> bool:
        """Whether it forbids to change any file."""
        return self.forbids_edits or self.spares_tests or bool(self.forbidden_paths or self.only_paths)


def merge_intents(intents: Sequence[PromptIntent]) -> PromptIntent:
    """Return the intent of a turn: of its prompt, and of what the person typed while it ran.

    A ban holds to the end of the turn, unless a later text orders a change, or a commit, after all.
    """
    if not intents:
        return PromptIntent()
    merged, *later = intents
    for each in later:
        lifts_edits = each.wants_change and not each.forbids_edits
        kind = each.kind if each.wants_change or merged.kind == "unclear" else merged.kind
        merged = replace(
            merged,
            kind="answer" if each.forbids_edits else kind,
            orders_repair=merged.orders_repair or each.orders_repair,
            wants_passing_tests=(merged.wants_passing_tests or each.wants_passing_tests)
            and not each.forbids_edits,
            wants_changed_tests=merged.wants_changed_tests or each.wants_changed_tests,
            wants_restoration=merged.wants_restoration or each.wants_restoration,
            wants_test_run=merged.wants_test_run or each.wants_test_run,
            wants_commit=each.wants_commit or (merged.wants_commit and not each.forbids_commit),
            forbids_commit=each.forbids_commit or (merged.forbids_commit and not each.wants_commit),
            forbids_edits=each.forbids_edits or (merged.forbids_edits and not lifts_edits),
            spares_tests=each.spares_tests or (merged.spares_tests and not each.wants_changed_tests),
            forbidden_paths=tuple(
                dict.fromkeys(
                    (
                        *(path for path in merged.forbidden_paths if path not in each.changed_paths),
                        *each.forbidden_paths,
                    )
                )
            ),
            only_paths=each.only_paths or (() if each.changed_paths else merged.only_paths),
            changed_paths=(*merged.changed_paths, *each.changed_paths),
        )
    return merged
