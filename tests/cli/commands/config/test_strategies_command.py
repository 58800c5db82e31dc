"""`patchwright strategies`: each strategy with what it costs and when it pays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.strategy.strategy_table import read_strategies
from cli.commands.config.strategies import list_strategies


@pytest.mark.slow
def test_each_strategy_is_listed_and_the_one_of_the_settings_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text('[strategy]\nname = "team"\n')
    assert list_strategies(tmp_path, as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [f"{each} (strategy.name)" if each == "team" else each for each in read_strategies()]
    assert [each.partition(":")[0] for each in lines if not each.startswith(" ")] == names
    told = [each.split(":")[0].strip() for each in lines if each.startswith(" ")]
    assert told == ["costs", "pays"] * len(names)
    assert list_strategies(tmp_path, as_json=True) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["chosen"]) for each in rows] == [
        (name, name == "team") for name in read_strategies()
    ]
    assert all(each["cost"] and each["pays"] for each in rows)
