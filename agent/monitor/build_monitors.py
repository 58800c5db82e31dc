"""The monitors of a session, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agent.budget.cost_budget import CostBudget
from agent.context.ledger.session_facts import Facts
from agent.monitor.monitor import Monitor
from agent.monitor.monitors import LateMonitors, Monitors
from agent.session.log import Session
from agent.session_settings import SessionSettings
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.rules.rules_monitor import RulesMonitor
    from agent.turn.auto_commit import Committer
    from agent.verify.suite_evidence import SuiteEvidence
    from agent.verify.weakened_tests import WeakenedTests
    from tools.changes.change_tracker import Snapshotter


def build_monitors(
    *,
    session: Session,
    workspace: Workspace,
    toolbox: Toolbox,
    settings: SessionSettings,
    snapshots: Snapshotter | None,
    facts: Facts,
    budget: CostBudget,
    refit: Callable[[], Monitor],
    committer: Committer,
    get_evidence: Callable[[], SuiteEvidence],
    get_tests: Callable[[], WeakenedTests],
    rules: RulesMonitor | None = None,
    is_child: bool = False,
) -> Monitors:
    """Build the monitors of a session, restore them from its log, and let them follow it.

    In a new session, those that have nothing to say before the first request are built after it.
    """

    def iterate_monitors() -> Iterator[Monitor]:
        from agent.monitor.external_changes import ExternalChanges
        from agent.monitor.reply_recovery import ReplyRecovery
        from agent.monitor.workflow_rules import WorkflowMonitor
        from agent.turn.auto_commit import StepCommits
        from agent.verify.weakened_tests import CommitGuard

        yield ReplyRecovery()
        if settings.discipline.signals == "tell":
            from agent.monitor.signals.signal_monitor import SignalMonitor

            yield SignalMonitor()
        if rules is not None:
            yield rules
        yield CommitGuard(get_tests())
        ends = frozenset(tool.name for tool in toolbox if tool.ends)
        yield WorkflowMonitor(workspace, ends=ends, levels=settings.discipline, tell=session.append)
        if settings.discipline.chains != "off":
            from agent.monitor.intent.cumulative_intent import CumulativeIntent

            yield CumulativeIntent(workspace, settings.discipline.chains, session.append, is_child=is_child)
        yield StepCommits(committer, get_evidence())
        yield ExternalChanges(workspace, snapshots)

    is_new = rules is None and not session.replayed.find_newest_place("prompt")
    before = [LateMonitors(build=lambda: (refit(),))] if is_new else [refit()]
    after = [LateMonitors(build=iterate_monitors)] if is_new else iterate_monitors()
    monitors = Monitors([*before, budget, *after], session.append)
    monitors.restore(session.replayed, facts)
    session.subscribe(monitors.handle_event)
    return monitors
