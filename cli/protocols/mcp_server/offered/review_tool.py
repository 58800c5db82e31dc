"""`review`: the checks of a change, and a model's opinion if it is asked for."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult

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
    """Review a change."""
    return await asyncio.to_thread(_review_change, arguments, repository)


def _review_change(arguments: ReviewArguments, repository: ServedRepository) -> ToolResult:
    from cli.commands.git.change_review import check_change, review_change

    folder, target, base, staged = repository.root, arguments.commit, arguments.base, arguments.staged
    if arguments.opinion:
        found = review_change(folder, repository.flags, target, base=base, cached=staged)
    else:
        checked = check_change(folder, target, base=base, cached=staged)
        found = checked[0] if checked is not None else None
    if found is None:
        return ToolResult(text="nothing to review", data=ReviewReport(changed=False))
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
        " linters. By default all uncommitted changes."
    ),
    arguments=ReviewArguments,
    result=ReviewReport,
    run=review,
    reads_only=True,
    open_world=True,
)
