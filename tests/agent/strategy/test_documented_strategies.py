"""The examples of the documentation run: the strategy of the architecture page, one of one's own, the settings."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.children.spec import ChildSpec
from agent.events import CandidateEvent, ChoiceEvent, End
from agent.monitor.answers import TurnEnd
from agent.session.log import read_events
from agent.session_settings import SessionSettings, StrategySettings
from agent.strategy.ranking import rank_candidates
from agent.strategy.strategy import Strategy, run_strategy
from agent.strategy.strategy_turn import StrategyTurn
from agent.turn.runtime import Runtime
from cli.settings.layers import load_settings
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.cli import CHECKOUT, call, script
from tests.support.repo import Repo
from tests.support.sessions import play_session

pytestmark = pytest.mark.slow


SETTINGS = StrategySettings(name="own", attempts=3)


def read_section(path: str, heading: str) -> str:
    return re.split(r"^##", (CHECKOUT / path).read_text("utf-8").partition(f"{heading}\n")[2], flags=re.M)[0]


def read_block(path: str, heading: str, language: str) -> str:
    """Return the first block in a language under a heading."""
    block = re.search(
        rf"^( *)```{language}\n(.*?)^\1```", read_section(path, heading), re.MULTILINE | re.DOTALL
    )
    assert block is not None
    return textwrap.dedent(block[2])


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "total = 0.0\n")
    repo.commit_all()
    return repo


def take_turn(shop: Repo, model: str, strategy: Strategy) -> tuple[End, list[Any]]:
    """Return the end of the turn, and its candidates and choices."""
    access = AccessSettings(approval=Approval.NEVER, sandbox="unconfined")

    async def story(runtime: Runtime) -> tuple[End, list[Any]]:
        end = await run_strategy(runtime, strategy, "make the total an int", SETTINGS)
        events = read_events(runtime.session.folder)
        return end, [each for each in events if isinstance(each, CandidateEvent | ChoiceEvent)]

    return play_session(shop.root, SessionSettings(model=model, access=access), story)  # type: ignore[no-any-return]


def define(path: str, heading: str, names: dict[str, Any]) -> dict[str, Any]:
    code = compile(read_block(path, heading, "python"), path, "exec", dont_inherit=True)
    exec(code, names)
    return names


def test_the_strategy_of_the_architecture_page_goes_on_from_a_candidate(shop: Repo, tmp_path: Path) -> None:
    names = {
        "ChildSpec": ChildSpec,
        "StrategyTurn": StrategyTurn,
        "TurnEnd": TurnEnd,
        "rank_candidates": rank_candidates,
    }
    # The same script for both: the second session begins with the first one's file.
    read = {
        "calls": [call("shell", command="cat cart.py; sed -i 's/0.0/0  # cents/; t; s/  # cents//' cart.py")]
    }
    model = script(tmp_path, [read, {"text": "Done."}])
    own = define("docs/architecture.md", "### Strategies", names)
    end, events = take_turn(shop, model, own["Refine"]())
    first, second, choice = events
    assert (first.lines, second.lines, choice.attempt) == (2, 2, 1)
    assert shop.read("cart.py") == "total = 0  # cents\n"
    assert end.summary == "Done."


@pytest.mark.parametrize("works", [True, False])
def test_the_strategy_of_the_walk_through_runs(shop: Repo, tmp_path: Path, *, works: bool) -> None:
    edit = {"calls": [call("edit", path="cart.py", old="0.0", new="0")]}
    give_up = {"calls": [call("finish", summary="No.", status="not achieved")], "repeat": 9}
    if works:
        shop.write("Makefile", "test:\n\t@echo '1 passed in 0.01s'\n")
        shop.commit_all()
    model = script(tmp_path, [edit, {"text": "An int."}] if works else [edit, give_up])
    own = define("CONTRIBUTING.md", "### Add a strategy", {"__name__": "until_it_passes"})
    end, events = take_turn(shop, model, own["UntilItPasses"](SETTINGS))
    assert len(events) == (2 if works else 4), "a second attempt only if the first one is not done"
    assert end.summary == ("An int." if works else "No.")
    assert shop.read("cart.py") == "total = 0\n"


def test_the_walk_through_fits_on_a_screen() -> None:
    page = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8").partition("### Add a strategy\n")[2]
    assert len(page.partition("\n### ")[0].splitlines()) < 40


def test_the_settings_of_the_page_load() -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(read_block("docs/git.md", "## Attempts", "toml"))
    found = load_settings(home, None, {}).session.strategy
    assert (found.name, found.attempts, found.temperatures) == ("sample", 3, [0.3, 0.7, 1.0])
