"""Ranking of files: features weighted by a small linear model with fixed weights.

The weights were found by coordinate search over the issues of one repository (django) and tested on eleven others;
`docs/code-map.md` has the figures. They are the same for every repository.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.index.code_index import Index
from tools.code.index.symbol_queries import is_test
from tools.code.localization.commit_history import load_commits, score_by_history_share, score_by_messages
from tools.code.localization.file_features import Features, FeatureTable, gather_features
from tools.code.localization.text_evidence import Evidence, build_code_pattern

WEIGHTS: Mapping[str, float] = {
    "words": 0.6,
    "path": 0.05,
    "defines": 0.15,
    "uses": 0.2,
    "dotted": 1.5,
    "mentioned": 0.4,
    "frame": 0.35,
    "quoted": 0.4,
    "size": 0.02,
    "commits": 0.28,
    "given": 0.05,
    "stem": 0.1,
    "titled": 0.07,
    "coded": 1.0,
}
"""The largest contribution of each feature."""

TEST = 0.35
"""Factor on the score of a test file: issues are seldom fixed there."""

PACKAGE = 0.7
"""Factor on the score of a package's `__init__` that only re-exports names."""

SMALL, FEW = 600, 3
"""An `__init__` only re-exports names if it has fewer words of code and fewer functions and classes than these."""

ASIDE = 0.5
"""Factor for examples, documentation, benchmarks, translations, migrations' templates, vendored code."""

READ = 200
"""Likeliest files that are read for message codes: the index has words without their numbers."""

MOST_CODED = 8
"""Above this number of files with a code it is no evidence."""

_ASIDE = compile_lazily(
    r"(^|/)(docs?|examples?|galleries|tutorials?|benchmarks?|asv_bench|vendor|node_modules|third_party|extern|locale|"
    r"_vendor|bin|scripts?|release)/|/\d{4}_\w+\.py$"
)

_SOURCE = compile_lazily(r"\.(html?|css|json|md|ya?ml|toml|min\.js)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFile:
    """A file with its score and reasons, the strongest first."""

    path: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFiles:
    """Files with their features and scores."""

    gathered: FeatureTable
    scores: Mapping[str, float]

    def order_paths(self) -> list[str]:
        """Return paths by descending score."""
        return sorted(self.scores, key=lambda path: (-self.scores[path], path))

    def list_best(self, limit: int) -> list[RankedFile]:
        return [self.build_ranked_file(path) for path in self.order_paths()[:limit]]

    def build_ranked_file(self, path: str) -> RankedFile:
        return RankedFile(
            path=path, score=self.scores[path], reasons=_collect_reasons(self.gathered.files[path])
        )


def score_files(index: Index, evidence: Evidence) -> ScoredFiles:
    """Score all files with any evidence."""
    gathered = gather_features(index, evidence)
    past = load_commits(index)
    for path, value in score_by_messages(index, past, evidence.words).items():
        reason = "commits that changed it speak of the same" if value > 0.5 else ""
        gathered.add(path, "commits", value, reason)
    for path, value in score_by_history_share(index, past, evidence.words).items():
        reason = "its past is of commits that speak of the same" if value > 0.7 else ""
        gathered.add(path, "given", value, reason)
    add_size_features(index, gathered.files)
    scores = _compute_scores(gathered)
    if evidence.codes:
        _add_code_features(
            index, evidence, sorted(scores, key=lambda path: (-scores[path], path))[:READ], gathered
        )
        scores = _compute_scores(gathered)
    return ScoredFiles(gathered=gathered, scores=scores)


def _compute_scores(gathered: FeatureTable) -> dict[str, float]:
    return {path: compute_score(path, features.values) for path, features in gathered.files.items()}


def _add_code_features(index: Index, evidence: Evidence, best: Sequence[str], gathered: FeatureTable) -> None:
    """Add the feature `coded`: a program's message has a code, and few files contain it."""
    codes = build_code_pattern(evidence.codes)
    holders: dict[str, list[str]] = {}
    for path in best:
        if not is_test(path):
            for code in set(codes.findall(index.read_source(path))):
                holders.setdefault(code, []).append(path)
    for code, paths in holders.items():
        for path in paths if len(paths) <= MOST_CODED else ():
            gathered.raise_to(path, "coded", 1 / math.sqrt(len(paths)), f"holds {code}")


def add_size_features(index: Index, files: Mapping[str, Features]) -> None:
    """Add the feature `size`: more code has more faults."""
    sizes = {path: index.counts[index.get_text_number(path)][1] for path in files}
    small = [path for path, code in sizes.items() if path.endswith("__init__.py") and code < SMALL]
    for path, outline in index.outlines(small).items():
        if sum(symbol.kind in ("function", "class") for symbol in outline.symbols) < FEW:
            files[path].values["package"] = 1.0
    for path, code in sizes.items():
        files[path].values["size"] = math.log(1 + code) / 10


def compute_score(path: str, values: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """Return the weighted sum, reduced for places that seldom have faults."""
    total = sum(weights.get(name, 0.0) * value for name, value in values.items())
    return total * compute_place_factor(path) * (PACKAGE if values.get("package") else 1.0)


def compute_place_factor(path: str) -> float:
    """Return the factor on the score of a file in this place."""
    kept = 1.0
    if is_test(path):
        kept *= TEST
    if _ASIDE.search(path) or _SOURCE.search(path) or path in ("setup.py", "conftest.py"):
        kept *= ASIDE
    return kept


def _collect_reasons(features: Features) -> tuple[str, ...]:
    seen = dict.fromkeys(reason for _, reason in sorted(features.reasons, key=lambda each: -each[0]))
    return tuple(seen)[:4]
