"""Switch the mode or the approval of a running session, only at the user's request; both are logged.

`read_current_settings` returns its settings as they are after all switches.
"""

from __future__ import annotations

from dataclasses import replace

from agent.events import Signal
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode


def read_current_settings(runtime: Runtime) -> SessionSettings:
    """Return the settings that apply now, for a session like this one: mode, approval, rules and model may have changed
    since it began."""
    policy, settings = runtime.policy, runtime.settings
    access = replace(settings.access, mode=policy.mode, approval=policy.approval, rules=policy.rules)
    rules = (*settings.rules, *runtime.bounds.rules)
    return replace(settings, model=runtime.model.name, access=access, rules=rules)


def switch_approval(runtime: Runtime, approval: Approval) -> None:
    """Use this approval from now on. Only at the user's request; logged."""
    runtime.policy.approval = approval
    runtime.session.append(Signal(name="approval", detail=f"approval: {approval}"))


async def switch_mode(runtime: Runtime, mode: Mode, *, plans: bool = False) -> None:
    """Switch to this mode from the next action on. Only at the user's request; logged.

    plans: what the next turns make are plans, which nothing has to verify

    Raises UserError, and then nothing has changed. Tools that the mode adds are added. None is removed: the
    policy denies those that the mode forbids, and requests keep their prefix, which providers cache.
    Background processes started under the previous mode are terminated.
    """
    if runtime.environment is None:
        raise UserError(Fault.USAGE, "the mode of this session cannot be changed", "Start another one.")
    found = runtime.environment.build_capabilities(mode)
    gateway = runtime.loop.gateway
    if runtime.workspace.kernel is not None:
        await runtime.workspace.kernel.close()
    if runtime.workspace.servers is not None:
        await runtime.workspace.servers.close()
    if runtime.mcp is not None:
        await runtime.mcp.close()
    await runtime.workspace.background.close()
    runtime.policy.mode = runtime.workspace.mode = mode
    runtime.workspace.facts["plans"] = plans
    runtime.workspace.sandbox = found.sandbox
    if runtime.snapshots is None:
        runtime.snapshots = gateway.snapshots = found.snapshots
    runtime.toolbox.include(found.toolbox)
    if runtime.toolbox.get("git_commit") is not None:
        runtime.committer.when = runtime.settings.commit_when
    runtime.session.append(Signal(name="mode", detail=f"mode: {mode}"))
