"""A run as requested on the command line (`Invocation`), and the session that serves it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.budget_text import apply_budget, parse_budget
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings, StrategySettings, When
from agent.turn.runtime import Runtime
from agent.workspace_root import find_workspace_root
from cli.settings.layers import load_settings
from cli.settings.settings_types import Settings
from patchwright.version import VERSION
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval

if TYPE_CHECKING:
    from tools.mcp.server_place import ServerPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRequest:
    """A goal that the prompt is. check: its command, "" for the requirements; max_turns: None for the default"""

    check: str = ""
    max_turns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """A Ray cluster as requested on the command line. env: names of variables that children have there"""

    address: str
    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A run as requested on the command line.

    attended: a user can be asked, by the approval of the settings
    commit: at the end of a verified turn; offer_commit: let the model do it (needs a git repository)
    schema: a file with the JSON schema that the answer has to match
    attempts: number of attempts, in worktrees separate from the user's; None: as the settings say
    strategy: name of the strategy; None: as the settings say, or `sample` where attempts are named
    cluster: that makes the attempts; None: as the settings say
    budget: of the turn with all that it starts; None: as the settings say
    apply_doubtful: the offline engine writes changes of low confidence, too
    requirements: a file with requirements that the work has to meet
    servers: MCP servers by name that a client gives beside those of the settings
    answers: a file with answers to the model's questions
    goal: the prompt is worked on over several turns; None for one turn
    detached: where a run without a terminal reports its session (cli/detached/launch.py); None for others
    proceed: called repeatedly while an existing session is read; an exception from it aborts the read
    """

    folder: Path
    flags: Mapping[str, Any]
    commit: bool
    offer_commit: bool
    session: str = ""
    attended: bool = False
    schema: Path | None = None
    attempts: int | None = None
    strategy: str | None = None
    cluster: ClusterRequest | None = None
    budget: str | None = None
    apply_doubtful: bool = False
    requirements: Path | None = None
    answers: Path | None = None
    servers: Mapping[str, ServerPlace] = field(default_factory=dict)
    goal: GoalRequest | None = None
    detached: str | None = None
    proceed: Callable[[], None] = lambda: None


NO_MODEL = (
    "no model is set up, so the offline engine works on it"
    " (name one with --model, or set OPENAI_API_KEY or ANTHROPIC_API_KEY)"
)


def load_invocation_settings(invocation: Invocation, home: Home) -> Settings:
    """Load all layers of settings for an invocation. Raises UserError."""
    root, _ = find_workspace_root(invocation.folder, need_git=invocation.offer_commit)
    return load_settings(home, root, invocation.flags)


def make_runtime(invocation: Invocation, home: Home, settings: SessionSettings) -> Runtime:
    """Create model and session for an invocation. Raises UserError."""
    approval = settings.access.approval if invocation.attended else Approval.NEVER
    budget = invocation.budget or settings.strategy.budget
    settings = replace(
        settings,
        limits=apply_budget(settings.limits, parse_budget(budget)),
        strategy=replace(settings.strategy, budget=budget),
        access=replace(settings.access, approval=approval),
        commit=choose_commit_time(invocation, settings),
    )
    request = SessionRequest(
        working=invocation.folder,
        session=invocation.session,
        offer_commit=invocation.offer_commit,
        env=os.environ,
        apply_doubtful=invocation.apply_doubtful,
        version=VERSION,
        servers=invocation.servers,
        proceed=invocation.proceed,
    )
    answers = None
    if invocation.answers is not None:
        from agent.team.answers_file import PreparedAnswers

        answers = PreparedAnswers.from_file(invocation.answers)
    runtime = assemble_runtime(settings, request, home)
    if settings.verify.has_optional_checks or invocation.requirements is not None:
        _attach_checks(runtime, home, invocation.requirements)
    if runtime.model.name != "offline":
        from agent.team.attach import attach_team

        attach_team(runtime, home)
        from agent.turn.lead_monitors import attach_lead

        attach_lead(runtime)
    if answers is not None:
        from agent.team.attach import attach_person

        attach_person(runtime, answers, stays_open=False)
    if settings.verify.review:
        from sandbox.extensions import load_extension

        load_extension("checks", "review")(runtime)
    if any(name.startswith("OTEL_") for name in os.environ) and _wants_telemetry():
        from sandbox.extensions import load_extension

        load_extension("telemetry", "otel")(runtime, os.environ, VERSION)
    gc.freeze()  # the start is over: its objects are permanent, and the collector, off since the launch,
    gc.enable()  # handles the rest
    return runtime


def _attach_checks(runtime: Runtime, home: Home, requirements: Path | None) -> None:
    """Attach the checks of the settings and the file of requirements; its commands only if they are trusted."""
    from agent.verify.optional_checks import attach_checks

    if requirements is None:
        attach_checks(runtime)
        return
    from sandbox.extensions import load_extension
    from sandbox.policy.trust import TrustStore

    root = runtime.workspace.root
    file = load_extension("checks", "requirement_file")(requirements, root)
    trusts = TrustStore(home.config).create_check(root / file.name)
    attach_checks(runtime, file, is_trusted=not file.inside or trusts(file.list_definitions()))


def _wants_telemetry() -> bool:
    from agent.telemetry.telemetry_choice import wants_telemetry

    return wants_telemetry(os.environ)


def choose_commit_time(invocation: Invocation, settings: SessionSettings) -> When:
    """Return the commit time of the settings; by default the end of a verified turn, and in a conversation never."""
    if not invocation.offer_commit:
        return "never"
    return settings.commit or ("turn" if invocation.commit else "never")


def choose_strategy(invocation: Invocation, settings: SessionSettings) -> StrategySettings:
    """Return the strategy of a run: that of the settings, unless a name or attempts are given; an answer with a schema
    is one session's. Raises UserError for a name that there is not."""
    found = settings.strategy
    if invocation.budget is not None:
        found = replace(found, budget=invocation.budget)
    if (cluster := invocation.cluster) is not None:
        found = replace(found, ray=cluster.address, ray_env=list(cluster.env))
    if invocation.strategy is not None:
        from agent.strategy.strategy_table import check_strategy_name

        check_strategy_name(invocation.strategy)
        attempts = invocation.attempts or found.attempts
        return replace(found, name=invocation.strategy, attempts=attempts)
    if invocation.schema is not None or invocation.attempts == 1:
        return StrategySettings(budget=found.budget)
    if invocation.attempts is None:
        return found
    return replace(found, name="sample", attempts=invocation.attempts)
