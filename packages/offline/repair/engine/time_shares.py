"""Shares of a repair's budget: for the baseline, for the search of each fault, and for the suite with a patch."""

from __future__ import annotations

from collections.abc import Sequence

from packages.offline.repair.engine.validation.suite_baseline import Baseline

# Maximum share of the remaining budget for the baseline: without tried candidates it is of no use.
TRACE_SHARE = 0.5
# Searches without a result leave time for the other faults: each gets this share of the remaining time.
SEARCH_SHARE = 0.6
# Where a model fills in statements: its share of the search's time. The templates' likely changes come first, and
# take seconds.
FILLING_SHARE = 0.6
# The same where likely changes are left that the templates had no time for: in a long file, a processor fills four gaps
# in the time in which a thousand of these are tried.
FILLING_SHARE_BETWEEN = 0.3

# A patch is worth little before the whole suite was run with it: the time that the tests took is reserved for
# that; if only some of their files were run, at least this share of the budget, up to so many seconds; in all
# at most the last share.
FOR_OTHER_FILES, LONGEST_FOR_THEM, MOST_FOR_LAST_WORD = 0.1, 20.0, 0.25

# Seconds after the end of the search for a last run of the tests, where no turn has to stop.
SLACK = 5.0

# A new session imports and collects before its first test, as the first one did, and two may run at a time:
# minimum seconds, and factor on the time of the first session.
COLD_START, SLOWER_START = 20.0, 4.0


def compute_suite_reserve(budget: float, base: Baseline, files: Sequence[str] = ()) -> float:
    """Return the seconds of the budget reserved for the suite; files: test files that were run, empty for all."""
    known = base.collecting + sum(test.seconds for test in base.spectrum.tests)
    others = min(FOR_OTHER_FILES * budget, LONGEST_FOR_THEM) if files else 0.0
    return min(max(known, others), MOST_FOR_LAST_WORD * budget)


def compute_cold_start(base: Baseline) -> float:
    """Return the seconds that a new session of the project's tests may take before its first test."""
    return max(COLD_START, base.collecting * SLOWER_START)
