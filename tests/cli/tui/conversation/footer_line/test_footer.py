"""The footer: its parts, and what is left out first in a narrow window."""

from __future__ import annotations

import pytest

from cli.tui.conversation.footer_line.footer import FooterFacts, format_footer

FACTS = FooterFacts(
    model="openai/gpt-5.2", access="plan", branch="main", context=12, cost="$0.0123", hint="⇧⇥ mode"
)


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (80, "plan · openai/gpt-5.2 · main · context 12 % · $0.0123                    ⇧⇥ mode"),
        (55, "plan · gpt-5.2 · main · context 12 % · $0.0123  ⇧⇥ mode"),
        (46, "plan · gpt-5.2 · main · context 12 %   ⇧⇥ mode"),
        (40, "plan · gpt-5.2 · context 12 %   ⇧⇥ mode"),
        (24, "plan · gpt-5.2   ⇧⇥ mode"),
        (12, "plan · gpt-…"),
    ],
)
def test_a_narrow_window_leaves_out_what_matters_less(columns: int, line: str) -> None:
    shown = "".join(text for _, text in format_footer(FACTS, columns))
    assert len(shown) <= columns
    assert shown.split() == line.split()


def test_a_full_window_of_the_model_stands_out() -> None:
    styles = {text: style for style, text in format_footer(FooterFacts(model="m", context=91), 60)}
    assert styles["context 91 %"] == "class:alarm"
    assert styles["m"] == "class:dim"
