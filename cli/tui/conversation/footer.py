"""Footer of the interactive session: mode, approval, sandbox, model, and fill level of the context window."""

from __future__ import annotations

from agent.turn.runtime import Runtime
from sandbox.sanitize import sanitize_text


def format_footer(runtime: Runtime, *, plans: bool) -> str:
    """Return the footer as one line. plans: plan mode is on"""
    parts = [
        "plan" if plans else str(runtime.policy.mode),
        str(runtime.policy.approval),
        runtime.workspace.sandbox.name,
        runtime.model.name,
        *list_context_share(runtime),
    ]
    return sanitize_text(" · ".join(parts))


def list_context_share(runtime: Runtime) -> list[str]:
    """Return the share of the window that the history fills, [] for none; above 100 % it is compacted."""
    window = runtime.model.window
    share = runtime.projection.tokens * 100 // window if window else 0
    if share > 100:
        return ["context full, shortened next"]
    return [f"context {share} %"] if share else []
