"""Candidates of the search in other languages: each change of a rule once, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packages.offline.repair.languages.call_reach import SuspectFunction
from packages.offline.repair.languages.function_scope import Change, Rule, Scope
from packages.offline.repair.languages.parsed_source import ParsedFile
from packages.offline.repair.languages.tree_templates import RULES
from packages.offline.repair.localize.repair_hint import NO_HINT, Hint
from sandbox.lazy_dataclass import dataclass
from tools.code.syntax.tree_syntax import find_tree_problems

# As in the Python engine (see candidate_generation.py): a rule with many candidates in a line spreads its
# probability.
SPREAD = 0.75
# A statement that a stack frame names is more suspicious than its neighbours.
IN_TRACE = 1.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One untried change of one file. rank: its position in the order of trial"""

    rank: int
    doubt: SuspectFunction
    rule: Rule
    change: Change
    priority: float
    after: str

    @property
    def size(self) -> int:
        """Number of bytes removed and added."""
        return self.change.end - self.change.start + len(self.change.text)


def generate_candidates(doubts: Sequence[SuspectFunction], hint: Hint = NO_HINT) -> Iterator[Candidate]:
    """Yield every change once, by falling suspiciousness × prior ÷ similar ones in the line; no syntax errors."""
    found: list[tuple[float, int, SuspectFunction, Rule, Change]] = []
    for doubt in doubts:
        scope = Scope(doubt.code, doubt.function)
        for rule in RULES:
            changes = list(rule.changes(scope))
            alike: dict[int, int] = {}
            for change in changes:
                alike[change.line] = alike.get(change.line, 0) + 1
            for change in changes:
                score = doubt.score * (IN_TRACE if change.line in doubt.lines else 1.0)
                priority = score * rule.prior * hint.weigh_template(rule.name) / alike[change.line] ** SPREAD
                found.append((priority, len(found), doubt, rule, change))
    seen: set[tuple[str, str]] = set()
    number = 0
    for priority, _, doubt, rule, change in sorted(found, key=lambda each: (-each[0], each[1])):
        after = _apply_change(doubt.code, change)
        key = doubt.code.path, "".join(after.split())
        if after == doubt.code.text or key in seen:
            continue
        seen.add(key)
        if find_tree_problems([doubt.code.language], doubt.code.text, after):
            continue
        yield Candidate(rank=number, doubt=doubt, rule=rule, change=change, priority=priority, after=after)
        number += 1


def _apply_change(code: ParsedFile, change: Change) -> str:
    source = code.source
    return (source[: change.start] + change.text.encode() + source[change.end :]).decode("utf-8", "replace")
