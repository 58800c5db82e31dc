"""Ranking of functions, methods and classes in the likeliest files."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sandbox.lazy_dataclass import dataclass
from tools.code.index.code_index import Index
from tools.code.index.parsing.file_facts import Symbol
from tools.code.index.parsing.identifier_words import count_words, split_identifier
from tools.code.localization.file_ranking import RankedFile
from tools.code.localization.text_evidence import Evidence, build_code_pattern

FILES = 12
"""Files that are searched."""

FILE, FIRST = 1.1, 0.2
"""Weights of the file's score relative to the best file's, and of its rank: FIRST / rank."""

WORDS, DENSE, SAID = 0.4, 1.6, 1.0
"""Weights of the text's words in the function, of the same by BM25, and of those in its qualified name."""

USUAL = 120
"""Words of a function above which its length reduces the score."""

TITLED, NAME, OWNER, TRACED, DOTTED = 0.35, 0.15, 0.1, 0.3, 0.1
"""Added if the first line names the function, the text does, names its class, a frame is in it, or `Class.it`."""

CODED = 0.3
"""Added if it contains a message's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFunction:
    """A function, method or class of a file, with its score."""

    path: str
    symbol: Symbol
    score: float


def rank_functions(
    index: Index, evidence: Evidence, files: Sequence[RankedFile], limit: int = 20
) -> list[RankedFunction]:
    """Return the likeliest functions for a text, best first."""
    if not files:
        return []
    rarity, codes = _compute_rarity(index, evidence), build_code_pattern(evidence.codes)
    found: list[RankedFunction] = []
    outlines = index.outlines([each.path for each in files[:FILES]])
    for place, each in enumerate(files[:FILES], 1):
        symbols = _select_functions(outlines[each.path].symbols) if each.path in outlines else []
        lines = index.read_source(each.path).split("\n")
        share = each.score / files[0].score if files[0].score else 0.0
        for symbol in symbols:
            inside = _score_body(rarity, lines, symbol) + _score_mentions(evidence, each.path, symbol)
            if evidence.codes and codes.search("\n".join(lines[symbol.first - 1 : symbol.last])):
                inside += CODED
            score = inside + FILE * share + FIRST / place
            found.append(RankedFunction(path=each.path, symbol=symbol, score=score))
    return sorted(found, key=lambda one: (-one.score, one.path, one.symbol.first))[:limit]


def _select_functions(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return functions and methods; nested ones belong to the outer one."""
    outer: list[Symbol] = []
    for each in symbols:
        if each.kind in ("function", "method", "macro") and not (
            outer and outer[-1].first <= each.first and each.last <= outer[-1].last
        ):
            outer.append(each)
    return outer


def _compute_rarity(index: Index, evidence: Evidence) -> dict[str, float]:
    total = len(index.code_by_text) + 1
    return {
        word: weight * math.log(1 + total / (1 + len(there)))
        for word, weight in evidence.words.items()
        if (there := index.find_word(word))
    }


def _score_body(
    rarity: dict[str, float],
    lines: Sequence[str],
    symbol: Symbol,
) -> float:
    """Score the words of a function's lines, relative to all words of the text."""
    words = count_words("\n".join(lines[symbol.first - 1 : symbol.last]))
    length = words.total()
    own, qualified = set(split_identifier(symbol.short)), set(split_identifier(symbol.name))
    value = 0.0
    for word, weight in rarity.items():
        if often := words[word] + (3 if word in own else 0):
            value += WORDS * weight * often / (often + 0.2 + length / 300)
            value += DENSE * weight * 2.2 * often / (often + 1.2 * (0.3 + 0.7 * length / USUAL))
        if word in qualified:
            value += SAID * weight
    return value / (sum(rarity.values()) or 1.0)


def _score_mentions(evidence: Evidence, path: str, symbol: Symbol) -> float:
    value = 0.0
    owner, _, short = symbol.name.rpartition(".")
    if (weight := evidence.names.get(short, 0.0)) >= 0.1 and len(short) > 2:
        value += NAME * min(weight, 1.5)
    if short.lower() in evidence.title:
        value += TITLED
    if owner and owner.rpartition(".")[2] in evidence.names:
        value += OWNER * min(1.0, evidence.names[owner.rpartition(".")[2]])
    if owner and any(
        f".{dotted}".endswith(f".{owner.rpartition('.')[2]}.{short}") for dotted in evidence.dotted
    ):
        value += DOTTED
    for frame in evidence.frames:
        if frame.function == short and (frame.path.endswith(path) or path.endswith(frame.path.lstrip("./"))):
            value += TRACED * max(0.3, 1.0 - 0.2 * frame.distance)
            break
    for written, line in evidence.paths.items():
        if line and path.endswith(written.lstrip("./")) and symbol.first <= line <= symbol.last:
            value += TRACED
    return value
