"""The work of a turn, read from a log that somebody wrote or a disk damaged."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from agent.events import MessageEvent, Prompt
from agent.session.export_import import export_to_stream, import_from_stream
from agent.session.log import Session
from agent.session_settings import TAKEN, SessionSettings, StrategySettings
from agent.strategy.logged_work import MOST_ATTEMPTS, read_logged_strategy
from agent.strategy.strategy import StrategyWork
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.errors import UserError
from tests.support.repo import Repo
from tests.support.sessions import play_session

STRANGER = {"name": "sample", "attempts": 2, "ray": "127.0.0.1:9", "ray_env": ["SECRET_KEY"]}
PATCH = {"name": TAKEN, "attempt": 1, "patch": "out:1", "tests": False}


def test_the_present_settings_choose_the_cluster_and_its_variables() -> None:
    found = read_logged_strategy(STRANGER, StrategySettings())
    assert (found.name, found.attempts, found.ray, found.ray_env) == ("sample", 2, "", [])
    own = StrategySettings(name="tree", attempts=9, ray="auto", ray_env=["KEY"])
    found = read_logged_strategy(STRANGER, own)
    assert (found.name, found.attempts, found.ray, found.ray_env) == ("sample", 2, "auto", ["KEY"])


@pytest.mark.parametrize("strategy", [STRANGER, PATCH])
def test_an_imported_session_decides_on_no_work(tmp_path: Path, strategy: dict[str, Any]) -> None:
    written = Session.create(tmp_path)
    written.append(Prompt(text="go on", strategy=strategy))
    written.close()
    sent = io.BytesIO()
    export_to_stream(written.folder, sent)
    sent.seek(0)
    copy = import_from_stream(sent, tmp_path / "sessions")
    copy.close()
    assert [each.strategy for each in copy.replayed.select_events(Prompt)] == [None]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attempts", "x"),
        ("models", 5),
        ("budget", 7),
        ("budget", "much"),
        ("temperatures", ["warm"]),
        ("judge", {}),
    ],
)
def test_a_damaged_value_is_named_in_one_line(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"'{name}'") as raised:
        read_logged_strategy({"name": "sample", name: value}, StrategySettings())
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(("attempts", "made"), [(100_000, MOST_ATTEMPTS), (-1, 1), (3, 3)])
def test_no_log_asks_for_endless_attempts(attempts: int, made: int) -> None:
    assert read_logged_strategy({"name": "sample", "attempts": attempts}, StrategySettings()).attempts == made


def test_a_resumed_turn_is_told_of_a_damaged_log_before_it_begins(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.txt", "a\n")
    repo.commit_all()
    settings = SessionSettings(model="offline", access=AccessSettings(sandbox="unconfined"))
    logged: list[Any] = [
        {"name": TAKEN, "attempt": "x"},
        {"name": TAKEN, "patch": 5},
        {"name": "team", "models": 5},
        {"name": "nowhere", "models": 5},
        {"name": "sample", "ray": "127.0.0.1:9"},
    ]

    async def play(runtime: Runtime) -> None:
        runtime.session.append(MessageEvent(text=""))
        for each in logged[:3]:
            runtime.session.append(Prompt(text="go on", strategy=each))
            with pytest.raises(UserError, match="damaged"):
                choose_work(runtime, StrategySettings(), None)
        runtime.session.append(Prompt(text="go on", strategy=logged[3]))
        assert choose_work(runtime, StrategySettings(), None) is None
        runtime.session.append(Prompt(text="go on", strategy=logged[4]))
        work = choose_work(runtime, StrategySettings(), None)
        assert isinstance(work, StrategyWork)
        assert work.settings["ray"] == ""

    play_session(repo.root, settings, play)
