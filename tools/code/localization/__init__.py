"""Fault localization without a model: from a text (an issue, a stack trace) to files and functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.index.query_answers import Answer
    from tools.code.localization.file_ranking import RankedFile
    from tools.code.localization.function_ranking import RankedFunction

__all__ = ["LocalizationResult", "build_map_answer", "localize_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationResult:
    """Files and functions, each the likeliest first."""

    files: Sequence[RankedFile]
    functions: Sequence[RankedFunction]

    @property
    def text(self) -> str:
        """A few lines for a user or a model."""
        if not self.files:
            return "nothing in the code resembles the text"
        lines = ["files, the likeliest first"]
        for each in self.files:
            why = f"  ({'; '.join(each.reasons[:3])})" if each.reasons else ""
            lines.append(f"  {each.score:.2f}  {each.path}{why}")
        if self.functions:
            lines.append("functions")
            lines += [
                f"  {each.score:.2f}  {each.path}:{each.symbol.line}: {each.symbol.name}"
                for each in self.functions
            ]
        return "\n".join(lines)

    @property
    def data(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "files": [
                {"path": each.path, "score": round(each.score, 4), "reasons": list(each.reasons)}
                for each in self.files
            ],
            "functions": [
                {
                    "path": each.path,
                    "name": each.symbol.name,
                    "first": each.symbol.first,
                    "last": each.symbol.last,
                    "score": round(each.score, 4),
                }
                for each in self.functions
            ],
        }


def localize_text(index: Index, text: str, *, files: int = 10, functions: int = 10) -> LocalizationResult:
    """Rank files and functions for a text. Deterministic for the same text and files."""
    from tools.code.localization.reranking import rank_results
    from tools.code.localization.text_evidence import extract_evidence

    found, inner = rank_results(index, extract_evidence(text), files, functions)
    return LocalizationResult(files=found, functions=inner)


_NOWHERE: Mapping[str, float] = {}

SEEDS = 8
"""Files localized from the text, from which a map's ranks start."""


def build_map_answer(index: Index, text: str, tokens: int, near: Mapping[str, float] = _NOWHERE) -> Answer:
    """Build a map of the code around the localized files, or of the whole workspace if there are none.

    near: files in use, with weights relative to the first localized file's, which is 1; they count only if the
        text localizes a file
    """
    from tools.code.index.query_answers import Answer
    from tools.code.index.repository_map import build_map

    seeds = (
        {each.path: each.score for each in localize_text(index, text, files=SEEDS, functions=0).files}
        if text
        else {}
    )
    if most := max(seeds.values(), default=0.0):
        for path, weight in near.items():
            if path in index:
                seeds[path] = seeds.get(path, 0.0) + weight * most
    found = build_map(index, seeds, tokens)
    return Answer(
        text="\n".join(each.text for each in found) or "no code is indexed here",
        data=[each.data for each in found],
        empty=not found,
    )
