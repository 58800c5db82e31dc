"""Builds the report of an agent's finished turn, and the observation by which its parent's model gets it."""

from __future__ import annotations

from agent.children.child import Child
from agent.children.spec import ChildResult
from agent.events import MessageEvent
from agent.exit_codes import Exit
from agent.team.activity import AgentRow
from agent.team.child_tools import Outbox, count_lines
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.report import Report, check_place, parse_findings, strip_findings
from agent.turn.runtime import Runtime
from tools.core.action import Observation
from tools.core.workspace import Workspace


def build_report(
    at: Workspace, child: Child, name: str, agent: AgentDefinition, outbox: Outbox, result: ChildResult
) -> Report:
    """Return the report of a finished turn. Blocking. at: the parent's; name: of the agent there"""
    findings = outbox.findings
    if agent.reports == "findings" and not outbox.has_reported:
        read = parse_findings(result.report)
        findings = [each for each in read if not check_place(each.place, lambda path: count_lines(at, path))]
    ended_early = result.exit_code in (Exit.LIMIT, Exit.INTERRUPTED)
    return Report(
        agent=agent.name,
        child=name,
        session=child.id,
        outcome=result.outcome,
        exit_code=result.exit_code,
        text=strip_findings(result.report, findings) if not outbox.has_reported else result.report,
        findings=findings,
        tests={each.path: at.artifacts.save(each.content.encode()) for each in outbox.tests},
        question=outbox.question if result.succeeded else "",
        last_words=_read_last_words(child.runtime) if ended_early else "",
        usage=result.usage,
        seconds=result.seconds,
    )


def restore_report(row: AgentRow) -> Report:
    """Return the report of an agent that had reported before a kill, as far as the log of its parent has it."""
    return Report(
        agent=row.agent,
        child=row.name,
        session=row.child,
        outcome=Exit.DONE.label,
        exit_code=Exit.DONE,
        text=row.last,
    )


def build_observation(at: Workspace, report: Report) -> Observation:
    """Return a report as the observation of a call; the whole of it is stored as an artifact of the parent."""
    ref = at.artifacts.save(report.format_whole().encode("utf-8", "replace"))
    return Observation(
        text=report.format_text(ref),
        data=report.build_data(),
        ref=ref,
        failed=not report.is_finished or bool(report.conflicts) or report.unmerged,
        value=report.format_whole(),
    )


def _read_last_words(runtime: Runtime) -> str:
    """Return the last text of a session's model."""
    for event in reversed(runtime.session.replayed):
        if isinstance(event, MessageEvent) and event.text.strip():
            return event.text.strip()
    return ""
