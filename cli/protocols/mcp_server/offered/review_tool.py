"""`review`: the checks of a change, and a model's opinion if it is asked for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult

if TYPE_CHECKING:
    from cli.commands.git.change_review import Review

MOST_FINDINGS = 200
LONGEST_TEXT = 16_000
"""Characters of the text and of an opinion."""


class ReviewArguments(Arguments):
    """Arguments of `review`: at most one of the first three; without one, all uncommitted changes."""

    commit: str = Field(default="", max_length=300, description="A commit to review")
    base: str = Field(default="", max_length=300, description="The branch's changes since this commit")
    staged: bool = Field(default=False, description="The staged changes")
    opinion: bool = Field(default=False, description="Ask the configured model for its opinion, too")


class ReviewFinding(BaseModel):
    """A finding of a check. line: from 1, 0 for the whole file; severity: error or warning"""

    check: str
    path: str
    line: int
    severity: str
    message: str


class ReviewReport(BaseModel):
    """Review of a change. changed: there is a change to review"""

    changed: bool
    summary: str = ""
    findings: list[ReviewFinding] = []
    opinion: str = ""
    truncated: bool = False


async def review(arguments: ReviewArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    """Review a change; a server that only reads runs no linters."""
    from cli.commands.git.change_review import check_change

    checked = await asyncio.to_thread(
        check_change,
        repository.root,
        arguments.commit,
        base=arguments.base,
        cached=arguments.staged,
        flags=repository.flags,
        runs_linters=not repository.reads_only,
    )
    if checked is None:
        return ToolResult(text="nothing to review", data=ReviewReport(changed=False))
    found, asked = checked
    if arguments.opinion:
        found = replace(found, opinion=await _request_opinion(repository, asked))
    return _report_review(found)


async def _request_opinion(repository: ServedRepository, asked: str) -> str:
    from agent.model.routing.roles import Role
    from cli.commands.git.model_text import request_model_text
    from tools.git.git_process import Git

    git = await asyncio.to_thread(Git.from_folder, repository.root)
    return await request_model_text(git, repository.flags, asked, "review", Role.JUDGE)


def _report_review(found: Review) -> ToolResult:
    listed = [
        ReviewFinding(
            check=each.check,
            path=each.path,
            line=each.line,
            severity=each.severity,
            message=each.message[:1000],
        )
        for each in found.findings[:MOST_FINDINGS]
    ]
    text = found.format_text()
    report = ReviewReport(
        changed=True,
        summary=found.summary[:LONGEST_TEXT],
        findings=listed,
        opinion=found.opinion[:LONGEST_TEXT],
        truncated=len(found.findings) > MOST_FINDINGS or len(found.opinion) > LONGEST_TEXT,
    )
    return ToolResult(text=text[:LONGEST_TEXT], data=report)


REVIEW = ServedTool(
    name="review",
    title="Review a change",
    description=(
        "Check a change without a model: leftovers, conflict marks, secrets, syntax, weakened tests, the project's"
        " linters (unless the server only reads). By default all uncommitted changes."
    ),
    arguments=ReviewArguments,
    result=ReviewReport,
    run=review,
    reads_only=True,
    open_world=True,
)
