"""Footer by the user's template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.output.style.terminal import truncate_text
from cli.settings.footer_template import format_template
from cli.tui.conversation.footer_line.footer import FooterFacts, describe_context
from cli.tui.frontend import Styled
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


def format_own_footer(chat: Conversation, template: str, facts: FooterFacts, columns: int) -> Styled:
    """Return the footer as one line of at most `columns` columns, safe to show."""
    runtime = chat.runtime
    fields = {
        "model": lambda: facts.model,
        "mode": lambda: "plan" if chat.planning.on else str(runtime.policy.mode),
        "approval": lambda: str(runtime.policy.approval),
        "sandbox": lambda: runtime.workspace.sandbox.name,
        "branch": lambda: facts.branch,
        "context": lambda: describe_context(facts.context),
        "cost": lambda: facts.cost,
        "session": lambda: runtime.session.id,
        "folder": lambda: Path(runtime.workspace.root).name,
    }
    return [("class:dim", truncate_text(sanitize_text(format_template(template, fields)), columns))]
