"""A run as requested on the command line (`Invocation`), and the session that serves it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.context.compression.token_budget import Shares
from agent.model.protocol import Model
from agent.monitor.workflow_rules import RuleLevels
from agent.session_options import Options
from agent.turn.auto_commit import When
from agent.turn.limits import Limit, MaxCost, MaxSteps, MaxTime, MaxTokens
from agent.turn.runtime import Runtime
from agent.workspace_root import find_workspace_root
from cli.model_selection import build_role_makers, check_prices, choose_model
from cli.settings.layers import load_settings
from cli.settings.settings_types import Settings
from patchwright.version import VERSION
from sandbox.policy.decision import Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A run as requested on the command line.

    commit: at the end of a verified turn; offer_commit: let the model do it (needs a git repository)
    schema: a file with the JSON schema that the answer has to match
    attempts: number of attempts, in work trees separate from the user's; the best is applied
    apply_doubtful: the offline engine writes changes of low confidence, too
    proceed: called repeatedly while an existing session is read; an exception from it aborts the read
    """

    folder: Path
    flags: Mapping[str, Any]
    commit: bool
    offer_commit: bool
    session: str = ""
    approval: Approval | None = Approval.NEVER
    schema: Path | None = None
    attempts: int = 1
    apply_doubtful: bool = False
    proceed: Callable[[], None] = lambda: None


MakeModel = Callable[[Home, Callable[[str], None]], Model]

NO_MODEL = (
    "no model is set up, so the offline engine works on it"
    " (name one with --model, or set OPENAI_API_KEY or ANTHROPIC_API_KEY)"
)


def load_invocation_settings(invocation: Invocation, home: Home) -> Settings:
    """Load all layers of settings for an invocation. Raises UserError."""
    root, _ = find_workspace_root(invocation.folder, need_git=invocation.offer_commit)
    return load_settings(home, root, invocation.flags)


def make_runtime(
    invocation: Invocation, home: Home, settings: Settings, model: MakeModel | None = None
) -> Runtime:
    """Create model and session for an invocation. Raises UserError.

    model: factory of another model than the one in the settings
    """
    check_prices(settings, home)
    options = Options(
        working=invocation.folder,
        model=model or partial(choose_model, settings, apply_doubtful=invocation.apply_doubtful),
        mode=settings.mode,
        approval=invocation.approval,
        rules=settings.rules,
        sandbox=settings.sandbox,
        container_image=settings.container_image,
        session=invocation.session,
        commit=choose_commit_time(invocation, settings),
        offer_commit=invocation.offer_commit,
        limits=build_limits(settings),
        test_command=settings.tests.command,
        test_timeout=settings.tests.timeout,
        shell_timeout=settings.shell_timeout,
        roles=build_role_makers(settings),
        kernel_memory=settings.kernel_memory << 20,
        actions=settings.actions,
        shares=Shares(recent=settings.context.recent, batch=settings.context.batch),
        summaries=settings.context.summary,
        outputs=settings.context.outputs,
        discipline=RuleLevels(
            rules=settings.discipline.rules,
            named=settings.discipline.named,
            phases=settings.discipline.phases,
        ),
        hosts=tuple(settings.network),
        secrets_allowed=tuple(settings.secrets_allowed),
        edit_formats=settings.edit.formats or (),
        refuse_syntax_errors=settings.edit.syntax_errors == "refuse",
        lint=settings.edit.lint,
        language_servers=settings.language_servers,
        mcp=settings.mcp,
        version=VERSION,
        proceed=invocation.proceed,
    )
    runtime = assemble_runtime(options, home)
    gc.freeze()  # the start is over: its objects are permanent, and the collector, off since the launch,
    gc.enable()  # handles the rest
    return runtime


def choose_commit_time(invocation: Invocation, settings: Settings) -> When:
    """Return the commit time of the settings; by default the end of a verified turn, and in a conversation never."""
    if not invocation.offer_commit:
        return "never"
    return settings.commit or ("turn" if invocation.commit else "never")


def build_limits(settings: Settings) -> Sequence[Limit]:
    """Return the limits in the settings."""
    found: list[Limit] = [MaxSteps(settings.max_steps), MaxTime(settings.max_time)]
    if settings.max_cost is not None:
        found.append(MaxCost(settings.max_cost))
    if settings.max_tokens is not None:
        found.append(MaxTokens(settings.max_tokens))
    return found
