"""Counts of randomised cases: a slice in the usual run, all and more of them under `make stress`."""

from __future__ import annotations

import os


def count_cases(cases: int) -> int:
    """Return two fifths of `cases`; under PATCHWRIGHT_STRESS=N all of them, N times."""
    stress = os.environ.get("PATCHWRIGHT_STRESS")
    return cases * int(stress) if stress else max(1, cases * 2 // 5)
