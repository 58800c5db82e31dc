"""Outcome, cost and time of sessions by kind of task, model and week, as a web page that needs nothing besides itself.

It has no script: bars are drawn here, each chart has its figures in a table that opens by keyboard, and the policy
(CSP) allows the page's own style by its hash and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from cli.output.amounts import format_money
from packages.trace.figure_plots import MOST_BARS
from packages.trace.page.page_file import write_new_page
from packages.trace.session_reports import KEYS
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import quote_name, sanitize_text
from sandbox.secrets.redaction import redact

if TYPE_CHECKING:
    from agent.session.session_index import SessionSummary

WIDTH, LABEL, ROOM, ROW = 440, 160, 110, 24
"""Units of a drawing: its width, that of the names and of the values, and the height of a bar with the space below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Figures of sessions of one kind. minutes: of the median session; cost: of all, None if none is known"""

    name: str
    sessions: int
    done: int
    failed: int
    steps: float
    minutes: float
    cost: float | None


def write_figures_page(
    summaries: Sequence[SessionSummary], behaviors: Sequence[Mapping[str, Any]], path: str
) -> int:
    """Write the page to a new file and print its name. Raises UserError."""
    write_new_page(Path(path), render_figures(summaries, behaviors), "Name a new file: --page FILE")
    print(quote_name(path))
    return 0


def render_figures(summaries: Sequence[SessionSummary], behaviors: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the page. behaviors: as `list_behaviors` returns them"""
    style = (Path(__file__).parent / "figures_page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    own = [each for each in summaries if not each.parent]
    sections = [_render_section(key, title, group_sessions(own, key)) for key, title in SECTIONS]
    links = [f'<a href="#{key}">{title}</a>' for key, title in SECTIONS]
    if behaviors:
        sections.append(_render_behaviors(behaviors))
        links.append('<a href="#behaviors">what people noted</a>')
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}';"
        " base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">\n'
        f"<title>Sessions</title><style>{style}</style></head><body>\n"
        f"<header><h1>{len(own)} sessions</h1><p>made {made}; sessions that others started are in theirs</p>"
        f'<nav aria-label="Parts">{" ".join(links)}</nav></header>\n<main>{"".join(sections)}</main></body></html>\n'
    )
    return page.encode("utf-8", "replace")


SECTIONS = (("task", "by kind of task"), ("model", "by model"), ("week", "by week"))


def group_sessions(summaries: Sequence[SessionSummary], key: str) -> list[Group]:
    """Return the groups by a key of `KEYS`: the newest weeks, else those with most sessions first."""
    groups: dict[str, list[SessionSummary]] = {}
    for each in summaries:
        groups.setdefault(KEYS[key](each), []).append(each)
    names = sorted(groups) if key == "week" else sorted(groups, key=lambda name: (-len(groups[name]), name))
    return [
        _sum_up(name, groups[name]) for name in (names[-MOST_BARS:] if key == "week" else names[:MOST_BARS])
    ]


def _sum_up(name: str, group: Sequence[SessionSummary]) -> Group:
    costs = [each.cost for each in group if each.cost is not None]
    return Group(
        name=name or "(none)",
        sessions=len(group),
        done=sum(each.outcome in ("done", "nothing-to-do") for each in group),
        failed=sum(each.outcome not in ("done", "nothing-to-do", "") for each in group),
        steps=median(each.steps for each in group),
        minutes=round(median(each.updated - each.created for each in group) / 60, 1),
        cost=sum(costs) if costs else None,
    )


def _render_section(key: str, title: str, groups: Sequence[Group]) -> str:
    charts = [
        _draw_chart(
            "Outcome",
            f"sessions {title}",
            [
                (
                    each.name,
                    (
                        ("done", each.done),
                        ("failed", each.failed),
                        ("open", each.sessions - each.done - each.failed),
                    ),
                    f"{each.done} of {each.sessions} done",
                )
                for each in groups
            ],
        )
    ]
    if any(each.cost for each in groups):
        costs = [
            (each.name, (("cost", each.cost or 0.0),), "" if each.cost is None else format_money(each.cost))
            for each in groups
        ]
        charts.append(_draw_chart("Cost", f"dollars {title}", costs))
    if any(each.minutes for each in groups):
        times = [(each.name, (("time", each.minutes),), f"{each.minutes:g} min") for each in groups]
        charts.append(_draw_chart("Time", f"minutes of the median session {title}", times))
    return f'<section id="{key}"><h2>{title}</h2>{"".join(charts)}{_render_table(title, groups)}</section>'


