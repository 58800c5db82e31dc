"""How a repair counts its time, on machines that have time for it and on those that have not."""

from __future__ import annotations

import pytest

from packages.offline.repair.engine.validation.budget_clock import JOBS, LONGEST, BudgetClock, is_crowded


class Machine:
    """What a clock asks: seconds by the clock, CPU seconds of this process, whether others want the machine."""

    def __init__(self, *, crowded: bool, longest: float = LONGEST) -> None:
        self.time = self.own = 0.0
        self.crowded = crowded
        self.clock = BudgetClock(
            time=lambda: self.time, own=lambda: self.own, crowded=lambda: self.crowded, longest=longest
        )

    def passes(self, seconds: float, *, own: float = 0.0, worker: float = 0.0) -> float:
        """CPU seconds of this process and of each worker."""
        self.time += seconds
        self.own += own
        self.clock.add_worker_seconds(worker * JOBS)
        return self.clock.now()


def test_on_a_quiet_machine_seconds_are_what_a_clock_says() -> None:
    quiet = Machine(crowded=False)
    assert quiet.passes(10, worker=10) == pytest.approx(10)
    assert quiet.passes(10, own=3) == pytest.approx(20)  # one waits for the other
    assert quiet.passes(10) == pytest.approx(30)  # tests that sleep
    assert quiet.clock.to_wall_seconds(7) == pytest.approx(7)


def test_on_a_crowded_machine_cpu_seconds_count_but_no_more_than_the_clock_and_no_less_than_a_third() -> None:
    crowded = Machine(crowded=True)
    assert crowded.passes(10, own=1, worker=4) == pytest.approx(5)
    assert crowded.passes(10) == pytest.approx(20 / LONGEST)  # what was not used counts as well
    assert crowded.passes(10, worker=40) == pytest.approx(30)
    assert crowded.clock.to_wall_seconds(7) == pytest.approx(7 * LONGEST)


def test_a_turn_that_ends_soon_lets_the_clock_be_no_slower_than_it_can_wait() -> None:
    crowded = Machine(crowded=True, longest=1.25)
    assert crowded.passes(10, worker=1) == pytest.approx(8)
    assert crowded.clock.to_wall_seconds(8) == pytest.approx(10)


def test_what_was_spent_stays_so_when_the_machine_fills_and_empties() -> None:
    machine = Machine(crowded=False)
    seen = [machine.passes(5)]
    for crowded in (True, False, True):
        machine.crowded = crowded
        seen += [machine.passes(2), machine.passes(5, worker=2)]
    assert seen == sorted(seen)
    # The state is asked for once in a while, so that the two seconds in which it changes count as those before it.
    assert seen[-1] == pytest.approx((5 + 2 + 5 + 2) + (2 + 0 + 2))


def test_what_a_model_is_waited_for_counts_on_a_crowded_machine_too() -> None:
    """Its server may be what crowds the machine: a minute of answers was two minutes of a search."""
    crowded = Machine(crowded=True)
    crowded.clock.add_waited_seconds(8)
    assert crowded.passes(10, worker=1) == pytest.approx(9)
    assert crowded.passes(10) == pytest.approx(9)


def test_the_load_of_this_machine_can_be_asked_for() -> None:
    assert is_crowded() in (True, False)
