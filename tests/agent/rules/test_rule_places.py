"""Paths of rules in every spelling: relative, by the full path, from `~`, and from another work tree of the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.rules.rule_places import bind_rules
from tests.agent.rules.rule_sessions import calls, make_rules, make_shop, play
from tests.support.cli import call, git

SPELLINGS = ("vendor/**", "{root}/vendor/**", "{root}/vendor", "~/{home}/vendor/*.py", "/**/vendor/lib.py")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def spell(pattern: str, shop: Path) -> str:
    return pattern.format(root=shop, home=os.path.relpath(shop, Path.home()).removeprefix("../"))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", SPELLINGS)
@pytest.mark.parametrize("way", ["edit", "shell"])
def test_a_protected_place_is_kept_in_every_spelling(
    shop: Path, pattern: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(shop.parent))
    rule = {"name": "keep", "kind": "protect", "paths": [spell(pattern, shop)]}
    action = {
        "edit": call("edit", path="vendor/lib.py", old="LIB = 1", new="LIB = 2"),
        "shell": call("shell", command="echo LIB = 2 > vendor/lib.py"),
    }[way]
    other = call("edit", path="cart.py", old="sum(items)", new="sum(items) + 0")
    played = play(shop, [calls(action), calls(other)], rule)
    assert played.read("vendor/lib.py") == "LIB = 1\n"
    assert "+ 0" in str(played.read("cart.py"))


def test_a_rule_on_another_place_holds_nowhere_here(shop: Path) -> None:
    rules = make_rules(
        {"name": "one", "kind": "diff", "max_lines": 1, "paths": ["/elsewhere/src/**"]},
        {"name": "two", "kind": "freeze", "paths": ["/elsewhere/a.py", "cart.py"]},
        {"name": "three", "kind": "freeze"},
    )
    bound = bind_rules(rules, shop)
    assert [(each.name, each.paths) for each in bound] == [("two", ["cart.py"]), ("three", [])]  # type: ignore[attr-defined]


def test_a_rule_on_a_place_of_the_main_work_tree_holds_in_a_linked_one(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "linked"))
    (rule,) = make_rules({"name": "keep", "kind": "protect", "paths": [f"{shop}/vendor/**"]})
    (bound,) = bind_rules([rule], tmp_path / "linked")
    assert any(each.removeprefix("./") == "vendor/**" for each in bound.paths)  # type: ignore[attr-defined]
