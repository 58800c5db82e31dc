"""Settings of a child that go to a node, whose clock and purse are its own."""

from __future__ import annotations

import time

from agent.budget.limits import LATE, MaxTime
from agent.budget.purse import Purse
from agent.session_settings import LimitSettings, SessionSettings
from packages.scale.children.remote_executor import fit_settings


def test_a_child_on_a_node_gets_no_more_time_than_its_parent_has_left() -> None:
    parent = Purse([MaxTime(600)])
    parent.tally.start_time = time.monotonic() - 590
    child = parent.open_child([MaxTime(300)])
    sent = fit_settings(SessionSettings(limits=LimitSettings(max_time=300, max_steps=7)), child)
    assert 9 < sent.limits.max_time <= 10 + LATE
    assert sent.limits.max_steps == 7
    parent.tally.start_time = time.monotonic()
    own = fit_settings(SessionSettings(limits=LimitSettings(max_time=30)), parent.open_child())
    assert own.limits.max_time == 30
