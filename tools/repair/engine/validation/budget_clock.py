"""The time that a repair has spent: by the clock, unless others leave its processes little of the machine.

On a machine that is crowded a minute is no measure of work: at a load of ten two processes of two cores come to ten
seconds of it. There the CPU seconds of our own and of each worker count instead, but never less than a third of what
the clock says, so that nobody waits more than three times as long as was promised.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

# Times as long by the clock that a repair may take at most.
LONGEST = 3.0
# Children that try candidates at a time: two at least, for one waits for a time limit while the other works.
JOBS = max(2, os.cpu_count() or 2)
# Wall seconds for which the last answer about the machine's load holds; it is an average over a minute anyway.
_HOLDS = 1.0


def is_crowded() -> bool:
    """Whether so many processes want to run that some are not ours, and ours may have to wait for them."""
    try:
        load = os.getloadavg()[0]
    except (OSError, AttributeError):  # this system does not count them
        return False
    return load > JOBS + 1 + (os.cpu_count() or 2) / 2


class BudgetClock:
    """Seconds of a budget spent since the start; they go by no quicker than seconds do, and at least a third as quick.

    time: seconds by the clock; own: CPU seconds of this process; crowded: whether CPU seconds are what counts now
    """

    def __init__(
        self,
        *,
        time: Callable[[], float] = time.monotonic,
        own: Callable[[], float] = time.process_time,
        crowded: Callable[[], bool] = is_crowded,
    ) -> None:
        self._time, self._own, self._is_crowded = time, own, crowded
        self._last, self._last_own = time(), own()
        self._asked, self._crowded = self._last, crowded()
        self._quiet = self._busy = self._worked = 0.0
        self._workers = 0.0

    def add_worker_seconds(self, seconds: float) -> None:
        """CPU seconds that workers used since they were last told of."""
        self._workers += seconds

    def now(self) -> float:
        """Seconds of the budget that are spent."""
        time, own = self._time(), self._own()
        passed, worked = time - self._last, own - self._last_own + self._workers / JOBS
        self._last, self._last_own, self._workers = time, own, 0.0
        if self._crowded:
            self._busy += passed
            self._worked += worked
        else:
            self._quiet += passed
        if time - self._asked > _HOLDS:
            self._asked, self._crowded = time, self._is_crowded()
        return self._quiet + max(min(self._busy, self._worked), self._busy / LONGEST)

    def to_wall_seconds(self, seconds: float) -> float:
        """So many seconds of the budget by the clock, if the machine stays as it is, at most."""
        return seconds * (LONGEST if self._crowded else 1.0)
