"""What becomes of a plan that was made in plan mode: the client's user lets it be carried out, or plans on."""

from __future__ import annotations

from acp.schema import PermissionOption, RequestPermissionRequest, ToolCallUpdate

from agent.turn.runtime import Runtime
from cli.protocols.acp.asking.permissions import NO, ONCE, request_permission
from cli.protocols.acp.content.tool_calls import format_text
from cli.protocols.acp.editor_client import EditorClient
from cli.tui.conversation.plan_mode import CARRY_OUT, list_open_items

OPTIONS = (
    PermissionOption(option_id=ONCE, name="Carry it out", kind="allow_once"),
    PermissionOption(option_id=NO, name="Keep planning", kind="reject_once"),
)


async def ask_about_plan(client: EditorClient, runtime: Runtime) -> str:
    """Ask whether the plan is to be carried out; return the prompt for it, "" if not."""
    items = list_open_items(runtime)
    listed = "\n".join(f"{number}. {each}" for number, each in enumerate(items, 1))
    request = RequestPermissionRequest(
        session_id=runtime.session.id,
        options=list(OPTIONS),
        tool_call=ToolCallUpdate(
            tool_call_id=f"plan-{runtime.session.replayed.count_marked('prompt')}",
            title="Carry out this plan?",
            kind="switch_mode",
            status="pending",
            content=format_text(listed) or None,
        ),
    )
    if await request_permission(client, request) != ONCE:
        return ""
    return f"{CARRY_OUT}{listed}" if items else "Carry out the plan that you have just given."
