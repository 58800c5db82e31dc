"""The offline engine as a model: fixes failing tests with the ordinary tools, without network or key.

A pure function of the request: earlier steps are read from the messages, so a killed session continues at the
same step. One step a call: plan, run the tests, search, edit, run again, commit.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.model.offline.offline_messages import (
    CANNOT,
    CHANGES_ONLY,
    ELSEWHERE,
    HOW_TO_SET_UP,
    NEED_TEST,
    NO_COMMIT,
    PLAN,
    describe_doubt,
    describe_fix,
    describe_passing_tests,
    describe_proposal,
    describe_unwritten,
    indent_block,
    join_names,
    select_confident_fixes,
    to_sentence,
    write_commit_message,
)
from agent.model.offline.reproduction_steps import (
    NOTHING_FAILS,
    ReproductionTest,
    has_reproduction_target,
    should_reproduce,
)
from agent.model.offline.turn_steps import (
    Step,
    collect_steps,
    find_proposed_search,
    find_turn_start,
    get_report,
    list_failing_tests,
)
from agent.model.protocol import (
    Delta,
    Reply,
    Request,
    TextDelta,
    UserMessage,
)
from sandbox.errors import Fault, UserError
from tools.core.action import Action
from tools.testing.run_comparison import describe_loss

# It reads only the last turn, so no window is too small for it.
WINDOW = 1_000_000
# Failing tests named to `repair`; if there are more, it considers all failing tests.
MOST_TARGETS = 60
# Words from which on a prompt counts as a description of the fault, not only a request for passing tests.
DESCRIBED = 8
# Prompt with which the user accepts the change that the previous turn proposed.
ACCEPT = "Apply the proposed change."
_ACCEPTS = re.compile(
    r"\s*(?:please\s+)?(?:yes|y|ok|okay|go ahead|do it|(?:apply|write)(?: it| that| this| the(?: proposed)? changes?)?)"
    r"\s*[.!]*\s*",
    re.IGNORECASE,
)


class OfflineModel:
    """`Model` implementation with the repair engine behind the tools.

    apply_doubtful: write changes of low confidence as well, instead of proposing them
    """

    name = "offline"
    window = WINDOW

    def __init__(self, *, apply_doubtful: bool = False) -> None:
        self._apply_doubtful = apply_doubtful

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        reply = answer_request(request, apply_doubtful=self._apply_doubtful)
        if reply.text:
            yield TextDelta(text=reply.text)
        yield reply

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def answer_request(request: Request, *, apply_doubtful: bool = False) -> Reply:
    """Return the next step of the request's turn. Raises UserError if the task needs a language model."""
    from agent.verify.prompt_intent import asks_for_repair, asks_not_to_commit, asks_to_change_nothing

    turn = _Turn.from_request(request, apply_doubtful=apply_doubtful)
    if asks_to_change_nothing(turn.prompt):
        raise UserError(Fault.CONFIGURATION, CHANGES_ONLY, HOW_TO_SET_UP)
    if asks_not_to_commit(turn.prompt) and "git_commit" in turn.tools:
        raise UserError(
            Fault.CONFIGURATION, "the prompt forbids a commit, and this session makes one", NO_COMMIT
        )
    if turn.accepted is None and not asks_for_repair(turn.prompt):
        raise UserError(Fault.CONFIGURATION, CANNOT, HOW_TO_SET_UP)
    return turn.next_reply()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The calls since the last prompt, with their observations.

    accepted: the search of the previous turn, whose proposal the prompt accepts; None if it accepts none
    """

    prompt: str
    steps: Sequence[Step]
    tools: Mapping[str, Mapping[str, Any]]
    number: int
    apply_doubtful: bool
    accepted: Step | None

    @classmethod
    def from_request(cls, request: Request, *, apply_doubtful: bool) -> _Turn:
        start = find_turn_start(request.messages)
        messages = request.messages[start:]
        said = [each.text for each in messages if isinstance(each, UserMessage) and not each.passing]
        accepts = bool(said) and _ACCEPTS.fullmatch(said[0]) is not None
        accepted = find_proposed_search(request.messages[:start]) if accepts else None
        return cls(
            prompt="\n".join(said),
            steps=collect_steps(messages),
            tools={each.name: each.parameters for each in request.tools},
            number=len(request.messages),
            apply_doubtful=apply_doubtful or accepted is not None,
            accepted=accepted,
        )

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
        refused = [step for step in self.steps if step.data.get("denied")]
        if not refused or refused[0].action.tool in ("plan", "git_commit"):
            return None
        tool, said = refused[0].action.tool, refused[0].result.text
        return self.end_turn(f"I stopped: {tool} was refused.\n{said}", "not achieved")

    def _write_plan(self) -> Reply | None:
        if "plan" not in self.tools or self._find_steps("plan"):
            return None
        wanted = PLAN if "git_commit" in self.tools else PLAN[:-1]
        items = [
            {"text": text, "status": "doing" if not place else "open"} for place, text in enumerate(wanted)
        ]
        return self.call_tool(
            "I'll run the tests first, then look for what makes them fail.", "plan", {"items": items}
        )

    def _run_tests_first(self) -> Reply | None:
        runs = self._find_steps("run_tests")
        if not runs:
            return self.call_tool("", "run_tests", {})
        outcome = get_report(runs[0]).get("outcome", "")
        if outcome in NOTHING_FAILS:
            if self._test.made is not None:
                return self._make_test(self._test)
            if has_reproduction_target(self.accepted):
                return None
            offers = "reproduce" in self.tools and not self._find_steps("reproduce")
            if offers and self.accepted is None and should_reproduce(self.prompt):
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
        if outcome in ("no-tests", "no-runner"):
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
        found = self._find_search_step()
        if found is None:
            failing = list_failing_tests(self._test.runs[0])
            count = f"{len(failing)} tests fail" if len(failing) != 1 else "1 test fails"
            words = f"{count}. " if failing else ""
            text = f"{words}I trace which lines the failing and the passing tests run, and try changes there."
            targets = failing if 0 < len(failing) <= MOST_TARGETS else []
            # A description of the fault suggests where to try first.
            hint = {"hint": self.prompt} if len(self.prompt.split()) >= DESCRIBED else {}
            return self.call_tool(text, "repair", {"targets": targets, **hint})
        if not self._list_fixes():
            why = ELSEWHERE if found.data.get("repair", {}).get("outcome") == "all-pass" else ""
            text = f"I did not find a fix{why}.\n\n{indent_block(found.result.text)}"
            return self._locate_by_words() or self.end_turn(
                text + self._describe_located_places(), "not achieved"
            )
        return None

    def _propose_changes(self) -> Reply | None:
        """Show the changes and leave the files alone if only doubtful changes were found."""
        if self._select_fixes():
            return None
        return self.propose(self._describe_proposal())

    def _apply_edits(self) -> Reply | None:
        done = self._list_forward_edits()
        fixes = self._select_fixes()
        if any(step.result.failed for step in done) or len(done) >= len(fixes):
            return None
        if "edit" not in self.tools:
            return self.end_turn(describe_unwritten(self._list_fixes()), "not achieved")
        fix = fixes[len(done)]
        text = f"{to_sentence(fix['why'])} With that changed, {describe_passing_tests(fix['tests'])}."
        return self.call_tool(text, "edit", {name: fix[name] for name in ("path", "old", "new")})

    def _revert_edits(self) -> Reply | None:
        """Undo the edits, last first, if one of them failed or the test results got worse."""
        fixes = self._select_fixes()
        problem = self._find_problem()
        if not problem:
            return None
        forward = [step for step in self._list_forward_edits() if not step.result.failed]
        back = self._find_steps("edit")[len(self._list_forward_edits()) :]
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
        if len(self._test.runs) > 1:
            return None
        return self.call_tool("Now all tests, with the project's own runner.", "run_tests", {})

    def _report_failures(self) -> Reply | None:
        report = get_report(self._test.runs[1])
        if report.get("outcome") == "passed":
            return None
        left = self._get_repair_data()
        places = [f"{s['path']}:{s['line']}  {s['code']}" for s in left.get("suspects", ())]
        failing = list_failing_tests(self._test.runs[1])[:20]
        text = [self._write_summary(), "Not all tests pass yet, so I committed nothing. Still failing:"]
        text.append(indent_block("\n".join(failing)))
        found = self._find_search_step()
        text += [f"{line}." for line in (found.data.get("nested", ()) if found else ())]
        text += ["The most suspicious places:", indent_block("\n".join(places))] if places else []
        if len(self._select_fixes()) < len(self._list_fixes()):
            return self.propose("\n\n".join([*text, self._describe_proposal()]))
        return self.end_turn("\n\n".join(text), "not achieved")

    def _commit_changes(self) -> Reply | None:
        if "git_commit" not in self.tools or self._find_steps("git_commit"):
            return None
        if (removal := self._remove_test()) is not None:
            return removal
        return self.call_tool(
            "All tests pass.", "git_commit", {"message": write_commit_message(self._select_fixes())}
        )

    def _locate_by_words(self) -> Reply | None:
        """Locate code by the words of a descriptive prompt, where no test leads further."""
        if len(self.prompt.split()) < DESCRIBED or "code" not in self.tools or self._find_steps("code"):
            return None
        return self.call_tool(
            "No test leads further, so I look for what your words speak of.",
            "code",
            {"action": "locate", "target": self.prompt},
        )

    def _describe_located_places(self) -> str:
        """Return the places found by `_locate_by_words`, as the end of an answer."""
        asked = self._find_steps("code")
        if not asked or asked[0].result.failed:
            return ""
        return f"\n\nWhat your words speak of, as far as words tell:\n\n{indent_block(asked[0].result.text)}"

    def _remove_test(self) -> Reply | None:
        """Remove the reproduction's test, unless there is none or it stays."""
        if not self._test.has_to_go:
            return None
        action = self._build_action("apply_patch", {"patch": self._test.removal})
        return Reply(text="The test goes again; its script is kept.", actions=(action,), stop="actions")

    # ── state of the turn ────────────────────────────────────────────────────────────────────────

    def _find_steps(self, tool: str) -> list[Step]:
        return [step for step in self.steps if step.action.tool == tool]

    @property
    def _test(self) -> ReproductionTest:
        return ReproductionTest.from_steps(self.steps)

    def _find_search_step(self) -> Step | None:
        """Return the search for changes: this turn's, or the one whose proposal was accepted."""
        return next(iter(self._find_steps("repair")), self.accepted)

    def _get_repair_data(self) -> Mapping[str, Any]:
        found = self._find_search_step()
        data: Mapping[str, Any] = found.data.get("repair", {}) if found else {}
        return data

    def _list_fixes(self) -> list[Mapping[str, Any]]:
        """Return the changes found, in the order in which to apply them.

        Of an accepted proposal the doubtful ones only: the turn that proposed them has already written those
        before.
        """
        fixes = list(self._get_repair_data().get("fixes", ()))
        return fixes if self.accepted is None else fixes[len(select_confident_fixes(fixes)) :]

    def _select_fixes(self) -> list[Mapping[str, Any]]:
        """Return the changes to write: all of them, or those before the first doubtful one."""
        return self._list_fixes() if self.apply_doubtful else select_confident_fixes(self._list_fixes())

    def _describe_proposal(self) -> str:
        written, alternatives = len(self._select_fixes()), self._get_repair_data().get("alternatives", ())
        return describe_proposal(self._list_fixes()[written:], alternatives, written=written)

    def _list_forward_edits(self) -> list[Step]:
        """Return the edits that make changes, up to the first that failed; later edits revert changes."""
        edits = self._find_steps("edit")[: len(self._select_fixes())]
        failed = [place for place, step in enumerate(edits) if step.result.failed]
        return edits[: failed[0] + 1] if failed else edits

    def _find_problem(self) -> str:
        """Return the reason to revert the edits, "" if there is none."""
        for step in self._list_forward_edits():
            if step.result.failed:
                return f"An edit of {step.action.arguments.get('path')!r} could not be applied."
        runs = self._test.runs
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

    def _write_summary(self) -> str:
        fixes = self._select_fixes()
        lines = [f"{len(fixes)} bug{'s' if len(fixes) != 1 else ''} found and fixed:"]
        lines += [f"- {describe_fix(fix)}{describe_doubt(fix)}" for fix in fixes]
        commits = self._find_steps("git_commit")
        if commits and commits[0].result.failed:
            lines += ["", f"The commit failed:\n{commits[0].result.text}"]  # the empty line ends the list
        runs = self._test.runs
        if len(runs) > 1:
            report = get_report(runs[1])
            lines += ["", f"Tests: {report.get('passed', 0)} passed, {report.get('failed', 0)} failed."]
        return "\n".join(lines)

    # ── replies ──────────────────────────────────────────────────────────────────────────────────

    def call_tool(self, text: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        if tool not in self.tools:
            return self.end_turn(
                f"I stopped: I need the tool {tool!r}, which this session does not offer.", "not achieved"
            )
        return Reply(text=text, actions=(self._build_action(tool, arguments),), stop="actions")

    def end_turn(self, summary: str, status: str) -> Reply:
        """End the turn, through `finish` where it is offered so that programs can read the status."""
        if (removal := self._remove_test()) is not None:
            return removal
        if "finish" not in self.tools:
            return Reply(text=summary)
        known = "status" in self.tools["finish"].get("properties", {})
        arguments = {"summary": summary, "status": status} if known else {"summary": summary}
        return Reply(text="", actions=(self._build_action("finish", arguments),), stop="actions")

    def propose(self, summary: str) -> Reply:
        """End the turn with changes for the user to decide on."""
        if (removal := self._remove_test()) is not None:
            return removal
        return Reply(text="", actions=(self._build_action("propose", {"summary": summary}),), stop="actions")

    def _build_action(self, tool: str, arguments: Mapping[str, Any]) -> Action:
        # The position in the history makes the id: unique in the session, and the same when it is requested
        # again.
        return Action(id=f"offline-{self.number}", tool=tool, arguments=dict(arguments))
