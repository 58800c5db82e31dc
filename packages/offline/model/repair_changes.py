"""Changes of a repair, as the steps of a turn show them: found, written, and what they did to the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packages.offline.model.offline_messages import join_names, select_confident_fixes, select_own_changes
from packages.offline.model.offline_turn import OfflineTurn
from packages.offline.model.proposed_changes import select_numbered_fixes
from packages.offline.model.reproduction_steps import ReproductionTest
from packages.offline.model.turn_steps import Step, get_report, list_failing_tests
from sandbox.lazy_dataclass import dataclass
from tools.testing.run_comparison import describe_loss


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairChanges:
    """The changes of a turn. apply_doubtful: those of low confidence are written, too"""

    turn: OfflineTurn
    apply_doubtful: bool

    @property
    def test(self) -> ReproductionTest:
        """The test that a reproduction has given the turn, with the runs of the suite from then on."""
        return ReproductionTest.from_steps(self.turn.steps)

    @property
    def is_cut_short(self) -> bool:
        """Whether the suite was killed when it ran before the search, so that no run can confirm a change."""
        runs = self.test.runs
        return bool(runs) and get_report(runs[0]).get("outcome") == "timeout" and not self.apply_doubtful

    def find_search_step(self) -> Step | None:
        """Return the search for changes: this turn's, or the one whose proposal was accepted."""
        return next(iter(self.turn.find_steps("repair")), self.turn.accepted)

    def get_repair_data(self) -> Mapping[str, Any]:
        """Return the data of that search, {} without one."""
        found = self.find_search_step()
        data: Mapping[str, Any] = found.data.get("repair", {}) if found else {}
        return data

    def list_fixes(self) -> list[Mapping[str, Any]]:
        """Return the changes found, in the order in which to apply them.

        Of an accepted proposal the doubtful ones only, or those with the numbers that were accepted: the turn that
        proposed them has already written those before.
        """
        if self.turn.accepted is not None and self.turn.accepted_numbers:
            return select_numbered_fixes(self.get_repair_data(), self.turn.accepted_numbers)
        fixes = list(self.get_repair_data().get("fixes", ()))
        return fixes if self.turn.accepted is None else fixes[len(select_confident_fixes(fixes)) :]

    def select_fixes(self) -> list[Mapping[str, Any]]:
        """Return the changes to write: all that were accepted, else those before the first doubtful one.

        What concerns a person's fresh work is written only if they have seen and accepted it. None are written where
        no run of the suite can confirm them.
        """
        if self.turn.accepted is not None:
            return self.list_fixes()
        if self.is_cut_short:
            return []
        return (select_own_changes if self.apply_doubtful else select_confident_fixes)(self.list_fixes())

    def list_forward_edits(self) -> list[Step]:
        """Return the edits that make changes, up to the first that failed; later edits revert changes."""
        edits = self.turn.find_steps("edit")[: len(self.select_fixes())]
        failed = [place for place, step in enumerate(edits) if step.result.failed]
        return edits[: failed[0] + 1] if failed else edits

    def find_problem(self) -> str:
        """Return the reason to revert the edits, "" if there is none."""
        for step in self.list_forward_edits():
            if step.result.failed:
                return f"An edit of {step.action.arguments.get('path')!r} could not be applied."
        runs = self.test.runs
        if len(runs) < 2:
            return ""
        before, after = get_report(runs[0]), get_report(runs[1])
        new = sorted(set(list_failing_tests(runs[1])) - set(list_failing_tests(runs[0])))
        if new and before.get("outcome") == "failed":
            return f"With the changes {join_names(new)} failed, which did not fail before."
        if loss := describe_loss(before, after):
            return f"With the changes {loss}."
        if before.get("outcome") == "failed" and after.get("outcome") not in ("passed", "failed"):
            return "With the changes the tests do not run to their end any more."
        return ""
