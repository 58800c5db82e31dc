"""`patchwright run --attempts N`: sessions in separate worktrees, and a parent session that applies the best patch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.app_dirs import Home
from agent.budget.limits import MaxCost
from agent.model_selection import ModelSelection
from agent.session_settings import SessionSettings
from agent.strategy.attempts import AttemptsModel
from agent.turn.runtime import Runtime
from agent.workspace_root import find_workspace_root
from cli.invocation import Invocation, make_runtime
from cli.own_command import find_own_command
from sandbox.errors import Fault, UserError
from tools.git.apply_attempt import bring_back
from tools.git.broker import Broker
from tools.git.git_process import Git

_OPTIONS = {
    "model": "--model",
    "api_base": "--api-base",
    "mode": "--mode",
    "sandbox": "--sandbox",
    "test_command": "--tests",
    "actions": "--actions",
    "max_steps": "--max-steps",
    "max_time": "--max-time",
    "max_tokens": "--max-tokens",
}
"""Command-line names of the flags that are passed on to each attempt."""

_LIMITS: Mapping[str, Any] = {
    "max_cost": None,
    "max_time": float("inf"),
    "max_tokens": None,
}
"""Limits that apply to the attempts, not to the session that waits for them."""


def make_attempts_runtime(
    invocation: Invocation, home: Home, settings: SessionSettings, prompt: str
) -> Runtime:
    """Create the runtime of the parent session of the attempts. Raises UserError."""
    root, _ = find_workspace_root(invocation.folder, need_git=True)
    if settings.access.mode == "read-only":
        raise UserError(
            Fault.USAGE, "--attempts cannot apply a patch in read-only mode", "Leave one of them out."
        )
    from sandbox.policy.trust import TrustStore

    broker = Broker.from_path(root, TrustStore(home.config).create_check(root))
    git = Git(broker.root, alone=True, extra=broker.replacement_environment, own_filters=True)
    if not git.run_text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128)):
        raise UserError(Fault.USAGE, "--attempts needs a commit to begin with", "Make one: git commit")
    models = ModelSelection(settings=settings, env=os.environ, cache=home.cache)
    models.check_prices()
    made: list[AttemptsModel] = []

    def make_model(tell: object) -> AttemptsModel:
        found = AttemptsModel(
            name=models.main_name,
            count=invocation.attempts,
            prompt=prompt,
            command=[
                *_build_attempt_command(invocation.flags),
                *(["--apply"] if invocation.apply_doubtful else []),
            ],
            git=git,
            subfolder=str(invocation.folder.resolve().relative_to(root.resolve())),
            home=home,
            max_cost=settings.limits.max_cost,
        )
        made.append(found)
        return found

    waiting = replace(settings, limits=replace(settings.limits, **_LIMITS), actions="tools")
    runtime = make_runtime(invocation, home, waiting, make_model)
    made[0].log_folder = runtime.session.folder / "attempts"
    if settings.limits.max_cost is not None:  # the attempts' unused budget pays for this session's few calls
        runtime.purse.limits = [*runtime.purse.limits, MaxCost(settings.limits.max_cost)]
    made[0].artifacts = runtime.workspace.artifacts
    runtime.toolbox.add(accepted=[bring_back])
    return runtime


def _build_attempt_command(flags: Mapping[str, Any]) -> list[str]:
    given = [f"{_OPTIONS[name]}={value}" for name, value in flags.items() if name in _OPTIONS]
    base = [*find_own_command(), "run", "-", "--no-commit", "--output", "json"]
    return [*base, *given]
