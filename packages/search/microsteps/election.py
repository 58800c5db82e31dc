"""Votes on one step: the first answer that is ahead of every other by k wins.

First-to-ahead-by-k voting (MAKER, "Solving a Million-Step LLM Task with Zero Errors", arXiv 2511.09030), after
Wald's sequential test. Answers that break the format or are too long do not count ("red flags").
"""

from __future__ import annotations

from dataclasses import field

from sandbox.lazy_dataclass import dataclass

MOST_PER_K = 12
"""Votes for each of the k after which a step is given up: voters who are right with 0.6 need 5 on average."""


@dataclass(slots=True)
class Election:
    """Votes so far. k: how far ahead the winner has to be of every other answer"""

    k: int
    counts: dict[str, int] = field(default_factory=dict)
    malformed: int = 0
    leader: str = ""
    _top: int = 0
    _second: int = 0

    def add_vote(self, answer: str | None) -> None:
        """Count an answer by its key; None for a malformed one."""
        if answer is None:
            self.malformed += 1
            return
        count = self.counts.get(answer, 0) + 1
        self.counts[answer] = count
        if answer == self.leader:
            self._top = count
        elif count > self._top:
            self._second, self._top, self.leader = self._top, count, answer
        elif count > self._second:
            self._second = count

    @property
    def lead(self) -> int:
        """How far the leader is ahead of the next answer."""
        return self._top - self._second

    @property
    def winner(self) -> str | None:
        """Key of the answer that has won, None while none has."""
        return self.leader if self._top and self.lead >= self.k else None

    @property
    def is_hopeless(self) -> bool:
        """Whether so many votes were counted without a winner that more will not bring one."""
        return self.winner is None and self.size >= MOST_PER_K * self.k

    @property
    def size(self) -> int:
        """Number of votes, malformed ones included."""
        return sum(self.counts.values()) + self.malformed

    @property
    def missing(self) -> int:
        """Votes without which nobody can win: so many can be asked for at the same time, and none is wasted."""
        return 0 if self.winner is not None else max(self.k - self.lead, 1)

    def describe(self) -> str:
        """Describe the votes: "5 : 1, 2 malformed"."""
        counts = " : ".join(str(count) for count in sorted(self.counts.values(), reverse=True)) or "0"
        return f"{counts}, {self.malformed} malformed" if self.malformed else counts
