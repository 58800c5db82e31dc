"""The offline engine as a model: fixes failing tests with the ordinary tools, without network or key.

A pure function of the request: what was done so far is read from the messages, so a session that was
killed goes on where it stood. One step a call: plan, run the tests, search, edit, run again, commit.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.model.base import (
    AssistantMessage,
    Delta,
    Message,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from agent.model.offline_words import block, commit_message, doubt, doubtful, listed, sentence, tests_passing
from sandbox.errors import Fault, UserError
from tools.action import Action

# It reads nothing but the last turn, so no window is too small for it.
WINDOW = 1_000_000
# Failing tests named to `repair`; more than this, and it looks at everything that fails.
MOST_TARGETS = 60
# Words of a prompt that describes something, not only asks for the tests to pass.
DESCRIBED = 8
# Other changes that are named beside one to be looked at.
MOST_ALTERNATIVES = 3
# What a person says who wants tests to pass or a bug gone; generous, since it can do nothing else.
_ABOUT_TESTS = re.compile(
    r"\b(fix|fixes|fixing|fail|fails|failing|failed|failure|failures|tests?|bugs?|bugfix|broken|break|breaks|"
    r"repair|green|debug|error|errors|wrong|crash|crashes|regression|red|pytest|unittest|mend|correct)\b",
    re.IGNORECASE,
)
_CANNOT = "this needs a model: the offline engine repairs bugs that make tests fail, and nothing else"
_HOW_TO_SET_UP = (
    "Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a model: --model PROVIDER/NAME"
    " (a local server: --model openai/NAME --api-base http://localhost:8080/v1)."
)
_ELSEWHERE = (
    ": the tests that failed pass where I try changes. There they run in the first Python of the project that can run "
    "them, without the variables and options of a command that you named"
)
_PLAN = (
    "Run the tests to see what fails",
    "Locate the faults and search for changes",
    "Apply the changes",
    "Run all tests again",
    "Commit",
)


class OfflineModel:
    """Implements `Model` with the repair engine behind the tools."""

    name = "offline"
    window = WINDOW

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        reply = answer(request)
        if reply.text:
            yield TextDelta(text=reply.text)
        yield reply

    async def close(self) -> None:
        """Nothing is held open."""


def answer(request: Request) -> Reply:
    """The next step of the turn that the request is about. Raises UserError when it takes a real model."""
    turn = _Turn.of(request)
    if not _ABOUT_TESTS.search(turn.prompt):
        raise UserError(Fault.CONFIGURATION, _CANNOT, _HOW_TO_SET_UP)
    return turn.next()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One call of this turn and what came of it."""

    action: Action
    result: ToolMessage

    @property
    def data(self) -> Mapping[str, Any]:
        return self.result.data or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """Everything since the last prompt, as the calls that were made."""

    prompt: str
    steps: Sequence[_Step]
    tools: Mapping[str, Mapping[str, Any]]
    number: int

    @classmethod
    def of(cls, request: Request) -> _Turn:
        start = _last_turn(request.messages)
        messages = request.messages[start:]
        results = {each.call: each for each in messages if isinstance(each, ToolMessage)}
        actions = [
            action for each in messages if isinstance(each, AssistantMessage) for action in each.actions
        ]
        return cls(
            prompt="\n".join(
                each.text for each in messages if isinstance(each, UserMessage) and not each.passing
            ),
            steps=[_Step(action=each, result=results[each.id]) for each in actions if each.id in results],
            tools={each.name: each.parameters for each in request.tools},
            number=len(request.messages),
        )

    def next(self) -> Reply:
        """The first phase that has something to do."""
        phases: tuple[Callable[[], Reply | None], ...] = (
            self._denied,
            self._plan,
            self._first_run,
            self._search,
            self._edits,
            self._reversal,
            self._second_run,
            self._verdict,
            self._commit,
        )
        for phase in phases:
            reply = phase()
            if reply is not None:
                return reply
        return self.over(self._summary(), "done")

    # ── phases, in order: each answers, or leaves it to the next ─────────────────────────────────

    def _denied(self) -> Reply | None:
        refused = [step for step in self.steps if step.data.get("denied")]
        if not refused or refused[0].action.tool in ("plan", "git_commit"):
            return None
        tool, said = refused[0].action.tool, refused[0].result.text
        return self.over(f"I stopped: {tool} was refused.\n{said}", "not achieved")

    def _plan(self) -> Reply | None:
        if "plan" not in self.tools or self._made("plan"):
            return None
        wanted = _PLAN if "git_commit" in self.tools else _PLAN[:-1]
        items = [
            {"text": text, "status": "doing" if not place else "open"} for place, text in enumerate(wanted)
        ]
        return self.call(
            "I'll run the tests first, then look for what makes them fail.", "plan", {"items": items}
        )

    def _first_run(self) -> Reply | None:
        runs = self._made("run_tests")
        if not runs:
            return self.call("", "run_tests", {})
        outcome = _report(runs[0]).get("outcome", "")
        if outcome == "passed":
            passed = _report(runs[0]).get("passed", 0)
            text = f"All{f' {passed}' if passed else ''} tests pass already, so there is nothing to repair."
            return self._located() or self.over(text + self._places(), "nothing to do")
        if outcome in ("no-tests", "no-runner"):
            text = (
                f"There is nothing to repair by: I work from failing tests.\n\n{block(runs[0].result.text)}"
            )
            return self._located() or self.over(text + self._places(), "not achieved")
        return None

    def _search(self) -> Reply | None:
        found = self._made("repair")
        if not found:
            failing = _failing(self._made("run_tests")[0])
            count = f"{len(failing)} tests fail" if len(failing) != 1 else "1 test fails"
            words = f"{count}. " if failing else ""
            text = f"{words}I trace which lines the failing and the passing tests run, and try changes there."
            targets = failing if 0 < len(failing) <= MOST_TARGETS else []
            # What describes the fault says where to try first.
            hint = {"hint": self.prompt} if len(self.prompt.split()) >= DESCRIBED else {}
            return self.call(text, "repair", {"targets": targets, **hint})
        if not self._fixes():
            why = _ELSEWHERE if found[0].data.get("repair", {}).get("outcome") == "all-pass" else ""
            text = f"I did not find a fix{why}.\n\n{block(found[0].result.text)}"
            return self._located() or self.over(text + self._places(), "not achieved")
        return None

    def _edits(self) -> Reply | None:
        done = self._forward()
        fixes = self._fixes()
        if any(step.result.failed for step in done) or len(done) >= len(fixes):
            return None
        fix = fixes[len(done)]
        text = f"{sentence(fix['why'])} With that changed, {tests_passing(fix['tests'])}."
        return self.call(text, "edit", {name: fix[name] for name in ("path", "old", "new")})

    def _reversal(self) -> Reply | None:
        """Undo the edits, last first, when one of them failed or the tests came out worse than before."""
        fixes = self._fixes()
        problem = self._problem()
        if not problem:
            return None
        forward = [step for step in self._forward() if not step.result.failed]
        back = self._made("edit")[len(self._forward()) :]
        if any(step.result.failed for step in back):
            said = block(back[-1].result.text)
            text = (
                f"{problem} Taking the changes back failed as well; `git diff` shows what is left.\n\n{said}"
            )
            return self.over(text, "not achieved")
        if len(back) < len(forward):
            fix = fixes[len(forward) - len(back) - 1]
            arguments = {"path": fix["path"], "old": fix["new"], "new": fix["old"]}
            return self.call(f"{problem} I take my change to {fix['path']} back.", "edit", arguments)
        return self.over(f"{problem} I took all my changes back; the files are as they were.", "not achieved")

    def _second_run(self) -> Reply | None:
        if len(self._made("run_tests")) > 1:
            return None
        return self.call("Now all tests, with the project's own runner.", "run_tests", {})

    def _verdict(self) -> Reply | None:
        report = _report(self._made("run_tests")[1])
        if report.get("outcome") == "passed":
            return None
        left = self._made("repair")[0].data.get("repair", {})
        places = [f"{s['path']}:{s['line']}  {s['code']}" for s in left.get("suspects", ())]
        failing = _failing(self._made("run_tests")[1])[:20]
        text = [self._summary(), "Not all tests pass yet, so I committed nothing. Still failing:"]
        text.append(block("\n".join(failing)))
        text += ["The most suspicious places:", block("\n".join(places))] if places else []
        return self.over("\n\n".join(text), "not achieved")

    def _commit(self) -> Reply | None:
        if "git_commit" not in self.tools or self._made("git_commit"):
            return None
        if any(map(doubtful, self._fixes())):
            return self.over(self._in_doubt(), "done")
        return self.call("All tests pass.", "git_commit", {"message": commit_message(self._fixes())})

    def _located(self) -> Reply | None:
        """Where no test leads on, the words do: what the prompt speaks of, if it describes anything."""
        if len(self.prompt.split()) < DESCRIBED or "code" not in self.tools or self._made("code"):
            return None
        return self.call(
            "No test leads further, so I look for what your words speak of.",
            "code",
            {"action": "locate", "target": self.prompt},
        )

    def _places(self) -> str:
        """What `_located` found, as the end of an answer."""
        asked = self._made("code")
        if not asked or asked[0].result.failed:
            return ""
        return f"\n\nWhat your words speak of, as far as words tell:\n\n{block(asked[0].result.text)}"

    # ── what the turn holds so far ───────────────────────────────────────────────────────────────

    def _made(self, tool: str) -> list[_Step]:
        return [step for step in self.steps if step.action.tool == tool]

    def _fixes(self) -> list[Mapping[str, Any]]:
        found = self._made("repair")
        fixes: list[Mapping[str, Any]] = found[0].data.get("repair", {}).get("fixes", []) if found else []
        return fixes

    def _forward(self) -> list[_Step]:
        """The edits that make the changes, up to the first that failed; those after them take changes back."""
        edits = self._made("edit")[: len(self._fixes())]
        failed = [place for place, step in enumerate(edits) if step.result.failed]
        return edits[: failed[0] + 1] if failed else edits

    def _problem(self) -> str:
        """Why the edits must be taken back, "" if they need not."""
        for step in self._forward():
            if step.result.failed:
                return f"An edit of {step.action.arguments.get('path')!r} could not be applied."
        runs = self._made("run_tests")
        if len(runs) < 2:
            return ""
        before, after = _report(runs[0]), _report(runs[1])
        new = sorted(set(_failing(runs[1])) - set(_failing(runs[0])))
        if new and before.get("outcome") == "failed":
            return f"With the changes {listed(new)} failed, which did not fail before."
        if before.get("outcome") == "failed" and after.get("outcome") not in ("passed", "failed"):
            return "With the changes the tests do not run to their end any more."
        return ""

    def _summary(self) -> str:
        fixes = self._fixes()
        lines = [f"{len(fixes)} bug{'s' if len(fixes) != 1 else ''} found and fixed:"]
        lines += [f"- {fix['path']}:{fix['line']}: {fix['why']}{doubt(fix)}" for fix in fixes]
        commits = self._made("git_commit")
        if commits and commits[0].result.failed:
            lines += ["", f"The commit failed:\n{commits[0].result.text}"]  # the empty line ends the list
        runs = self._made("run_tests")
        if len(runs) > 1:
            report = _report(runs[1])
            lines += ["", f"Tests: {report.get('passed', 0)} passed, {report.get('failed', 0)} failed."]
        return "\n".join(lines)

    def _in_doubt(self) -> str:
        """What a person is to decide: whether the change means what was meant, or one of the others does."""
        lines = [
            self._summary(),
            "",
            "I committed nothing: I am not sure of what is marked so, for a change can fit the tests and mean "
            "something else than what was meant. Look at it before you commit it, or take it back.",
        ]
        others = self._made("repair")[0].data.get("repair", {}).get("alternatives", ())
        named = [
            "; ".join(f"{fix['path']}:{fix['line']}: {fix['why']}" for fix in each)
            for each in others[:MOST_ALTERNATIVES]
        ]
        if named:
            lines += ["", "Others that make the same tests pass:", *(f"- {each}" for each in named)]
        return "\n".join(lines)

    # ── replies ──────────────────────────────────────────────────────────────────────────────────

    def call(self, text: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        if tool not in self.tools:
            return self.over(
                f"I stopped: I need the tool {tool!r}, which this session does not offer.", "not achieved"
            )
        return Reply(text=text, actions=(self._action(tool, arguments),), stop="actions")

    def over(self, summary: str, status: str) -> Reply:
        """End the turn, through `finish` where it is offered so that programs can read how it went."""
        if "finish" not in self.tools:
            return Reply(text=summary)
        known = "status" in self.tools["finish"].get("properties", {})
        arguments = {"summary": summary, "status": status} if known else {"summary": summary}
        return Reply(text="", actions=(self._action("finish", arguments),), stop="actions")

    def _action(self, tool: str, arguments: Mapping[str, Any]) -> Action:
        # The place in the history makes the id: unique in the session, and the same when it is asked again.
        return Action(id=f"offline-{self.number}", tool=tool, arguments=dict(arguments))


def _last_turn(messages: Sequence[Message]) -> int:
    """Where the prompt of the present turn stands: after the last message that ended a turn."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, AssistantMessage):
            ended = not message.actions or any(action.tool == "finish" for action in message.actions)
            if ended:
                later = range(place + 1, len(messages))
                return next((at for at in later if isinstance(messages[at], UserMessage)), len(messages))
    return 0


def _report(step: _Step) -> Mapping[str, Any]:
    """The structured report; without one (a log of another version), what the text's first line says."""
    report = step.data.get("report")
    if isinstance(report, Mapping):
        return report
    first = step.result.text.partition("\n")[0].lower()
    for word in ("no tests", "not run", "broken", "timed out", "failed", "passed"):
        if word in first:
            known = {"no tests": "no-tests", "not run": "no-runner", "timed out": "timeout"}
            return {"outcome": known.get(word, word)}
    return {"outcome": "broken"}


def _failing(step: _Step) -> list[str]:
    return [str(each["id"]) for each in _report(step).get("failures", ())]
