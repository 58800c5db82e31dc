"""Turns of a team in real sessions: artefacts handed on, steps in worktrees, checks, a commit, resumption, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import AttemptEvent, ChoiceEvent, End, MessageEvent, Signal, VerdictEvent
from agent.exit_codes import Exit
from agent.session.log import read_events
from agent.session_settings import LimitSettings, SessionSettings, StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from sandbox.policy.decision import Mode
from tests.support.cli import call
from tests.support.repo import Repo
from tests.support.sessions import play_session
from tests.support.strategy_team import BRIEF, MEND, PLAN, TASK, TESTS, Team, answers

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", 'def total(prices):\n    """The total of the cart."""\n    return -sum(prices)\n')
    repo.write("mail.py", 'def sender():\n    """The sender of the mail."""\n    return \'\'\n')
    repo.commit_all()
    return repo


def take_turn(
    shop: Repo, settings: SessionSettings, attempts: int = 1, task: str | None = TASK, **request: Any
) -> tuple[End, list[Any]]:
    """Return the end of a turn of a team, and all events of its log."""
    given = StrategySettings(name="team", attempts=attempts)

    async def story(runtime: Runtime) -> tuple[End, list[Any]]:
        end = await runtime.run_turn(task, choose_work(runtime, given, task))
        return end, list(read_events(runtime.session.folder))

    return play_session(shop.root, settings, story, **request)  # type: ignore[no-any-return]


def list_sizes(events: Sequence[Any]) -> list[str]:
    return [each.detail for each in events if isinstance(each, Signal) and each.name == "team-size"]


def list_hints(events: Sequence[Any]) -> list[str]:
    return [each.hint for each in events if isinstance(each, AttemptEvent)]


def test_a_team_ends_with_a_commit_of_checked_work(shop: Repo, tmp_path: Path) -> None:
    looks: list[dict[str, Any]] = [
        {"calls": [call("read", path="cart.py"), call("shell", command="cat cart.py"), call("list")]},
        {
            "calls": [call("search", pattern="return")],
            "expect": ["def total(prices)", "The total of the cart"],
        },
        {**answers(TESTS)[0], "expect": ["no tool"]},
    ]
    team = Team(tmp_path, tester=looks)
    end, events = take_turn(shop, team.build_settings(), attempts=2)
    assert not [each for each in events if isinstance(each, Signal) and each.name == "team-role"]
    assert (end.outcome, end.exit_code) == ("done", Exit.DONE)
    assert shop.git("log", "-1", "--format=%s").strip() == "Mend total and sender"
    assert sorted(shop.git("show", "--name-only", "--format=").split()) == [
        "cart.py",
        "mail.py",
        "test_sender.py",
        "test_total.py",
    ]
    assert set(list_hints(events)) == {
        "brief",
        "plan",
        "tester",
        "cart (1)",
        "cart (2)",
        "mail (1)",
        "mail (2)",
    }
    assert len([each for each in events if isinstance(each, ChoiceEvent)]) == 2
    (size,) = list_sizes(events)
    assert size.startswith("2 children: ")
    (review,) = [each for each in events if isinstance(each, VerdictEvent) and each.name == "review"]
    assert (review.evidence, review.attempt) == ("opinion", None)
    (asked,) = [each.child for each in events if isinstance(each, AttemptEvent) and each.hint == "tester"]
    (log,) = Home.from_environment().data.rglob(f"{asked}/log.jsonl")
    assert "The total of the cart" in log.read_text("utf-8")
    assert "-sum" not in log.read_text("utf-8"), "the tester sees interfaces, and never the code"


def test_an_invalid_artefact_is_asked_for_again_and_without_it_the_turn_goes_on(
    shop: Repo, tmp_path: Path
) -> None:
    bad_steps = {
        "files": [{**TESTS["files"][0], "steps": ["nowhere"]}, {**TESTS["files"][1], "path": "cart.py"}]
    }
    team = Team(
        tmp_path,
        brief=[{"text": "It should work.", "expect": ["<task>"]}],
        tester=answers(bad_steps),
    )
    end, events = take_turn(shop, team.build_settings())
    told = [each.detail for each in events if isinstance(each, Signal) and each.name == "team-role"]
    assert told[0] == "brief failed: there is no JSON object in the message"
    assert "test_total.py: no step of the plan: nowhere" in told[1]
    assert "cart.py: no name of a file with tests" in told[1]
    hints = list_hints(events)
    assert hints[:2] == ["brief", "brief, again"]
    assert [each for each in hints if each.startswith("tester")] == ["tester", "tester, again"]
    assert "no tests were written for it" in end.summary


@pytest.mark.parametrize("mends", [True, False])
def test_a_failed_step_is_replanned_alone(shop: Repo, tmp_path: Path, *, mends: bool) -> None:
    """The first attempt at the mail leaves a mark and changes nothing, the one after the new plan mends it."""
    mark = tmp_path / "mark"
    other = f"[ -e test_sender.py ] && [ -e {mark} ]" if mends else "false"
    trace = f"; if [ -e test_sender.py ]; then touch {mark}; fi" if mends else ""
    again = {
        "steps": [{"id": "mail2", "task": "mend sender another way", "done_when": "test_sender.py passes"}]
    }
    coder: list[dict[str, Any]] = [
        {"calls": [call("shell", command=MEND.replace("[ -e test_sender.py ]", other) + trace)]},
        {"text": "Done as well as I can.", "repeat": 99},
    ]
    replan: list[dict[str, Any]] = [{**answers(again)[0], "expect": ["mend sender in mail.py"]}]
    settings = Team(tmp_path, coder=coder, replan=replan).build_settings()
    settings = replace(settings, access=replace(settings.access, mode=Mode.FULL))  # for the mark outside
    end, events = take_turn(shop, settings)
    hints = list_hints(events)
    assert hints.count("cart") == 1
    assert len(list_sizes(events)) == 1, "where no test fails, a team does not grow"
    told = next(
        each.text for each in events if isinstance(each, MessageEvent) and "- cart: done" in each.text
    )
    if mends:
        assert [each for each in hints if "mail" in each] == ["mail", "replan mail", "mail2"]
        assert "- mail2: done" in told
        assert shop.git("log", "-1", "--format=%s").strip() == "Mend total and sender"
    else:
        assert [each for each in hints if "mail" in each] == ["mail", "replan mail", "mail2", "replan mail2"]
        assert "- mail2: failed" in told
        assert (end.exit_code, end.summary) == (Exit.TESTS_FAIL, "I gave up."), "the session itself went on"
        assert shop.git("log", "--format=%s").count("\n") == 1


def test_the_team_grows_where_tests_fail_with_a_step(shop: Repo, tmp_path: Path) -> None:
    """The first attempt at the mail fails its test; the plan for it says how many may work now."""
    mark = tmp_path / "mark"
    wrong = f"[ -e test_sender.py ] && mkdir {mark} && sed -i \"s/return ''/return 'shap'/\" mail.py"
    coder: list[dict[str, Any]] = [
        {"calls": [call("shell", command=f"{wrong} || ({MEND})")]},
        {"text": "Done as well as I can.", "repeat": 99},
    ]
    again = {"steps": [{"id": "mail2", "task": "mend sender anew", "done_when": "test_sender.py passes"}]}
    replan = [{**answers(again)[0], "expect": ["1 failed", "At most 3 steps are done at the same time"]}]
    settings = Team(tmp_path, coder=coder, replan=replan).build_settings()
    settings = replace(settings, access=replace(settings.access, mode=Mode.FULL))  # for the mark outside
    end, events = take_turn(shop, settings)
    assert end.outcome == "done", end.summary
    estimate, grown = list_sizes(events)
    assert estimate.startswith("2 children: ")
    assert grown == "3 children: 1 failing test at mail"
    hints = list_hints(events)
    assert [each for each in hints if "mail" in each] == ["mail", "replan mail", "mail2"]
    assert hints.count("cart") == 1


def test_a_plan_that_leaves_something_out_is_not_carried_out(shop: Repo, tmp_path: Path) -> None:
    bad = {"steps": [{**PLAN["steps"][0], "tools": ["deploy"]}]}
    team = Team(tmp_path, plan=answers(bad), coder=[{"text": "no", "repeat": 9}])
    end, events = take_turn(shop, team.build_settings())
    told = [each.detail for each in events if isinstance(each, Signal) and each.name == "team-role"]
    assert told[0] == "plan failed: cart: no tool at hand: deploy; no node covers 'requirement 2'"
    assert end.exit_code != Exit.DONE
    assert "cart" not in list_hints(events)


def test_sequential_work_stays_with_the_loop(shop: Repo, tmp_path: Path) -> None:
    edit = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
    team = Team(tmp_path, own=[edit, {"text": "It adds up."}])
    end, events = take_turn(shop, team.build_settings(), task="the total in cart.py is wrong")
    assert list_hints(events) == []
    (size,) = list_sizes(events)
    assert size.startswith("single: ")
    assert "\n" not in size
    assert end.summary == "It adds up."


@pytest.mark.parametrize("cut", ["plan", "tester", "cart"])
def test_a_killed_team_goes_on_at_the_first_missing_artefact(shop: Repo, tmp_path: Path, cut: str) -> None:
    settings = Team(tmp_path).build_settings()
    _, events = take_turn(shop, settings)
    shop.git("reset", "-q", "--hard", "HEAD~1")
    (begun,) = [each for each in events if isinstance(each, AttemptEvent) and each.hint == cut]
    (log,) = [
        each
        for each in Home.from_environment().data.rglob("log.jsonl")
        if f'"{begun.child}"' in each.read_text("utf-8") and '"kind":"attempt"' in each.read_text("utf-8")
    ]
    lines = log.read_bytes().splitlines(keepends=True)
    last = next(
        i for i, line in enumerate(lines) if b'"kind":"attempt"' in line and begun.child.encode() in line
    )
    log.write_bytes(b"".join(lines[: last + 1]))
    for name in ("log.index", "log.state.json"):
        (log.parent / name).unlink(missing_ok=True)
    end, events = take_turn(shop, settings, task=None, session=log.parent.name)
    hints = list_hints(events)
    assert end.outcome == "done"
    order = ["brief", "plan", "tester", "cart", "mail"]
    for name in order[: order.index(cut)]:
        assert hints.count(name) == 1, f"{name} was done before the kill"
    assert hints.count(cut) == 2
    assert shop.git("log", "-1", "--format=%s").strip() == "Mend total and sender"


def test_a_limit_holds_for_all_roles_together(shop: Repo, tmp_path: Path) -> None:
    usage = {"input": 1000, "output": 100}
    turns = [{**each, "usage": usage} for each in answers(BRIEF)]
    team = Team(tmp_path, brief=turns, plan=[{**each, "usage": usage} for each in answers(PLAN)])
    end, _ = take_turn(shop, team.build_settings(limits=LimitSettings(max_tokens=1500)))
    assert end.exit_code == Exit.LIMIT
    assert shop.git("status", "--porcelain") == ""
