"""From a text (an issue, a stack trace) to the files and functions that it speaks of, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
        """A few lines for a person or a model."""
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
        """The same for a program."""
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
    """What a text speaks of. The same text and the same files give the same answer."""
    from tools.code.localization.reranking import rank_results
    from tools.code.localization.text_evidence import extract_evidence

    found, inner = rank_results(index, extract_evidence(text), files, functions)
    return LocalizationResult(files=found, functions=inner)


_NOWHERE: Mapping[str, float] = {}

SEEDS = 8
"""Files that a text speaks of, from which a map's ranks start."""


def build_map_answer(index: Index, text: str, tokens: int, near: Mapping[str, float] = _NOWHERE) -> Answer:
    """A map of the code around what a text speaks of, or of the whole if the text is empty or speaks of nothing.

    near: files that are at hand, with weights beside that of the text's first file, which is 1; they count only
        where the text speaks of something
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
