"""A model's part in the check of a task: a read-only child session looks for what code cannot see."""

from __future__ import annotations

from collections.abc import Sequence

from agent.verify.reader import Reader, format_list, get_text_field
from packages.search.spec_check.finding import FindingKind, SpecFinding
from sandbox.lazy_dataclass import dataclass

MOST = 6
"""Findings of a model: more would hide those of code."""


@dataclass(slots=True, kw_only=True)
class ReaderCritic:
    """Asks a read-only child session. Its findings are opinions, without a correction."""

    reader: Reader

    async def criticise(self, prompt: str, rules: str, known: Sequence[SpecFinding]) -> list[SpecFinding]:
        """Return more findings about a task."""
        parts = {"rules": rules or "(none)", "known-findings": format_list([each.text for each in known])}
        kinds: tuple[FindingKind, ...] = ("contradiction", "impossible", "loophole")
        found = []
        for each in (await self.reader.ask("spec_check", prompt, parts))[:MOST]:
            if text := get_text_field(each, "text"):
                kind: FindingKind = next((kind for kind in kinds if kind == each.get("kind")), "loophole")
                place = get_text_field(each, "place")
                found.append(
                    SpecFinding(kind=kind, text=text, places=(place,) if place else (), evidence="opinion")
                )
        return found
