"""Time that a repair has spent: wall time, unless its processes get little of a crowded machine.

On a crowded machine a minute is no measure of work: at a load of ten two processes of two cores get ten
seconds of it. There the CPU seconds of this process and of each worker count instead, and those in which a model was
waited for, since its server may be what crowds the machine; but never less than a third of wall time, so that no user
waits more than three times as long as promised.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

# Maximum ratio of wall time to budget seconds.
LONGEST = 3.0
# Parallel children that try candidates: at least two, since one waits for a time limit while the other works.
JOBS = max(2, os.cpu_count() or 2)
# Wall seconds for which the last load value is used; it is an average over a minute anyway.
_HOLDS = 1.0


def is_crowded() -> bool:
    """Return whether so many processes want to run that those of this program may have to wait."""
    try:
        load = os.getloadavg()[0]
    except (OSError, AttributeError):  # this system does not count them
        return False
    return load > JOBS + 1 + (os.cpu_count() or 2) / 2


class BudgetClock:
    """Seconds of a budget spent since the start; not faster than wall time, and at least a third as fast.

    time: wall seconds; own: CPU seconds of this process; crowded: whether CPU seconds count at present
    longest: maximum ratio of wall time to budget seconds
    """

    def __init__(
        self,
        *,
        time: Callable[[], float] = time.monotonic,
        own: Callable[[], float] = time.process_time,
        crowded: Callable[[], bool] = is_crowded,
        longest: float = LONGEST,
    ) -> None:
        self._longest = longest
        self._time, self._own, self._is_crowded = time, own, crowded
        self._last, self._last_own = time(), own()
        self._asked, self._crowded = self._last, crowded()
        self._quiet = self._busy = self._worked = 0.0
        self._workers = self._waited = 0.0

    def add_worker_seconds(self, seconds: float) -> None:
        """Add the CPU seconds that workers have used since the last call."""
        self._workers += seconds

    def add_waited_seconds(self, seconds: float) -> None:
        """Add the wall seconds in which a model was waited for since the last call."""
        self._waited += seconds

    def now(self) -> float:
        """Return the seconds of the budget that are spent."""
        time, own = self._time(), self._own()
        passed, worked = time - self._last, own - self._last_own + self._workers / JOBS + self._waited
        self._last, self._last_own, self._workers, self._waited = time, own, 0.0, 0.0
        if self._crowded:
            self._busy += passed
            self._worked += worked
        else:
            self._quiet += passed
        if time - self._asked > _HOLDS:
            self._asked, self._crowded = time, self._is_crowded()
        return self._quiet + max(min(self._busy, self._worked), self._busy / self._longest)

    def to_wall_seconds(self, seconds: float) -> float:
        """Return the maximum wall seconds for so many seconds of the budget, if the load does not change."""
        return seconds * (self._longest if self._crowded else 1.0)
