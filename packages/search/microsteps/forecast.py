"""Forecast of a migration for the person who pays it: votes, tokens and dollars, from the sample's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packages.search.microsteps.estimate import Estimate, SampledStep
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Votes and their price.

    files: all of them; sampled: those with votes already; agreement: share of the most frequent answers in these
    calls: of all files, those made included; tokens, dollars: of them; dollars None without a known price
    """

    files: int
    sampled: int
    k: int
    calls: int
    tokens: int
    dollars: float | None
    agreement: float
    malformed: float
    expected_errors: float

    @classmethod
    def from_votes(
        cls,
        estimate: Estimate,
        usage: Mapping[str, float],
        sample: Sequence[SampledStep],
        *,
        size_ratio: float,
    ) -> Forecast:
        """Build it from the votes so far.

        usage: of the sample's votes; size_ratio: mean size of all files to that of the sampled ones
        """
        valid = sum(sum(each.counts) for each in sample)
        votes = valid + sum(each.malformed for each in sample)
        per_vote = {name: value / votes * size_ratio for name, value in usage.items()} if votes else {}
        dollars = per_vote.get("cost", 0.0) * estimate.votes
        return cls(
            files=estimate.steps,
            sampled=len(sample),
            k=estimate.k,
            calls=round(estimate.votes),
            tokens=round((per_vote.get("input", 0) + per_vote.get("output", 0)) * estimate.votes),
            dollars=dollars or None,
            agreement=sum(max(each.counts, default=0) for each in sample) / valid if valid else 0.0,
            malformed=estimate.difficulty.malformed,
            expected_errors=estimate.expected_errors,
        )

    def describe(self) -> str:
        """Describe it in one line."""
        price = f"${self.dollars:.2f}" if self.dollars is not None else "cost unknown"
        malformed = f", {self.malformed:.0%} malformed" if self.malformed else ""
        return (
            f"{self.files} files, {self.sampled} sampled: voters agree in {self.agreement:.0%}{malformed}; "
            f"an answer wins when it is ahead by k = {self.k}; about {self.calls:,} calls in all, "
            f"{self.tokens:,} tokens, {price}; {self.expected_errors:.2g} wrong answers to be expected"
        )

    def as_data(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "files": self.files,
            "sampled": self.sampled,
            "k": self.k,
            "calls": self.calls,
            "tokens": self.tokens,
            "dollars": self.dollars,
            "agreement": round(self.agreement, 4),
            "malformed": round(self.malformed, 4),
            "expected_errors": self.expected_errors,
        }
