"""Likelihood that a programmer would write a change, from its text and its context.

A log-linear model over a few traits, fitted on fixes in the histories of libraries (Prophet, Long and Rinard
2016). The strongest trait is whether the change contains sequences of words that occur nowhere else in the
file: code repeats itself (Hindle et al. 2012), and faults are where it does not (Ray et al. 2016).
"""

from __future__ import annotations

import difflib
import keyword
import math
from collections import Counter
from collections.abc import Sequence

from packages.offline.repair.localize.word_relevance import split_name
from packages.offline.repair.templates import Change, Site
from packages.offline.repair.templates.support.source_tree import TOKEN
from packages.offline.repair.templates.support.weights import TRAITS, USUAL
from sandbox.lazy_pattern import compile_lazily

Traits = tuple[float, ...]

_NAME = compile_lazily(r"[A-Za-z_]\w*")
_KEYWORDS = frozenset(keyword.kwlist)
# Characters around a change that contain two tokens at least, or are too long to be informative.
_BESIDE = 40


def measure_traits(site: Site, change: Change, place: int, alike: int) -> Traits:
    """Return the traits of a change, in the order of `TRAITS`.

    place: number of changes that the same template yields before it, of the `alike` ones for the statement
    """
    source = site.source
    old, new = TOKEN.findall(source.text[change.start : change.end]), TOKEN.findall(change.text)
    before, after = Counter(old), Counter(new)
    added, removed = after - before, before - after
    names = [each for each in added if _NAME.fullmatch(each) and each not in _KEYWORDS]
    gone = [each for each in removed if _NAME.fullmatch(each) and each not in _KEYWORDS]
    inserted = not old
    return (
        _log_count(sum(added.values())),
        _log_count(len(names)),
        _log_count(sum(each in site.statement_words for each in names)),
        _log_count(sum(each in site.nearby_words and each not in site.statement_words for each in names)),
        _log_count(_count_unseen_triples(site, change, new)),
        _log_count(
            sum(
                _is_test_word(each, site.hints.test_words)
                for each in names
                if each not in site.statement_words
            )
        ),
        _log_count(place),
        _log_count(alike),
        _log_count(change.text.count("\n") + source.text.count("\n", change.start, change.end)),
        float(inserted and site.is_block),
        float(bool(old) and not new),
        float(bool(old) and bool(new)),
        float("0" in added) + float("1" in added),
        float(added["["]),
        difflib.SequenceMatcher(None, names[0], gone[0]).ratio() if len(names) == len(gone) == 1 else 0.0,
    )


def compute_likelihood(of: Traits, weights: Sequence[float] = tuple(TRAITS.values())) -> float:
    """Return the likelihood relative to other changes; about 1 for one that is often right."""
    return math.exp(sum(weight * each for weight, each in zip(weights, of, strict=True)) - USUAL)


def _is_test_word(name: str, told: frozenset[str]) -> bool:
    words = split_name(name)
    return bool(words) and words <= told


def _log_count(number: int) -> float:
    return math.log(1 + number)


def _count_unseen_triples(site: Site, change: Change, new: Sequence[str]) -> int:
    """Return the number of new sequences of three tokens that the file has nowhere."""
    text = site.source.text
    before = TOKEN.findall(text[max(0, change.start - _BESIDE) : change.start])[-2:]
    after = TOKEN.findall(text[change.end : change.end + _BESIDE])[:2]
    row = [*before, *new, *after]
    known = site.source.token_triples
    return sum(each not in known for each in zip(row, row[1:], row[2:], strict=False))
