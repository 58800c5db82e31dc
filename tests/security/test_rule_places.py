"""A rule on paths means one place in every spelling, and all that compare paths agree about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.turn.runtime import Runtime
from sandbox.backends.deny_read import find_denied_paths
from sandbox.errors import UserError
from sandbox.fs.workspace_tree import Tree
from sandbox.policy.decision import Approval, Mode, Policy
from sandbox.policy.effects import Effect
from sandbox.policy.rules import Rules, parse_rule
from sandbox.policy.shell import judge_command_line
from tests.agent.extension.hooks.test_hooks import observations, run_session, shop
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, git, script
from tests.support.repo import Repo
from tools.fs.search import search

__all__ = ["shop"]  # the fixture

PLACES = ["secret.txt", "conf/key.pem", "conf/deep/key.pem", "conf/[id]/key.txt", "a{b}/x.txt", "open.txt"]
NAMES = [
    "secret.txt",
    "conf",
    "conf/key.pem",
    "conf/deep",
    "conf/[id]",
    "conf/**",
    "conf/*.pem",
    "**/key.pem",
    "*.txt",
]


def spell_full(root: Path, name: str) -> str:
    return f"{root}/{name}"


def spell_home(root: Path, name: str) -> str:
    return f"~/{root.relative_to(Path.home())}/{name}"


def spell_by_link(root: Path, name: str) -> str:
    return f"{root.parent}/link/{name}"


def spell_with_dots(root: Path, name: str) -> str:
    return f"{root.parent}/./x/../{root.name}//{name}"


def spell_with_wildcards(root: Path, name: str) -> str:
    return f"{root.parent.parent}/**/{root.name[:2]}*/{name}"


def spell_with_two_slashes(root: Path, name: str) -> str:
    return f"/{root}//{name}"


def spell_by_matching_link(root: Path, name: str) -> str:
    return f"{root.parent}/l?nk/{name}"


def spell_by_link_behind_wildcard(root: Path, name: str) -> str:
    return f"{root.parent.parent}/*/link/{name}"


def spell_relative(root: Path, name: str) -> str:
    return f"./{name}"


SPELLINGS: Sequence[Callable[[Path, str], str]] = [
    spell_full, spell_home, spell_by_link, spell_with_dots, spell_with_wildcards, spell_relative,
    spell_with_two_slashes, spell_by_matching_link, spell_by_link_behind_wildcard,
]  # fmt: skip


ONLY_TO_DENY = (spell_by_matching_link, spell_by_link_behind_wildcard)
"""A link that a wildcard happens to fit allows nothing."""


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Repo(tmp_path / "code" / "shop")
    for place in PLACES:
        made.write(place, "content\n")
    (tmp_path / "code" / "link").symlink_to("shop")
    (tmp_path / "file").symlink_to("code/shop/conf/key.pem")
    (made.root / "inner").symlink_to("conf")
    (made.root / "short.pem").symlink_to("inner/key.pem")
    return made.root


def list_readable(root: Path, rule: str) -> dict[str, set[str]]:
    """By judge, the places that it lets a session read under a rule that denies."""
    rules = Rules((parse_rule(f"read({rule})", "deny"),)).bind(root)
    policy = Policy(Mode.WORKSPACE, Approval.AUTO, rules)
    tree = Tree(root, rules.denies_reading)
    at = replace_rules(root, rules, tree)
    denied = find_denied_paths(root, rules)

    def reads(place: str) -> bool:
        try:
            tree.read(place)
        except PermissionError:
            return False
        return True

    def runs(command: str) -> bool:
        judgement = judge_command_line(command, root=root)
        return policy.decide_command(judgement, root=root, confined=True).verdict != "deny"

    found = asyncio.run(search.run("content", at=at)).text
    return {
        "policy": {
            each
            for each in PLACES
            if policy.decide(Effect(kind="read", paths=(each,)), confined=True).verdict != "deny"
        },
        "edits": {
            each
            for each in PLACES
            if policy.decide(Effect(kind="write", paths=(each,)), confined=True).verdict != "deny"
        },
        "file tools": {each for each in PLACES if reads(each)},
        "commands": {each for each in PLACES if runs(f"cat '{each}'")},
        "commands by the full path": {each for each in PLACES if runs(f"cat '{root}/{each}'")},
        "kernel": {each for each in PLACES if not any((root / each).is_relative_to(path) for path in denied)},
        "search": {each for each in PLACES if f"{each}\n" in found or f"{each}:" in found},
    }


def replace_rules(root: Path, rules: Rules, tree: Tree):  # type: ignore[no-untyped-def]
    return replace(Repo(root, init=False).workspace(), rules=rules, files=tree)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), spell=st.sampled_from(SPELLINGS))
def test_all_agree_about_every_spelling(root: Path, name: str, spell: Callable[[Path, str], str]) -> None:
    expected = list_readable(root, f"./{name}")
    assert len({frozenset(each) for each in expected.values()}) == 1, expected
    assert 0 < len(expected["policy"]) < len(PLACES)
    found = list_readable(root, spell(root, name))
    assert found == expected, spell(root, name)


@pytest.mark.parametrize("spell", SPELLINGS, ids=lambda each: each.__name__)
def test_a_rule_on_edits_by_any_spelling_decides_about_edits(
    root: Path, spell: Callable[[Path, str], str]
) -> None:
    for verdict in ("allow", "ask", "deny"):
        rules = Rules((parse_rule(f"edit({spell(root, 'conf/**')})", verdict),)).bind(root)  # type: ignore[arg-type]
        inside = rules.match_effect(Effect(kind="write", paths=("conf/key.pem",)))
        if verdict == "allow" and spell in ONLY_TO_DENY:
            assert inside is None
            continue
        assert inside is not None
        assert inside.verdict == verdict
        assert str(inside) == f"edit({spell(root, 'conf/**')})"
        assert rules.match_effect(Effect(kind="write", paths=("secret.txt",))) is None


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("inner/key.pem", "./conf/key.pem"),
        ("inner", "./conf"),
        ("inner/**", "./conf/**"),
        ("./inner/*.pem", "./conf/*.pem"),
        ("short.pem", "./conf/key.pem"),
        ("~/file", "./conf/key.pem"),
        ("./conf/[k]ey.pem", "./conf/key.pem"),
        ("conf/[!x]ey.pem", "./conf/key.pem"),
        ("conf/[id]", "./conf/[id]"),
        ("conf/./deep/../key.pem", "./conf/key.pem"),
    ],
)
def test_a_denial_through_a_link_or_a_class_is_that_of_what_it_means(
    root: Path, rule: str, meant: str
) -> None:
    assert list_readable(root, rule) == list_readable(root, meant)


def test_a_rule_with_two_slashes_allows_no_more_than_it_says(root: Path) -> None:
    rules = Rules((parse_rule(f"edit(/{root.parent}/other/**)", "allow"),)).bind(root)
    assert rules.match_effect(Effect(kind="write", paths=("conf/key.pem",))) is None
    rules = Rules((parse_rule("edit(inner/**)", "allow"),)).bind(root)
    assert rules.match_effect(Effect(kind="write", paths=("conf/key.pem",))) is None


def test_a_folder_around_the_workspace_means_all_of_it(root: Path) -> None:
    for pattern in (str(root), f"{root}/", str(root.parent), "~", "~/code/**", "/**", ".", "./"):
        rules = Rules((parse_rule(f"read({pattern})", "deny"),)).bind(root)
        assert rules.denies_reading("open.txt"), pattern
    other = Rules((parse_rule(f"read({root}-other/**)", "deny"),)).bind(root)
    assert not other.denies_reading("open.txt")
    assert other.denies_reading(f"{root}-other/x")


def test_a_session_keeps_rules_by_full_paths(shop: Path) -> None:
    (shop / "secret.txt").write_text("hidden\n")
    rules = (parse_rule(f"read({shop}/secret.txt)", "deny"), parse_rule(f"edit({shop}/cart.py)", "deny"))
    calls = [
        call("read", path="secret.txt"),
        call("edit", path="cart.py", old="2", new="3"),
        call("search", pattern="hidden"),
        call("shell", command="cat secret.txt"),
    ]
    turns = [{"calls": [each]} for each in calls]
    found = observations(run_session(shop, [*turns, {"text": "Done."}], rules=Rules(rules)))
    assert "denied" in found[0]
    assert "denied" in found[1]
    assert not any("hidden\n" in each for each in found)
    assert (shop / "cart.py").read_text() == "RATE = 2\n"


def test_a_child_in_a_work_tree_keeps_them_too(shop: Path) -> None:
    (shop / "secret.txt").write_text("hidden\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "More")

    async def story(runtime: Runtime, children: Children) -> None:
        turns = [
            {"calls": [call("read", path="secret.txt")]},
            {"calls": [call("search", pattern="hidden")], "expect": ["denied"]},
            {"text": "Seen.", "expect": ["no line matches"]},
        ]
        task = ChildSpec(prompt="Look", place="worktree", model=script(shop.parent, turns, "child.json"))
        assert (await children.run(task)).report == "Seen."

    rules = Rules((parse_rule(f"read({shop}/secret.txt)", "deny"),))
    play(shop, settings_for(script(shop.parent, [{"text": "Done."}]), rules=rules), story)


def test_a_session_in_a_linked_work_tree_keeps_those_of_the_main_one(shop: Path) -> None:
    (shop / "secret.txt").write_text("hidden\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "More")
    git(shop, "worktree", "add", "-q", "../linked")
    rules = Rules((parse_rule(f"read({shop}/secret.txt)", "deny"),))
    assert rules.bind(shop.parent / "linked").denies_reading("secret.txt")
    assert not rules.bind(shop.parent / "other").denies_reading("secret.txt")


@pytest.mark.parametrize(
    "text",
    [
        "read(~nobody-of-this-name/x)",
        "edit(src\\x.py)",
        "read(*.{pem,key})",
        "network(https://pypi.org)",
        "network(pypi.org/simple)",
        "network(pypi.org:443)",
        "mcp(github)",
        "read(../x)",
        "read('secret.txt')",
        "read(/proc/self/cwd/x)",
    ],
)
def test_a_rule_that_can_match_nothing_is_an_error(text: str) -> None:
    with pytest.raises(UserError):
        parse_rule(text, "deny")


def test_a_program_by_its_full_path_is_the_program(tmp_path: Path) -> None:
    rules = Rules((parse_rule("shell(/usr/bin/git push *)", "deny"),))
    for line in ("git push", "/usr/bin/git push -f", "bash -c '/bin/git push'"):
        assert any(rules.match_segment(each) for each in judge_command_line(line, root=tmp_path).segments), (
            line
        )
