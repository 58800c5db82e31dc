"""Reranking of files after the first: by calls from the likeliest functions, and by history for the last place.

The feature sum is good at the first place. After it many files have nearly equal sums, a little of every feature,
so independent evidence helps more. A fault is often one call away from the function that a text describes. And
history is independent of the words of the current code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tools.code.index.code_index import Index
from tools.code.index.parsing.identifier_words import IDENTIFIER
from tools.code.index.symbol_queries import is_test
from tools.code.localization.file_ranking import RankedFile, ScoredFiles, compute_place_factor, score_files
from tools.code.localization.function_ranking import FILES, RankedFunction, rank_functions
from tools.code.localization.text_evidence import Evidence

CALLERS = 3
"""Likeliest functions whose calls count."""

MOST_DEFINERS = 3
"""Above this number of defining files a call is ambiguous."""

SHORTEST = 4
"""Characters of a name that is followed."""

NEAR, FURTHER = 0.2, 0.1
"""The largest addition for being called: up to NEAR_PLACES, and after."""

NEAR_PLACES = 5

LAST = 10
"""The place given to the unlisted file with the strongest history."""


def rank_results(
    index: Index, evidence: Evidence, files: int, functions: int
) -> tuple[list[RankedFile], list[RankedFunction]]:
    """Return the likeliest files and functions for a text, best first."""
    found = score_files(index, evidence)
    first = found.list_best(FILES)
    inner = rank_functions(index, evidence, first, max(functions, CALLERS))
    called = _score_called_files(index, inner[:CALLERS])
    for path, (value, by) in called.items():
        if path in found.scores:
            found.gathered.files[path].reasons.append((value, f"{by} calls what it defines"))
    order = _order_paths(found, {path: value for path, (value, _) in called.items()})
    return _build_ranked_files(found, order[:files]), inner[:functions]


def _score_called_files(index: Index, callers: Sequence[RankedFunction]) -> dict[str, tuple[float, str]]:
    """Score files, from 0 to 1, by calls from these functions to their definitions; with the caller's name."""
    found: dict[str, tuple[float, str]] = {}
    most = callers[0].score if callers else 0.0
    for caller in callers if most > 0 else ():
        lines = index.read_source(caller.path).split("\n")
        body = "\n".join(lines[caller.symbol.first - 1 : caller.symbol.last])
        there: dict[str, float] = {}
        for name in sorted(set(IDENTIFIER.findall(body))):
            if len(name) < SHORTEST:
                continue
            definers = [
                path
                for path, defined, _, _ in index.find_files_with_name(name)
                if defined and not is_test(path)
            ]
            if 0 < len(definers) <= MOST_DEFINERS and caller.path not in definers:
                for path in definers:
                    there[path] = max(there.get(path, 0.0), 1 / math.sqrt(len(definers)))
        # A function that calls everything is weak evidence.
        share = (caller.score / most) ** 2 / math.sqrt(1 + len(there) / 5)
        for path, value in there.items():
            if value * share > found.get(path, (0.0, ""))[0]:
                found[path] = value * share, caller.symbol.name
    return found


def _order_paths(found: ScoredFiles, called: Mapping[str, float]) -> list[str]:
    """Return all paths in their final order."""

    def order_by_calls(order: Sequence[str], weight: float) -> list[str]:
        added = {path: weight * called.get(path, 0.0) * compute_place_factor(path) for path in order}
        return sorted(order, key=lambda path: (-found.scores[path] - added[path], path))

    order = found.order_paths()
    near = [*order[:1], *order_by_calls(order[1:], NEAR)[: NEAR_PLACES - 1]]
    taken = set(near)
    rest = order_by_calls([path for path in order if path not in taken], FURTHER)
    listed, left = [*near, *rest][: LAST - 1], [*near, *rest][LAST - 1 :]
    past = {
        path: found.gathered.files[path].values.get("commits", 0.0) * compute_place_factor(path)
        for path in left
    }
    spoken = sorted((path for path in left if past[path] > 0), key=lambda path: (-past[path], path))[:1]
    return [*listed, *spoken, *(path for path in left if path not in spoken)]


def _build_ranked_files(found: ScoredFiles, order: Sequence[str]) -> list[RankedFile]:
    """Build files with non-increasing scores, for use as weights."""
    told: list[RankedFile] = []
    for path in order:
        each = found.build_ranked_file(path)
        told.append(replace(each, score=min(each.score, told[-1].score)) if told else each)
    return told