Bar = tuple[str, Sequence[tuple[str, float]], str]
"""Name, parts as class and value, and text of a bar."""


def _draw_chart(title: str, subject: str, bars: Sequence[Bar]) -> str:
    most = max((sum(value for _, value in parts) for _, parts, _ in bars), default=0) or 1
    told = "; ".join(f"{name}: {text}" for name, _, text in bars)
    height = ROW * len(bars)
    drawing = "".join(_draw_bar(bar, place * ROW, most) for place, bar in enumerate(bars))
    keys = ("done", "failed", "open") if title == "Outcome" else ()
    legend = " ".join(
        f'<span class="key {each}">{"not ended" if each == "open" else each}</span>' for each in keys
    )
    return (
        f"<figure><figcaption><b>{title}</b>, {subject} {legend}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
        f' aria-label="{_escape(f"{title}, {subject}: {told}")}">{drawing}</svg></figure>'
    )


def _draw_bar(bar: Bar, top: int, most: float) -> str:
    name, parts, text = bar
    scale = (WIDTH - LABEL - ROOM) / most
    left, drawn = float(LABEL), []
    for kind, value in parts:
        if value > 0:
            drawn.append(
                f'<rect class="{kind}" x="{left:.1f}" y="{top + 3}" width="{max(value * scale, 1):.1f}"'
                f' height="{ROW - 6}"><title>{_escape(f"{name}: {text}")}</title></rect>'
            )
            left += value * scale
    label = name if len(name) <= 24 else f"…{name[-23:]}"
    return (
        f'<text class="name" x="{LABEL - 8}" y="{top + 16}">{_escape(label)}</text>{"".join(drawn)}'
        f'<text x="{left + 6:.1f}" y="{top + 16}">{_escape(text)}</text>'
    )


def _render_table(title: str, groups: Sequence[Group]) -> str:
    heads = ("", "sessions", "done", "failed", "median steps", "median minutes", "cost")
    rows = "".join(
        f'<tr><th scope="row">{_escape(each.name)}</th>'
        + "".join(
            f"<td>{_escape(cell)}</td>"
            for cell in (
                *(
                    str(each.sessions),
                    str(each.done),
                    str(each.failed),
                    f"{each.steps:g}",
                    f"{each.minutes:g}",
                ),
                "" if each.cost is None else format_money(each.cost),
            )
        )
        + "</tr>"
        for each in groups
    )
    head = "".join(f'<th scope="col">{each}</th>' if each else "<td></td>" for each in heads)
    return (
        f"<details><summary>Figures {title}</summary><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
        "</table></details>"
    )


def _render_behaviors(behaviors: Sequence[Mapping[str, Any]]) -> str:
    bars = [
        (
            str(each["behavior"]),
            (("done", each["good"]), ("failed", each["bad"])),
            f"{each['good']} good, {each['bad']} bad",
        )
        for each in behaviors[:MOST_BARS]
    ]
    chart = _draw_chart("Notes", "good and bad, by behavior", bars)
    examples = "".join(_list_examples(behaviors))
    return f'<section id="behaviors"><h2>what people noted</h2>{chart}<dl>{examples}</dl></section>'


def _list_examples(behaviors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in behaviors[:MOST_BARS]:
        yield f"<dt>{_escape(str(each['behavior']))}</dt>"
        for kind, text in each["examples"].items():
            yield f"<dd>{kind}: {_escape(str(text))}</dd>"


def _escape(text: str) -> str:
    return escape(sanitize_text(redact(text)).replace("\n", " "))
