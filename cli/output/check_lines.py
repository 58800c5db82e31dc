"""Results of the checks that a user can switch on, as lines and as fields of the JSON result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.events import Event, RequirementsEvent
from agent.session.log import Session
from agent.verify.requirements.requirement import walk_tree
from cli.output.style.paint import MARKS, Style

_STATES: Mapping[str, tuple[str, Style]] = {
    "met": ("good", "green"),
    "not met": ("bad", "red"),
    "not checked": ("warn", "yellow"),
}


def collect_check_fields(session: Session, fields: dict[str, Any]) -> None:
    """Put what the checks of the coming turn find into `fields`, for the JSON result."""

    def observe_event(event: Event) -> None:
        if isinstance(event, RequirementsEvent):
            fields["requirements"] = event.items

    session.subscribe(observe_event)


def format_requirements(
    stage: str, items: Sequence[Mapping[str, Any]], *, unicode: bool
) -> list[tuple[str, Style]]:
    """Return the requirements as (line, style), indented as a tree, with state and evidence once they are checked."""
    from agent.verify.requirements.requirements_verifier import restore_requirement

    by_id = {str(each.get("id")): each for each in items}
    rows: list[tuple[str, Style]] = []
    counts = dict.fromkeys(_STATES, 0)
    for depth, each in walk_tree([restore_requirement(item) for item in items]):
        item = by_id[each.id]
        state = str(item.get("state", "")) if stage == "checked" else ""
        name, style = _STATES.get(state, ("open", "dim"))
        if item.get("evidence") == "opinion" and state == "not met":
            name, style = "warn", "yellow"
        if each.kind != "group" and state in counts:
            counts[state] += 1
        indent = "  " * depth
        sign = MARKS[name][0 if unicode else 1]
        basis = f"[{item.get('evidence') or 'not checked'}] " if state and each.kind != "group" else ""
        rows.append((f"  {indent}{sign} {each.id} {basis}{each.text}", style))
        if state in ("not met", "not checked") and (detail := str(item.get("detail") or "")):
            rows.append((f"  {indent}    {detail}", "dim"))
    if stage == "checked":
        told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        return [(f"requirements: {told}", "dim"), *rows]
    return [("requirements", "dim"), *rows]
