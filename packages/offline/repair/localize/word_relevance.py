"""Relevance of statements to failing tests, by the words that they share.

Coverage cannot distinguish statements that the same tests run. The words of a test (its name, its calls, the
texts that it passes, its failure message) often can: the place of a bug is found from a report's words in the
same way (information retrieval: Zhou, Zhang and Lo 2012; combined with spectra: Le, Oentaryo and Lo 2015). A
word has the more weight, the fewer statements have it.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from packages.offline.repair.localize.coverage_spectrum import Test
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates.support.source_tree import Function, list_header_nodes
from sandbox.lazy_pattern import compile_lazily

# Factors on the suspiciousness of a statement that shares all of its words with the tests, and of one whose
# function does: the best of seven pairs on fifteen bugs of the development half (the place of the fault fell
# from 14 to 12 on average, as a geometric mean).
STATEMENT, FUNCTION = 0.3, 0.3
_WORD = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Words that occur in every test.
_COMMON = frozenset(
    [
        "test",
        "self",
        "assert",
        "equal",
        "raises",
        "true",
        "false",
        "none",
        "in",
        "is",
        "not",
        "the",
        "and",
        "or",
        "of",
    ]
)


def rerank_by_words(suspects: Sequence[Suspect], words: frozenset[str]) -> list[Suspect]:
    """Return the suspects reranked by the words that they share with the tests."""
    if not words:
        return list(suspects)
    own = [_split_words(_iter_texts(each.statement)) for each in suspects]
    named = [_split_words([each.function]) for each in suspects]
    counts = Counter(word for one, two in zip(own, named, strict=True) for word in one | two)
    weight = {word: math.log(1 + len(suspects) / number) for word, number in counts.items()}
    scores = [
        each.score
        * (1 + STATEMENT * _compute_share(one, words, weight) + FUNCTION * _compute_share(two, words, weight))
        for each, one, two in zip(suspects, own, named, strict=True)
    ]
    # The highest score is the one from coverage: one above 1 would mean nothing to a reader.
    scale = max((each.score for each in suspects), default=0.0) / (max(scores, default=0.0) or 1.0)
    found = [
        replace(each, score=round(score * scale, 4)) for each, score in zip(suspects, scores, strict=True)
    ]
    return sorted(found, key=lambda each: (-each.score, each.path, each.line, each.statement.col_offset))


def collect_test_words(failing: Sequence[Test], files: Mapping[str, str]) -> frozenset[str]:
    """Return the words of failing tests. files: path → text of their files, as far as readable."""
    found: set[str] = set()
    for test in failing:
        name = test.id.partition("[")[0].split("::")[-1].split(".")[-1]
        found |= _split_words([name, test.id.partition("[")[2], test.message])
        for function in _find_functions(files.get(test.file, ""), name):
            found |= collect_function_words(function)
    return frozenset(found)


def collect_function_words(function: Function) -> frozenset[str]:
    """Return the words of a test's calls, arguments and comparisons."""
    return _split_words(_iter_texts(function))


@lru_cache(maxsize=50_000)
def split_name(name: str) -> frozenset[str]:
    """Return the words that a name consists of."""
    return _split_words([name])


def _find_functions(text: str, name: str) -> Iterator[Function]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # written for another Python
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, Function) and node.name == name)


def _iter_texts(node: ast.stmt) -> Iterator[str]:
    """Yield names, attributes and strings: of a test all of them, of a compound statement its header's."""
    inside: Iterable[ast.AST] = ast.walk(node) if isinstance(node, Function) else list_header_nodes(node)
    for each in inside:
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.keyword) and each.arg:
            yield each.arg
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _split_words(texts: Iterable[str]) -> frozenset[str]:
    every = (word.lower() for text in texts for word in _WORD.findall(text[:2000]))
    return frozenset(word for word in every if word not in _COMMON and len(word) > 1)


def _compute_share(words: frozenset[str], told: frozenset[str], weight: Mapping[str, float]) -> float:
    whole = sum(weight[word] for word in words)
    return sum(weight[word] for word in words & told) / whole if whole else 0.0
