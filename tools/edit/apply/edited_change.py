"""The texts of a change that is shown to a person, who may edit it before it is applied."""

from __future__ import annotations

from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from tools.core.action import ToolFailure
from tools.core.text import format_unified_diff
from tools.edit.apply.edit_plan import PlanRefused
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import MalformedEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTexts:
    """The text of a file before and after a change."""

    path: str
    old: str
    new: str

    def format_diff(self) -> str:
        """Return the change as a unified diff; "" if there is none."""
        return format_unified_diff(self.path, self.old, self.new)


def read_change_texts(diff: str, files: Tree) -> ChangeTexts | None:
    """Return the texts of a shown change; None unless it changes the text of just one file, which stays where it is."""
    from tools.edit.formats import parse_edits

    try:
        planned = plan_changes(files, parse_edits(diff), known=lambda path: True)
    except (PlanRefused, MalformedEdit, ToolFailure):
        return None
    if len(planned) != 1:
        return None
    [only] = planned
    if only.source or only.to or only.after is None or only.mode is not None:
        return None
    return ChangeTexts(path=only.path, old=only.old_text, new=only.new_text)
