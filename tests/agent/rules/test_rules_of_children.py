"""A child session cannot do what the rules of its parent forbid, wherever its files are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.children.children import Children
from agent.children.spec import ChildResult, ChildSpec
from agent.events import Event, RuleEvent
from agent.session.log import read_events
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from tests.agent.rules.rule_sessions import calls, make_shop, play
from tests.support.cli import call, script

pytestmark = pytest.mark.slow


READ = call("read", path="cart.py")
EDIT = call("edit", path="cart.py", old="sum(items)", new="sum(items) + 0")
PUBLISH = call("shell", command="sh -c 'touch published'")
PYTHON = "open('vendor/lib.py', 'w').write('x = 1')"

ORDER = {"name": "order", "kind": "order", "text": "shell(touch *) needs tests-passed since edit"}
RULES: list[dict[str, Any]] = [
    ORDER,
    {"name": "protect", "kind": "protect", "paths": ["vendor/**"]},
    {"name": "imports", "kind": "imports", "modules": ["requests"]},
    {"name": "commands", "kind": "commands", "commands": ["rm *"]},
    {"name": "diff", "kind": "diff", "max_lines": 3},
]
HOSTILE = calls(
    call("write", path="vendor/lib.py", content="x = 1\n"),
    call("shell", command=f'python3 -c "{PYTHON}"'),
    call("write", path="a.py", content="import requests\n"),
    call("shell", command="bash -c 'rm cart.py'"),
    call("write", path="long.txt", content="1\n2\n3\n4\n"),
    PUBLISH,
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def run_child(
    shop: Path, before: list[Any], replies: list[Any], *rules: Any, **spec: Any
) -> tuple[ChildResult, list[Event]]:
    """Play the parent's replies, then those of a child; return its result and its log."""
    found: list[tuple[ChildResult, list[Event]]] = []
    model = script(shop.parent, [*replies, {"text": "done"}], "child.json")

    async def story(runtime: Runtime) -> None:
        async with Children.open(runtime) as children:
            result = await children.run(ChildSpec(prompt="do it", model=model, **spec))
            found.append((result, list(read_events(runtime.session.folder.parent / result.child))))

    play(shop, before, *rules, sandbox="unconfined", mode="full", story=story)
    return found[0]


@pytest.mark.parametrize("place", ["worktree", "lease"])
def test_a_child_is_held_to_the_rules_of_its_parent(shop: Path, place: str) -> None:
    (shop / "broken").touch()  # so that the tests fail
    result, events = run_child(shop, [calls(READ, EDIT)], [HOSTILE], *RULES, place=place)
    blocked = {each.rule for each in events if isinstance(each, RuleEvent)}
    assert blocked == {"order", "protect", "imports", "commands", "diff"}
    assert result.patch == b""
    assert (shop / "vendor" / "lib.py").read_text() == "LIB = 1\n"
    assert not (shop / "published").exists()


def test_a_childs_tests_do_not_release_its_parent(shop: Path) -> None:
    """The parent edits, a child runs the tests in a worktree, and the parent still has to run its own."""
    model = script(shop.parent, [calls(call("run_tests")), {"text": "they pass"}], "child.json")
    broken = shop / "broken"
    broken.touch()
    told: list[str] = []

    async def story(runtime: Runtime) -> None:
        broken.unlink()
        async with Children.open(runtime) as children:
            await children.run(ChildSpec(prompt="test", model=model, place="worktree"))
        answer = await runtime.loop.gateway.run_nested(_make_action(PUBLISH))
        told.append(answer.text)
        await runtime.run_harness_action("run_tests", {})
        told.append((await runtime.loop.gateway.run_nested(_make_action(PUBLISH))).text)

    play(shop, [calls(READ, EDIT)], ORDER, sandbox="unconfined", mode="full", story=story)
    assert "needs tests-passed" in told[0]
    assert told[1].startswith("exit 0")


def _make_action(asked: dict[str, Any]) -> Any:
    from tools.core.action import Action

    return Action(id="again", tool=asked["tool"], arguments=asked["arguments"])


ELSEWHERE = [each for each in RULES if each["name"] != "diff"]


def test_a_child_in_another_process_is_held_to_them_as_well(shop: Path) -> None:
    """It begins with its parent's state: the edit of the parent is untested there, too."""
    (shop / "broken").touch()
    result, events = run_child(shop, [calls(READ, EDIT)], [HOSTILE], *RULES, place="worktree", runs="process")
    blocked = {each.rule for each in events if isinstance(each, RuleEvent)}
    assert blocked == {"order", "protect", "imports", "commands", "diff"}
    assert result.patch == b""


def test_what_a_child_in_another_process_does_counts_for_its_parent(shop: Path) -> None:
    model = script(shop.parent, [calls(READ, EDIT), {"text": "done"}], "child.json")
    told: list[str] = []

    async def story(runtime: Runtime) -> None:
        gateway = runtime.loop.gateway
        told.append((await gateway.run_nested(_make_action(PUBLISH))).text)
        async with Children.open(runtime) as children:
            spec = ChildSpec(prompt="edit", model=model, place="lease", runs="process")
            assert (await children.run(spec)).files == ("cart.py",)
        (shop / "broken").touch()
        await runtime.run_harness_action("run_tests", {})
        told.append((await gateway.run_nested(_make_action(PUBLISH))).text)

    play(shop, [], *ELSEWHERE, sandbox="unconfined", mode="full", story=story)
    assert told[0].startswith("exit 0"), "nothing was edited"
    assert "needs tests-passed" in told[1]


def test_a_child_in_another_process_cannot_share_a_limited_diff(shop: Path) -> None:
    with pytest.raises(UserError, match="limits the size"):
        run_child(shop, [], [HOSTILE], *RULES, place="lease", runs="process")
