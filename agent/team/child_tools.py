"""Tools that only agents have: to report, and to ask the session that started them."""

from __future__ import annotations

import asyncio
from dataclasses import field

from agent.team.report import MOST_FINDINGS, Finding, TestFile, check_place
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.text import clip
from tools.core.workspace import Workspace

MOST_TEST_FILES = 20


@dataclass(slots=True)
class Outbox:
    """What a child has handed over in its present turn; the tools fill it, its parent reads it."""

    question: str = ""
    findings: list[Finding] = field(default_factory=list)
    tests: list[TestFile] = field(default_factory=list)
    has_reported: bool = False

    def clear(self) -> None:
        """Forget the last turn."""
        self.question, self.findings, self.tests, self.has_reported = "", [], [], False


def make_ask_tool(outbox: Outbox) -> Tool:
    """Return the tool by which a child asks its parent."""

    @tool(effect="none", ends=True)
    async def ask(question: str, *, at: Workspace) -> Observation:
        """Ask the one who gave you the task, when you cannot go on without an answer. It comes as your next message.

        question: with what the other has to know to answer it
        """
        if not question.strip():
            raise ToolFailure("ask: the question is empty")
        outbox.question = question.strip()
        return Observation(text="asked", data={"summary": question.strip(), "status": "done"})

    return ask


def make_findings_tool(outbox: Outbox) -> Tool:
    """Return the tool by which a child reports places in files."""

    @tool(effect="none", ends=True)
    async def report(answer: str, findings: list[Finding], *, at: Workspace) -> Observation:
        """End your work with its result.

        answer: a few sentences
        findings: the places that prove it, each with one sentence
        """
        if len(findings) > MOST_FINDINGS:
            raise ToolFailure(f"report: at most {MOST_FINDINGS} findings: name those that matter")
        problems = await asyncio.to_thread(_check_places, at, findings)
        if problems:
            raise ToolFailure("report: mend these places, then report again:\n" + "\n".join(problems))
        if not answer.strip():
            raise ToolFailure("report: the answer is empty")
        outbox.findings, outbox.has_reported = findings, True
        places = [{"place": each.place, "note": each.note} for each in findings]
        lines = [f"{each.place}: {each.note}" for each in findings]
        return Observation(
            text="\n".join(["reported", *lines]),
            data={"summary": answer.strip(), "status": "done", "findings": places},
        )

    return report


def make_tests_tool(outbox: Outbox) -> Tool:
    """Return the tool by which a child reports files of tests."""

    @tool(effect="none", ends=True)
    async def report(answer: str, tests: list[TestFile], *, at: Workspace) -> Observation:
        """End your work with its result.

        answer: what the tests cover, in a few sentences, and what the requirement leaves open
        tests: whole files; none is written, the one who gave you the task decides
        """
        if len(tests) > MOST_TEST_FILES or any(not each.path.strip() for each in tests):
            raise ToolFailure(f"report: at most {MOST_TEST_FILES} files of tests, each with a path")
        for each in tests:
            if problem := _check_syntax(each):
                raise ToolFailure(f"report: {problem}")
        outbox.tests, outbox.has_reported = tests, True
        names = [each.path for each in tests]
        return Observation(
            text="reported", data={"summary": answer.strip(), "status": "done", "tests": names}
        )

    return report


def count_lines(at: Workspace, path: str) -> int | None:
    """Return the lines of a file of the workspace, None if there is none that may be read."""
    from tools.edit.loaded_file import load_text_file

    try:
        return len(load_text_file(at, "report", path).text.splitlines())
    except (ToolFailure, UserError, OSError, ValueError):
        return None


def _check_places(at: Workspace, findings: list[Finding]) -> list[str]:
    return [
        problem
        for each in findings
        if (problem := check_place(each.place, lambda path: count_lines(at, path)))
    ]


def _check_syntax(test: TestFile) -> str:
    """Return what is wrong with a file of Python, "" if nothing."""
    if not test.path.endswith(".py"):
        return ""
    try:
        compile(test.content, test.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return clip(f"{test.path} is no Python: {error}", 300)
    return ""
