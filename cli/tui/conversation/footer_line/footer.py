"""Footer of the interactive session: what it knows (`FooterFacts`), its parts, and how they fit into a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.events import End
from agent.turn.runtime import Runtime
from cli.output.style.terminal import measure_columns, truncate_text
from cli.tui.frontend import Styled
from sandbox.lazy_dataclass import dataclass

BETWEEN = " · "

WARNED = 80
"""Per cent of the context window from which on its share stands out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterFacts:
    """What a footer can show, each safe to show; "" for what there is not.

    access: mode and approval, if they are not the default; danger: what confines no command
    context: share of the model's window that the next request fills, in per cent; above 100 it is compacted
    cost: of the calls since the conversation was opened
    hint: the key that matters now
    """

    model: str
    access: str = ""
    danger: str = ""
    branch: str = ""
    context: int = 0
    cost: str = ""
    hint: str = ""


def format_footer(facts: FooterFacts, columns: int) -> Styled:
    """Return the footer in at most `columns` columns: the parts at the left, the hint at the right."""
    for shorten in _SHORTER:
        if _measure(facts) <= columns:
            break
        facts = shorten(facts)
    parts = build_parts(facts)
    line: list[tuple[str, str]] = []
    for style, text in parts:
        line += [*([("class:dim", BETWEEN)] if line else []), (style, text)]
    taken = sum(measure_columns(text) for _, text in line)
    if taken > columns:
        return [("class:dim", truncate_text("".join(text for _, text in line), columns))]
    if facts.hint:
        gap = columns - taken - measure_columns(facts.hint)
        line.append(("class:dim", f"{' ' * gap}{facts.hint}"))
    return line


def build_parts(facts: FooterFacts) -> Styled:
    """Return the parts at the left in their order, without empty ones, each as (style class, text)."""
    context = describe_context(facts.context)
    parts = [
        ("class:mode", facts.access),
        ("class:alarm", facts.danger),
        ("class:dim", facts.model),
        ("class:dim", facts.branch),
        ("class:alarm" if facts.context >= WARNED else "class:dim", context),
        ("class:dim", facts.cost),
    ]
    return [(style, text) for style, text in parts if text]


def describe_context(share: int) -> str:
    """Return the share of the window that the history fills in words, "" if it is too small to say."""
    if share > 100:
        return "context full, shortened next"
    return f"context {share} %" if share else ""


def list_end_facts(runtime: Runtime, end: End) -> list[str]:
    """Return what the summary of a turn adds: changes that nobody commits unasked, the share of the window used."""
    can_commit = runtime.toolbox.get("git_commit") is not None and runtime.settings.commit_when == "never"
    waits = can_commit and end.files and not (end.commit or end.not_committed)
    facts = ["not committed (/commit)" if waits else "", describe_context(measure_context(runtime))]
    return list(filter(None, facts))


def measure_context(runtime: Runtime) -> int:
    """Return the share of the window that the next request fills, in per cent; 0 before the first prompt."""
    compressor = runtime.loop.compressor
    window = compressor.find_window()
    return compressor.total_tokens * 100 // window if window and runtime.projection.tokens else 0


def _measure(facts: FooterFacts) -> int:
    parts = build_parts(facts)
    left = sum(measure_columns(text) for _, text in parts) + len(BETWEEN) * max(len(parts) - 1, 0)
    return left + (measure_columns(facts.hint) + 2 if facts.hint else 0)


def _drop_provider(facts: FooterFacts) -> FooterFacts:
    return replace(facts, model=facts.model.rpartition("/")[2] or facts.model)


def _shorten_branch(facts: FooterFacts) -> FooterFacts:
    return replace(facts, branch=truncate_text(facts.branch, _SHORT_BRANCH))


_SHORT_BRANCH = 14

_SHORTER: Sequence[Callable[[FooterFacts], FooterFacts]] = (
    _drop_provider,
    _shorten_branch,
    lambda facts: replace(facts, cost=""),
    lambda facts: replace(facts, branch=""),
    lambda facts: replace(facts, model=truncate_text(facts.model, _SHORT_BRANCH)),
    lambda facts: replace(facts, context=facts.context if facts.context >= WARNED else 0),
    lambda facts: replace(facts, hint=""),
)
"""What is shortened or left out in a narrow window, one after the other until the line fits."""
