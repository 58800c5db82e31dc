"""A turn that goes on after a kill is charged for all that it did before."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agent.budget.limits import MaxCost
from agent.events import (
    AttemptEvent,
    ChildEvent,
    Event,
    MessageEvent,
    Prompt,
    SideCall,
    Signal,
    UsageRecord,
)
from agent.monitor.answers import TurnEnd
from agent.session.log import Session
from agent.session_settings import SessionSettings, StrategySettings
from agent.strategy.earlier_part import RESUMED, EarlierPart, read_earlier_part
from agent.strategy.strategy import StrategyWork
from agent.strategy.strategy_turn import StrategyTurn
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from tests.support.repo import Repo
from tests.support.sessions import play_session


def paid(cost: float) -> UsageRecord:
    return UsageRecord(input=1, cost=cost)


def at(time: float, event: Event) -> Event:
    event.time = time
    return event


def child(name: str, state: Any, **more: Any) -> ChildEvent:
    return ChildEvent(child=name, state=state, **more)


def write_child(sessions: Path, *events: Event) -> str:
    session = Session.create(sessions)
    for each in events:
        session.append(each)
    session.close()
    return session.id


def test_the_time_between_two_parts_is_not_the_turns(tmp_path: Path) -> None:
    first = [at(100, Prompt(text="mend")), at(110, child("a", "started")), at(160, child("a", "ended"))]
    opened = [at(9_000, Signal(name="children", detail="cut off"))]
    assert read_earlier_part([*first, *opened], tmp_path, 9_001).seconds == 60
    again = at(9_002, EarlierPart(seconds=60).to_signal())
    second = [again, at(9_012, AttemptEvent(number=1, child="b")), at(20_000, Signal(name="children"))]
    whole = [*first, *opened, *second]
    assert read_earlier_part(whole, tmp_path, 20_001).seconds == 70
    assert read_earlier_part(whole, tmp_path, 150).seconds == 10, "the rest is of this process"
    forged = at(200, Signal(name=RESUMED, detail="-9e9 s of the turn had passed"))
    assert read_earlier_part([*first, forged, at(50, Prompt(text=""))], tmp_path, 9_001).seconds == 0
    assert read_earlier_part([], tmp_path, 1).seconds == 0


def test_a_silent_log_counts_until_the_last_event_of_the_child_that_it_waits_for(tmp_path: Path) -> None:
    begun = time.time()
    name = write_child(tmp_path, Prompt(text="mend"), MessageEvent(text="", usage=paid(1)))
    events = [at(begun - 30, Prompt(text="mend")), at(begun - 20, child(name, "started"))]
    assert 30 <= read_earlier_part(events, tmp_path, time.time() + 1).seconds < 35


def test_own_calls_and_all_children_but_attempts_count_once(tmp_path: Path) -> None:
    below = write_child(tmp_path, Prompt(text="x"), MessageEvent(text="", usage=paid(32)))
    lost = write_child(
        tmp_path,
        Prompt(text="judge"),
        MessageEvent(text="", usage=paid(16)),
        child(below, "started"),
    )
    events = [
        Prompt(text="mend"),
        SideCall(purpose="p", role="r", model="m", usage=paid(1)),
        child("attempt", "started"),
        AttemptEvent(number=1, child="attempt"),
        child("attempt", "ended", outcome="done", usage=paid(1000)),
        child("judge", "started"),
        child("judge", "ended", outcome="done", usage=paid(2)),
        child("judge", "ended", outcome="done", usage=paid(4)),  # both of its turns
        child("judge", "started"),
        child("judge", "ended", outcome="done", usage=paid(8)),
        child(lost, "started"),
        child("../out", "started"),
    ]
    assert read_earlier_part(events, tmp_path, time.time()).usage.cost == 1 + 4 + 8 + 16 + 32
    gone = child(lost, "ended", outcome="interrupted")
    assert read_earlier_part([*events, gone], tmp_path, time.time()).usage.cost == 1 + 4 + 8 + 16 + 32


class Looks:
    """A strategy that keeps what its turn may use. Implements `Strategy`."""

    takes_advice = False

    def __init__(self) -> None:
        self.seen: list[tuple[float, float | None]] = []

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        purse = turn.runtime.purse
        self.seen.append((purse.compute_seconds_left(), purse.compute_dollars_left()))
        return TurnEnd(reason="ended", text="")


@pytest.mark.parametrize("is_resumed", [True, False])
def test_a_budget_holds_for_both_parts_and_for_this_turn_only(tmp_path: Path, is_resumed: bool) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.txt", "a\n")
    repo.commit_all()
    settings = SessionSettings(model="offline", access=AccessSettings(sandbox="unconfined"))

    async def play(runtime: Runtime) -> None:
        session, looks = runtime.session, Looks()
        session.append(Prompt(text="mend"))
        session.append(SideCall(purpose="p", role="r", model="m", usage=paid(0.5)))
        await asyncio.sleep(0.02)
        given = StrategySettings(name="sample", budget="2, 10m")
        work = StrategyWork(runtime, looks, given, is_resumed=is_resumed)
        runtime.purse.begin_turn()
        before = runtime.purse.limits
        runtime.purse.tally.start_time += 0.01  # of the sleep: what was logged before is of another process
        await work.run()
        await work.run()
        assert runtime.purse.limits is before
        assert MaxCost(2.0) not in before
        dollars = 1.5 if is_resumed else 2.0
        assert [each[1] for each in looks.seen] == [dollars, dollars], "charged once"
        told = [each for each in session.replayed.select_events(Signal) if each.name == RESUMED]
        assert len(told) == is_resumed

    play_session(repo.root, settings, play)
