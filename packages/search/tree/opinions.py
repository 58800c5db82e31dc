"""Opinions of a judge on failed attempts of a search: a number that orders equal ones, and words (SWE-Search).

They are opinions: what ran decides the value of an attempt, and no number changes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.children.spec import ChildResult
from agent.exit_codes import Exit
from agent.strategy.strategy_turn import StrategyTurn
from agent.verify.verdict import Verdict
from packages.search.reader import Reader, get_text_field
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.untrusted_output import enclose_in_tag

NODE_JUDGE = "attempt judge"
"""Name of its verdicts."""

MOST_WORDS = 600
"""Characters of its advice."""

_SAID = compile_lazily(r"(\d+(?:\.\d+)?) of 10: (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Opinion:
    """value: from 0 to 10; words: advice for the next attempt"""

    value: float
    words: str


async def judge_attempt(turn: StrategyTurn, result: ChildResult, report: Mapping[str, Any]) -> Verdict:
    """Ask the model of the role `judge` about an attempt that failed. report: of its last check"""
    found: list[dict[str, Any]] = []
    if result.exit_code != Exit.DONE and result.patch:
        failures = [
            f"{each.get('id')}: {each.get('detail') or each.get('message')}"
            for each in report.get("failures", ())
        ]
        parts = {
            "tests": "\n".join([result.verification, *failures]),
            "diff": result.patch.decode("utf-8", "replace"),
        }
        found = await Reader(runtime=turn.runtime).ask("node_judge", turn.prompt, parts)
    detail = ""
    for each in found[:1]:
        value = each.get("value")
        if isinstance(value, int | float) and math.isfinite(value):
            detail = f"{min(10.0, max(0.0, value)):g} of 10: {get_text_field(each, 'advice', MOST_WORDS)}"
    return Verdict(outcome="unknown", evidence="opinion", name=NODE_JUDGE, detail=detail)


def read_opinion(verdicts: Sequence[Verdict]) -> Opinion | None:
    """Return the opinion among the verdicts on an attempt, None if there is none."""
    for each in verdicts:
        if each.name == NODE_JUDGE and (said := _SAID.fullmatch(each.detail)):
            return Opinion(float(said[1]), said[2])
    return None


def word_opinion(opinion: Opinion | None) -> str:
    """Return what the next attempt is told of an opinion, "" if there is nothing."""
    if opinion is None or not opinion.words:
        return ""
    told = enclose_in_tag("opinion", opinion.words)
    return (
        f"\n\n{told}\n\nThat is a judge's opinion on the last attempt, and may be wrong; the tests are facts."
    )
