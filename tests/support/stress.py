"""Counts of randomised cases: a slice in the usual run, all and more of them under `make stress`."""

from __future__ import annotations

import os


def count_cases(cases: int) -> int:
    """Return a quarter of `cases`; under PATCHWRIGHT_STRESS=N all of them, N times."""
    stress = os.environ.get("PATCHWRIGHT_STRESS")
    if not stress:
        return max(1, cases // 4)
    if int(stress) < 1:
        raise ValueError(f"PATCHWRIGHT_STRESS={stress} would run no case, and every test would pass")
    return cases * int(stress)
