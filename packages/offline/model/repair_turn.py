"""The turn of a repair, one step a call: plan, run the tests, search, edit, run again, commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agent.model.protocol import Reply
from packages.offline.model.offline_messages import (
    ELSEWHERE,
    NEED_TEST,
    PLAN,
    describe_doubt,
    describe_fix,
    describe_passing_tests,
    describe_proposal,
    describe_unwritten,
    indent_block,
    to_sentence,
    write_commit_message,
)
from packages.offline.model.offline_turn import OfflineTurn
from packages.offline.model.repair_changes import RepairChanges
from packages.offline.model.reproduction_steps import (
    NOTHING_FAILS,
    ReproductionTest,
    has_reproduction_target,
    should_reproduce,
)
from packages.offline.model.turn_steps import get_report, list_failing_tests
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action

RERUN_ITEM = 3
_ITEMS = {"repair": 1, "edit": 2, "git_commit": 4}
"""Items of the plan by the tool that begins them; `run_tests` after an edit begins `RERUN_ITEM`."""

MOST_TARGETS = 60
"""Failing tests named to `repair`; if there are more, it considers all failing tests."""

DESCRIBED = 8
"""Words from which on a prompt counts as a description of the fault, not only a request for passing tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTurn:
    """A turn that makes failing tests pass."""

    turn: OfflineTurn
    changes: RepairChanges

    def next_reply(self) -> Reply:
        """Return the reply of the first phase that applies."""
        phases: tuple[Callable[[], Reply | None], ...] = (
            self._stop_if_denied,
            self._write_plan,
            self._run_tests_first,
            self._search_changes,
            self._propose_changes,
            self._apply_edits,
            self._revert_edits,
            self._rerun_tests,
            self._report_failures,
            self._commit_changes,
        )
        for phase in phases:
            reply = phase()
            if reply is not None:
                return reply
        return self.end_turn(self._write_summary(), "done")

    # ── phases, in order: each replies, or returns None for the next ───────────────────────────────

    def _stop_if_denied(self) -> Reply | None:
        refused = [step for step in self.turn.steps if step.data.get("denied")]
        if not refused or refused[0].action.tool in ("plan", "git_commit"):
            return None
        tool, said = refused[0].action.tool, refused[0].result.text
        return self.end_turn(f"I stopped: {tool} was refused.\n{said}", "not achieved")

    def _write_plan(self) -> Reply | None:
        if "plan" not in self.turn.tools or self.turn.find_steps("plan"):
            return None
        wanted = PLAN if self.turn.may_commit else PLAN[:-1]
        items = [
            {"text": text, "status": "doing" if not place else "open"} for place, text in enumerate(wanted)
        ]
        return self.call_tool(
            "I'll run the tests first, then look for what makes them fail.", "plan", {"items": items}
        )

    def _run_tests_first(self) -> Reply | None:
        runs = self.turn.find_steps("run_tests")
        if not runs:
            return self.call_tool("", "run_tests", {})
        outcome = get_report(runs[0]).get("outcome", "")
        if missing := runs[0].data.get("missing"):
            return self.end_turn(f"I searched for no change. {missing['text']}", "not achieved")
        if outcome in NOTHING_FAILS:
            if self.changes.test.made is not None:
                return self._make_test(self.changes.test)
            if has_reproduction_target(self.turn.accepted):
                return None
            offers = "reproduce" in self.turn.tools and not self.turn.find_steps("reproduce")
            if offers and self.turn.accepted is None and should_reproduce(self.turn.prompt):
                text = (
                    "No test fails yet, so I make one of the report: a script that fails because of this bug."
                )
                return self.call_tool(text, "reproduce", {})
        if outcome == "passed":
            passed = get_report(runs[0]).get("passed", 0)
            count = f" {passed}" if passed else ""
            text = f"All{count} tests pass already, so there is nothing to repair. {NEED_TEST}"
            return self._locate_by_words() or self.end_turn(
                text + self._describe_located_places(), "nothing to do"
            )
        if outcome in ("no-tests", "no-runner", "unverified"):
            text = (
                f"There is nothing to repair by: I work from failing tests. {NEED_TEST}\n\n"
                f"{indent_block(runs[0].result.text)}"
            )
            return self._locate_by_words() or self.end_turn(
                text + self._describe_located_places(), "not achieved"
            )
        return None

    def _make_test(self, test: ReproductionTest) -> Reply | None:
        """Write the reproduction as a test, and run it; None once it fails there."""
        assert test.made is not None
        if test.written is None:
            arguments = {"path": test.made["test"], "content": test.made["script"]}
            return self.call_tool("As a test of the project it drives the repair.", "write", arguments)
        if test.written.result.failed:
            text = f"The test could not be written.\n\n{indent_block(test.written.result.text)}"
            return self.end_turn(text, "not achieved")
        if not test.runs:
            return self.call_tool("", "run_tests", {})
        if not test.fails:
            shown = indent_block(test.runs[0].result.text)
            text = f"The script fails by itself, and not among the project's tests.\n\n{shown}"
            return self.end_turn(text, "not achieved")
        return None

    def _search_changes(self) -> Reply | None:
        found = self.changes.find_search_step()
        if found is None:
            failing = list_failing_tests(self.changes.test.runs[0])
            count = f"{len(failing)} tests fail" if len(failing) != 1 else "1 test fails"
            words = f"{count}. " if failing else ""
            text = f"{words}I trace which lines the failing and the passing tests run, and try changes there."
            targets = failing if 0 < len(failing) <= MOST_TARGETS else []
            # A description of the fault suggests where to try first.
            hint = {"hint": self.turn.prompt} if len(self.turn.prompt.split()) >= DESCRIBED else {}
            return self.call_tool(text, "repair", {"targets": targets, **hint})
        if not self.changes.list_fixes():
            why = ELSEWHERE if found.data.get("repair", {}).get("outcome") == "all-pass" else ""
            text = f"I did not find a fix{why}.\n\n{indent_block(found.result.text)}"
            return self._locate_by_words() or self.end_turn(
                text + self._describe_located_places(), "not achieved"
            )
        return None

    def _propose_changes(self) -> Reply | None:
        """Show the changes and leave the files alone if only doubtful changes were found."""
        if self.changes.select_fixes():
            return None
        return self.propose(self._describe_proposal())

    def _apply_edits(self) -> Reply | None:
        done = self.changes.list_forward_edits()
        fixes = self.changes.select_fixes()
        if any(step.result.failed for step in done) or len(done) >= len(fixes):
            return None
        if "edit" not in self.turn.tools:
            return self.end_turn(describe_unwritten(self.changes.list_fixes()), "not achieved")
        fix = fixes[len(done)]
        text = f"{to_sentence(fix['why'])} With that changed, {describe_passing_tests(fix['tests'])}."
        return self.call_tool(text, "edit", {name: fix[name] for name in ("path", "old", "new")})

    def _revert_edits(self) -> Reply | None:
        """Undo the edits, last first, if one of them failed or the test results got worse."""
        fixes = self.changes.select_fixes()
        problem = self.changes.find_problem()
        if not problem:
            return None
        forward = [step for step in self.changes.list_forward_edits() if not step.result.failed]
        back = self.turn.find_steps("edit")[len(self.changes.list_forward_edits()) :]
        if any(step.result.failed for step in back):
            said = indent_block(back[-1].result.text)
            text = (
                f"{problem} Taking the changes back failed as well; `git diff` shows what is left.\n\n{said}"
            )
            return self.end_turn(text, "not achieved")
        if len(back) < len(forward):
            fix = fixes[len(forward) - len(back) - 1]
            arguments = {"path": fix["path"], "old": fix["new"], "new": fix["old"]}
            return self.call_tool(f"{problem} I take my change to {fix['path']} back.", "edit", arguments)
        return self.end_turn(
            f"{problem} I took all my changes back; the files are as they were.", "not achieved"
        )

    def _rerun_tests(self) -> Reply | None:
        if len(self.changes.test.runs) > 1:
            return None
        return self.call_tool("Now all tests, with the project's own runner.", "run_tests", {})

    def _report_failures(self) -> Reply | None:
        report = get_report(self.changes.test.runs[1])
        if report.get("outcome") == "passed":
            return None
        left = self.changes.get_repair_data()
        places = [f"{s['path']}:{s['line']}  {s['code']}" for s in left.get("suspects", ())]
        failing = list_failing_tests(self.changes.test.runs[1])[:20]
        text = [self._write_summary(), "Not all tests pass yet, so I committed nothing. Still failing:"]
        text.append(indent_block("\n".join(failing)))
        found = self.changes.find_search_step()
        text += [f"{line}." for line in (found.data.get("nested", ()) if found else ())]
        text += ["The most suspicious places:", indent_block("\n".join(places))] if places else []
        if len(self.changes.select_fixes()) < len(self.changes.list_fixes()):
            return self.propose("\n\n".join([*text, self._describe_proposal()]))
        return self.end_turn("\n\n".join(text), "not achieved")

    def _commit_changes(self) -> Reply | None:
        if not self.turn.may_commit or self.turn.find_steps("git_commit"):
            return None
        if (removal := self._remove_test()) is not None:
            return removal
        if all(fix.get("template") == "as_committed" for fix in self.changes.select_fixes()):
            return None  # the files are as the last commit has them
        return self.call_tool(
            "All tests pass.", "git_commit", {"message": write_commit_message(self.changes.select_fixes())}
        )

    def _locate_by_words(self) -> Reply | None:
        """Locate code by the words of a descriptive prompt, where no test leads further."""
        if (
            len(self.turn.prompt.split()) < DESCRIBED
            or "code" not in self.turn.tools
            or self.turn.find_steps("code")
        ):
            return None
        return self.call_tool(
            "No test leads further, so I look for what your words speak of.",
            "code",
            {"action": "locate", "target": self.turn.prompt},
        )

    def _describe_located_places(self) -> str:
        """Return the places found by `_locate_by_words`, as the end of an answer."""
        asked = self.turn.find_steps("code")
        if not asked or asked[0].result.failed:
            return ""
        return f"\n\nWhat your words speak of, as far as words tell:\n\n{indent_block(asked[0].result.text)}"

    def _remove_test(self) -> Reply | None:
        """Remove the reproduction's test, unless there is none or it stays."""
        if not self.changes.test.has_to_go:
            return None
        action = self.turn.build_action("apply_patch", {"patch": self.changes.test.removal})
        return Reply(text="The test goes again; its script is kept.", actions=(action,), stop="actions")

    def _describe_proposal(self) -> str:
        written, alternatives = (
            len(self.changes.select_fixes()),
            self.changes.get_repair_data().get("alternatives", ()),
        )
        return describe_proposal(
            self.changes.list_fixes()[written:],
            alternatives,
            written=written,
            is_cut_short=self.changes.is_cut_short,
        )

    def _write_summary(self) -> str:
        fixes = self.changes.select_fixes()
        lines = [f"{len(fixes)} bug{'s' if len(fixes) != 1 else ''} found and fixed:"]
        lines += [f"- {describe_fix(fix)}{describe_doubt(fix)}" for fix in fixes]
        commits = self.turn.find_steps("git_commit")
        if commits and commits[0].result.failed:
            lines += ["", f"The commit failed:\n{commits[0].result.text}"]  # the empty line ends the list
        runs = self.changes.test.runs
        if len(runs) > 1:
            report = get_report(runs[1])
            lines += ["", f"Tests: {report.get('passed', 0)} passed, {report.get('failed', 0)} failed."]
        return "\n".join(lines)

    # ── replies ──────────────────────────────────────────────────────────────────────────────────

    def end_turn(self, summary: str, status: str) -> Reply:
        """End the turn, once the test of a reproduction that does not stay is removed."""
        if (removal := self._remove_test()) is not None:
            return removal
        return self.turn.end(summary, status)

    def propose(self, summary: str) -> Reply:
        """End the turn with changes for the user to decide on."""
        if (removal := self._remove_test()) is not None:
            return removal
        return self.turn.call_tool("", "propose", {"summary": summary})

    def call_tool(self, text: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Call a tool of the session; end the turn if it has none of this name."""
        if tool not in self.turn.tools:
            return self.end_turn(
                f"I stopped: I need the tool {tool!r}, which this session does not offer.", "not achieved"
            )
        reply = self.turn.call_tool(text, tool, arguments)
        plan = self._advance_plan(tool)
        return replace(reply, actions=(plan, *reply.actions)) if plan is not None else reply

    def _advance_plan(self, tool: str) -> Action | None:
        """Return the action that ticks off the plan up to the item that a tool begins; None if it begins none."""
        plans = self.turn.find_steps("plan")
        item = (
            RERUN_ITEM if tool == "run_tests" and self.changes.list_forward_edits() else _ITEMS.get(tool, 0)
        )
        known = plans[-1].action.arguments.get("items", ()) if plans else ()
        if not 0 < item < len(known) or known[item].get("status") != "open":
            return None
        status = ["done"] * item + ["doing"] + ["open"] * (len(known) - item - 1)
        items = [{"text": each["text"], "status": now} for each, now in zip(known, status, strict=True)]
        return self.turn.build_action("plan", {"items": items}, "-plan")
