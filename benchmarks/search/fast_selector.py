"""The selector of `packages.search.select.agreement` for many sets of one task's programs at once.

Its choices are those of `form_groups`; rules are tuned on millions of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packages.search.programs.behaviour import has_value
from packages.search.select.agreement import (
    LEAST_SUPPORT,
    LEAST_TESTS,
    WEIGHTS,
    BehaviourTable,
    GeneratedTest,
    _measure_constancy,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FastSelector:
    """Tables of one task.

    groups: number of each program's group; alike: 1 where two programs behave alike
    agreement: share of the calls on which two return the same; passed: 1 where a program passes a test
    weight: by constant results and parameters that are not read
    """

    groups: Array
    alike: Array
    agreement: Array
    passed: Array
    weight: Array

    @classmethod
    def build(
        cls, table: BehaviourTable, tests: Sequence[GeneratedTest], unread: dict[int, float]
    ) -> FastSelector:
        import numpy as np

        number = len(table.keys)
        rows = {row: place for place, row in enumerate(map(tuple, table.keys))}
        row = np.array([rows[tuple(each)] for each in table.keys])
        names: dict[tuple[int, float], int] = {}
        groups = [names.setdefault((int(row[each]), unread[each]), len(names)) for each in range(number)]
        agreement = np.ones((number, number))
        if table.calls:
            keys = np.array([list(each) for each in table.keys], dtype=object)
            valued = np.array([[has_value(key) for key in each] for each in table.keys])
            agreement = ((keys[:, None] == keys[None]) & valued[:, None]).mean(2)
        constancy = np.array([_measure_constancy(each) for each in table.keys])
        return cls(
            groups=np.array(groups),
            alike=(row[:, None] == row[None]).astype(np.float32),
            agreement=agreement.astype(np.float32),
            passed=np.array([each.passed for each in tests], dtype=np.float32).reshape(len(tests), number).T,
            weight=np.exp(
                WEIGHTS["constant"] * constancy
                + WEIGHTS["unread"] * np.array([unread[each] for each in range(number)])
            ),
        )

    def choose(self, sets: Sequence[Sequence[int]]) -> list[int]:
        """Return the group that the selector prefers in each of several sets of programs."""
        import numpy as np

        inside = np.zeros((len(sets), len(self.groups)), dtype=np.float32)
        for number, members in enumerate(sets):
            inside[number, list(members)] = 1
        size = inside.sum(1, keepdims=True)
        counts = inside @ self.passed
        kept = (counts > 0) & (counts < size)
        tests = (kept.astype(np.float32) @ self.passed.T + LEAST_TESTS) / (
            kept.sum(1, keepdims=True) + LEAST_TESTS
        )
        support = inside @ self.agreement.T / size + LEAST_SUPPORT
        score = (inside @ self.alike / size) ** WEIGHTS["size"] * self.weight
        score *= support ** WEIGHTS["support"] * tests ** WEIGHTS["tests"]
        best = np.where(inside > 0, score, -1.0).argmax(1)
        return [int(each) for each in self.groups[best]]
