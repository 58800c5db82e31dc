"""Sequential test of paired comparisons that may be looked at after each pair."""

from __future__ import annotations

from math import comb


def compute_sign_evidence(won: int, lost: int) -> float:
    """Return the evidence that one side wins more than half of the pairs; it starts at 1.

    The mixture likelihood ratio of the sign test, uniform over the rates above one half. Without a difference it ever
    reaches 1/alpha with probability alpha at most, however often it is looked at (Ville 1939; Robbins 1970; as mSPRT
    in Johari et al. 2017). Ties are no pairs.
    """
    pairs = won + lost
    return sum(comb(pairs + 1, each) for each in range(won + 1)) / ((pairs + 1) * comb(pairs, won))
