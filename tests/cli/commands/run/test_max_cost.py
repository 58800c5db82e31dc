"""`--max-cost`: nothing is asked at a price that nobody knows, and several attempts share one limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from tests.support.cli import Result, call, environment, run, script
from tests.support.loopback import Loopback, Trouble
from tests.support.repo import Repo

PRICED = '[models.catalog."openai/mine"]\ninput = 10.0\noutput = 50.0\n'
CALL = 0.015
"""Dollars of a call with 1,000 tokens of input and 100 of output at these prices."""

USAGE = {"input": 1000, "output": 100}


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(prices):\n    return -sum(prices)\n")
    repo.write("test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n")
    repo.commit_all()
    return repo


def ask(
    shop: Repo, server: Loopback, *more: str, settings: str = "", env: dict[str, str] | None = None
) -> Result:
    home = shop.root.parent / "home"
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "settings.toml").write_text(settings)
    given = ("--model", "openai/mine", "--api-base", server.url, "--no-commit", *more)
    return run("run", "go", *given, cwd=shop.root, env={"PATCHWRIGHT_HOME": str(home), **(env or {})})


def steps(count: int) -> list[dict[str, Any]]:
    return [{"calls": [call("read", path="cart.py")], "usage": USAGE, "repeat": count}]


@pytest.mark.slow
@pytest.mark.parametrize("given", ["flag", "budget", "settings", "environment", "attempts"])
def test_a_limit_on_cost_without_a_price_is_refused_before_anything_is_asked(given: str, shop: Repo) -> None:
    with Loopback() as server:
        done = {
            "flag": lambda: ask(shop, server, "--max-cost", "1"),
            "budget": lambda: ask(shop, server, "--budget", "1, 10m"),
            "settings": lambda: ask(shop, server, settings="max_cost = 1.0\n"),
            "environment": lambda: ask(shop, server, env={"PATCHWRIGHT_MAX_COST": "1"}),
            "attempts": lambda: ask(shop, server, "--max-cost", "1", "--attempts", "2"),
        }[given]()
        assert server.requests == []
    assert done.code == 6
    option = "--budget" if given == "budget" else "--max-cost"
    assert f"patchwright: {option} cannot hold: the price of 'openai/mine' is not known" in done.err
    assert '[models.catalog."openai/mine"] with input = … and output = …' in done.err
    assert "--max-tokens" in done.err
    assert not list(shop.root.parent.glob("home/data/projects/*/sessions/*"))


@pytest.mark.slow
def test_what_the_refusal_says_helps(shop: Repo) -> None:
    with Loopback([{"text": "ok", "usage": USAGE, "repeat": 2}]) as server:
        assert ask(shop, server, "--max-cost", "1", settings=PRICED).code == 0
        assert ask(shop, server, "--max-tokens", "100000").code == 0
        assert len(server.requests) == 2


@pytest.mark.slow
@pytest.mark.parametrize("role", ["fast", "plan", "judge", "fallback"])
def test_models_that_may_be_asked_later_need_a_price_too(role: str, shop: Repo) -> None:
    named = '["openai/other"]' if role == "fallback" else '"openai/other"'
    with Loopback() as server:
        done = ask(shop, server, "--max-cost", "1", settings=f"models.{role} = {named}\n{PRICED}")
        assert server.requests == []
    assert done.code == 6
    assert "the price of 'openai/other' is not known" in done.err


@pytest.mark.slow
def test_models_that_play_a_part_cost_nothing(shop: Repo) -> None:
    model = script(shop.root.parent, [{"text": "fine", "usage": USAGE}])
    for name, prompt in ((model, "what is in the cart?"), ("offline", "make the failing test pass")):
        done = run("run", prompt, "--model", name, "--max-cost", "0.01", cwd=shop.root)
        assert done.code == 0, done.err


@pytest.mark.slow
def test_a_server_that_counts_no_tokens_is_counted_by_the_estimate(shop: Repo) -> None:
    with Loopback(steps(99), troubles=[Trouble(no_usage=True)] * 99) as server:
        done = ask(shop, server, "--max-cost", "0.2", "--output", "json", settings=PRICED)
        assert 1 <= len(server.requests) < 20
    assert done.code == 4, done.err
    assert 0 < done.events[-1]["usage"]["cost"] <= 0.2


@pytest.mark.slow
def test_attempts_share_the_limit(shop: Repo) -> None:
    limit = 0.6
    with Loopback(steps(999)) as server:
        done = ask(shop, server, "--attempts", "3", "--max-cost", str(limit), settings=PRICED)
        assert done.code == 4, done.err
        assert "every attempt reached its limit; attempt 1: " in " ".join(done.err.split())
        assert limit / 2 < len(server.requests) * CALL <= limit


@pytest.mark.slow
def test_a_limit_of_the_settings_is_shared_too(shop: Repo) -> None:
    with Loopback(steps(999)) as server:
        ask(shop, server, "--attempts", "2", settings=f"max_cost = 0.3\n{PRICED}")
        assert 0 < len(server.requests) * CALL <= 0.3


@pytest.mark.slow
def test_no_attempt_is_made_again_for_the_message_of_the_commit(shop: Repo) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old="-sum", new="sum")], "usage": USAGE},
        {"text": "Done.", "usage": USAGE},
    ]
    home = shop.root.parent / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "settings.toml").write_text(PRICED)
    with Loopback(turns * 6) as server:  # an attempt that begins when another has ended goes on in the script
        done = run(
            "run", "mend it", "--model", "openai/mine", "--api-base", server.url, "--attempts", "2",
            cwd=shop.root, env={"PATCHWRIGHT_HOME": str(home)},
        )  # fmt: skip
        assert (done.code, len(server.requests)) == (0, 5), done.err  # the last one for the message
    assert shop.committed() == ["cart.py"]


@pytest.mark.slow
@pytest.mark.parametrize("given", ["option", "setting", "strategy"])
def test_a_budget_is_one_limit_for_all_that_the_turn_starts(given: str, shop: Repo) -> None:
    usage = {"input": 1000, "output": 10, "cost": 0.02}
    turns = [{"calls": [call("read", path="cart.py")], "usage": usage, "repeat": 12}]
    home = Home.from_environment(environment())
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text('[strategy]\nbudget = "0.05"\n' if given == "setting" else "")
    options = {
        "option": ("--budget", "3k tokens"),
        "setting": (),
        "strategy": ("--budget", "$0.05", "--strategy", "sample", "--attempts", "2"),
    }[given]
    model = script(shop.root.parent, turns)
    done = run("run", "go", "--model", model, "--output", "json", *options, cwd=shop.root)
    assert done.code == 4, done.err
    assert json.loads(done.out)["usage"]["cost"] <= 0.06


@pytest.mark.slow
def test_nonsense_is_no_budget(shop: Repo) -> None:
    done = run("run", "go", "--budget", "10M", cwd=shop.root)
    assert done.code == 2
    assert done.err == (
        "patchwright: --budget is no budget: '10M': minutes are 10m, tokens 10M tokens\n"
        "  It is like this: 5 or $5 (dollars), 200k tokens, 10m (s, m, h), or several: 5, 10m\n"
    )
    home = Home.from_environment(environment())
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text('[strategy]\nbudget = "lots"\n')
    done = run("run", "go", cwd=shop.root)
    assert done.code == 6
    assert "setting 'strategy.budget'" in done.err
