"""Results of the checks that a user can switch on, as lines and as fields of the JSON result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.events import Event, RequirementsEvent, RubricEvent, SpecCheckEvent
from agent.verify.requirement import restore_requirement, walk_tree
from cli.output.diff.diff_layout import DiffLayout
from cli.output.style.paint import Paint, Style, get_mark
from cli.output.style.terminal import wrap_words
from sandbox.sanitize import sanitize_text

_SCORES: Mapping[float, tuple[str, Style]] = {
    1.0: ("good", "green"),
    0.5: ("warn", "yellow"),
    0.0: ("bad", "yellow"),
}

DIFF_LINES = 30
"""Lines of one correction: more is to be read in an editor."""

_STATES: Mapping[str, tuple[str, Style]] = {
    "met": ("good", "green"),
    "not met": ("bad", "red"),
    "not checked": ("warn", "yellow"),
}


def collect_check_field(event: Event, fields: dict[str, Any]) -> None:
    """Put what a check of the turn has found into `fields`, for the JSON result."""
    if isinstance(event, RequirementsEvent):
        unchecked = {"state": "not checked", "evidence": "", "detail": ""}
        fields["requirements"] = [{**unchecked, **each} for each in event.items]
    elif isinstance(event, RubricEvent):
        fields["rubric"] = {"score": event.score, "items": event.items}
    elif isinstance(event, SpecCheckEvent):
        fields["spec_check"] = event.findings


def format_findings(
    findings: Sequence[Mapping[str, Any]], paint: Paint, *, width: int, unicode: bool, colour: bool
) -> Iterator[str]:
    """Yield the findings about a task as painted lines, each with its proposed correction."""
    from cli.output.diff.diff_view import format_diff

    for each in findings:
        is_notice = each.get("kind") == "loophole" or each.get("evidence") == "opinion"
        style: Style = "yellow" if is_notice else "red"
        told = " (opinion)" if each.get("evidence") == "opinion" else ""
        text = " ".join(sanitize_text(f"{each.get('kind')}{told}: {each.get('text')}").split())
        lines = wrap_words(f"{get_mark('warn', unicode=unicode)} task: {text}", width).split("\n")
        yield from (paint(line if not number else f"  {line}", style) for number, line in enumerate(lines))
        if diff := str(each.get("diff") or ""):
            files = ", ".join(line[6:] for line in diff.splitlines() if line.startswith("+++ b/"))
            yield paint(sanitize_text(f"  proposed correction of {files}:"), "dim")
            layout = DiffLayout(
                colour=colour, width=width, indent=2, unicode=unicode, rest="the session's log has all"
            )
            yield from format_diff(diff, layout, limit=DIFF_LINES)


def format_rubric(
    score: float | None, items: Sequence[Mapping[str, Any]], *, unicode: bool
) -> list[tuple[str, Style]]:
    """Return a rubric as (line, style): one for each criterion, its reason below it where it is not met."""
    if score is None:
        return [(f"rubric: {len(items)} criteria; scored at the end, as an opinion", "dim")]
    rows: list[tuple[str, Style]] = [(f"rubric: {score:.2f} of 1 (opinion)", "dim")]
    for each in items:
        value = each.get("score")
        name, style = (
            _SCORES.get(value, ("quiet", "dim")) if isinstance(value, int | float) else ("quiet", "dim")
        )
        rows.append((f"  {get_mark(name, unicode=unicode)} {each.get('id')} {each.get('text')}", style))
        if value != 1 and each.get("reason"):
            rows.append((f"      {each['reason']}", "dim"))
    return rows


def format_requirements(
    stage: str, items: Sequence[Mapping[str, Any]], *, unicode: bool
) -> list[tuple[str, Style]]:
    """Return the requirements as (line, style), indented as a tree, with state and evidence once they are checked."""
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
        sign = get_mark(name, unicode=unicode)
        basis = f"[{item.get('evidence') or 'not checked'}] " if state and each.kind != "group" else ""
        rows.append((f"  {indent}{sign} {each.id} {basis}{each.text}", style))
        if state in ("not met", "not checked") and (detail := str(item.get("detail") or "")):
            rows.append((f"  {indent}    {detail}", "dim"))
    if stage == "checked":
        told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        return [(f"requirements: {told}", "dim"), *rows]
    return [("requirements", "dim"), *rows]
