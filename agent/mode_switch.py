"""Switch the mode or the approval of a running session, only ever at the user's word; both are logged."""

from __future__ import annotations

from agent.capabilities import build_tool_specs
from agent.events import Signal
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode


def switch_approval(runtime: Runtime, approval: Approval) -> None:
    """From now on this one answers when the policy asks. Only ever at the user's word; logged."""
    runtime.policy.approval = approval
    runtime.session.append(Signal(name="approval", detail=f"approval: {approval}"))


async def switch_mode(runtime: Runtime, mode: Mode) -> None:
    """Reach as far as this mode from the next action on. Only ever at the user's word; logged. Raises UserError, and
    then nothing has changed.

    Tools are added where the mode has more of them. None is taken away: what the mode forbids the policy denies,
    and the requests keep their beginning, which providers' caches know. What still runs was started within the
    bounds of the mode before, and is ended.
    """
    if runtime.place is None:
        raise UserError(Fault.USAGE, "the mode of this session cannot be changed", "Start another one.")
    found = runtime.place.build_capabilities(mode)
    tools = runtime.toolbox.merge(found.toolbox)
    gateway = runtime.loop.gateway
    if runtime.workspace.kernel is not None:
        await runtime.workspace.kernel.close()
    if runtime.workspace.servers is not None:
        await runtime.workspace.servers.close()
    if runtime.mcp is not None:
        await runtime.mcp.close()
    await runtime.workspace.background.close()
    runtime.policy.mode = runtime.workspace.mode = mode
    runtime.workspace.sandbox = found.sandbox
    if runtime.snapshots is None:
        runtime.snapshots = gateway.snapshots = found.snapshots
    if len(list(tools)) > len(list(runtime.toolbox)):
        runtime.toolbox = gateway.toolbox = tools
        runtime.projection.tools = tuple(build_tool_specs(tools))
    if tools.get("git_commit") is not None:
        runtime.committer.when = runtime.commit
    runtime.session.append(Signal(name="mode", detail=f"mode: {mode}"))
