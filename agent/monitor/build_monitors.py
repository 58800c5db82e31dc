"""The monitors of a session, in the order in which they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.budget.cost_budget import CostBudget
from agent.context.ledger.session_facts import Facts
from agent.monitor.external_changes import ExternalChanges
from agent.monitor.monitor import Monitor
from agent.monitor.monitors import Monitors
from agent.monitor.reply_recovery import ReplyRecovery
from agent.monitor.workflow_rules import WorkflowMonitor
from agent.session.log import Session
from agent.session_settings import SessionSettings
from agent.turn.auto_commit import Committer, StepCommits
from agent.verify.suite_evidence import SuiteEvidence
from agent.verify.weakened_tests import CommitGuard, WeakenedTests
from tools.changes.change_tracker import Snapshotter
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.rules.rules_monitor import RulesMonitor


def build_monitors(
    *,
    session: Session,
    workspace: Workspace,
    toolbox: Toolbox,
    settings: SessionSettings,
    snapshots: Snapshotter | None,
    facts: Facts,
    budget: CostBudget,
    committer: Committer,
    evidence: SuiteEvidence,
    weakened_tests: WeakenedTests,
    rules: RulesMonitor | None = None,
) -> Monitors:
    """Build the monitors of a session, restore them from its log, and let them follow it."""
    ends = frozenset(tool.name for tool in toolbox if tool.ends)
    intent: list[Monitor] = []
    if settings.discipline.chains != "off":
        from agent.monitor.intent.cumulative_intent import CumulativeIntent

        intent.append(CumulativeIntent(workspace, settings.discipline.chains, session.append))
    monitors = Monitors(
        [
            budget,
            ReplyRecovery(),
            *([rules] if rules is not None else []),
            CommitGuard(weakened_tests),
            WorkflowMonitor(workspace, ends=ends, levels=settings.discipline, tell=session.append),
            *intent,
            StepCommits(committer, evidence),
            ExternalChanges(workspace, snapshots),
        ],
        session.append,
    )
    monitors.restore(session.replayed, facts)
    session.subscribe(monitors.handle_event)
    return monitors
