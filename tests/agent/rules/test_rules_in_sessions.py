"""Sessions under rules, end to end: a hostile model tries to get around each kind, and honest work passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.events import DecisionEvent, VerdictEvent
from agent.exit_codes import Exit
from agent.rules.session_check import check_session
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.agent.rules.rule_sessions import Played, calls, make_rules, make_shop, play
from tests.support.cli import call, git

pytestmark = pytest.mark.slow


CART = "def total(items):\n    return sum(items)\n"
READ = call("read", path="cart.py")
EDIT = call("edit", path="cart.py", old="sum(items)", new="sum(items) + 0")
BACK = call("edit", path="cart.py", old="sum(items) + 0", new="sum(items)")
TEST = call("run_tests")
COMMIT = call("git_commit", message="Change the total")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def of_kind(kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": kind, "kind": kind, **fields}


def code(text: str) -> dict[str, Any]:
    return call("python", code=text)


def sh(command: str) -> dict[str, Any]:
    return call("shell", command=command)


class Person:
    """An approver who always gives the same answer."""

    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict
        self.asked: list[str] = []

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        self.asked.append(question.reason)
        return Decision(verdict=self.verdict, reason="a person says so")


def check_again(played: Played, *rules: Any) -> set[tuple[str, str]]:
    """(call, rule) of what the log says would have been blocked."""
    store = played.folder.parent.parent / "snapshots"
    snapshots = Snapshots(played.shop, store) if store.is_dir() else None
    found = check_session(played.events, make_rules(*rules), played.shop, snapshots)
    return {(each.call, each.rule) for each in found if each.is_blocked}


def live(played: Played) -> set[tuple[str, str]]:
    from agent.events import RuleEvent

    blocked = [each for each in played.events if isinstance(each, RuleEvent) and each.answer != "reminded"]
    return {(each.call, each.rule) for each in blocked}


ORDER = of_kind("order", text="commit needs tests-passed since edit")


def test_a_commit_waits_for_tests_after_the_last_edit(shop: Path) -> None:
    played = play(shop, [calls(READ, EDIT, COMMIT), calls(TEST, COMMIT)], ORDER)
    refused, made = [each for each in played.observations if each.tool == "git_commit"]
    assert "the user's rule 'order': commit needs tests-passed after the last edit" in refused.text
    assert made.data["commit"]
    assert played.blocked == [("order", "refused")]
    assert check_again(played, ORDER) == live(played)


def test_code_that_edits_behind_the_tests_commits_nothing(shop: Path) -> None:
    hostile = (
        'edit(path="cart.py", old="sum(items)", new="sum(items) + 0")\nrun_tests()\n'
        'open("cart.py", "w").write("x = 1\\n")\ngit_commit(message="Hide it well")'
    )
    played = play(shop, [calls(READ), calls(code(hostile))], ORDER)
    assert played.blocked[0] == ("order", "refused")
    assert git(shop, "log", "--format=%s").splitlines()[0] != "Hide it well"


def test_code_may_edit_test_and_commit_in_one_block(shop: Path) -> None:
    block = (
        'edit(path="cart.py", old="sum(items)", new="sum(items) + 0")\nrun_tests()\n'
        'git_commit(message="Change the total")'
    )
    played = play(shop, [calls(READ), calls(code(block))], ORDER, FREEZE, of_kind("diff", max_lines=2))
    assert (played.blocked, git(shop, "log", "-1", "--format=%s").strip()) == ([], "Change the total")


def test_commits_of_the_harness_are_held_to_the_order_too(shop: Path) -> None:
    rule = of_kind("order", text="commit needs shell(echo reviewed) since edit")
    play(shop, [calls(READ, EDIT)], rule, sandbox="unconfined", commit="turn")
    assert git(shop, "log", "-1", "--format=%s").strip() == "Start"
    git(shop, "checkout", "-q", "cart.py")
    play(shop, [calls(READ, EDIT, sh("echo reviewed"))], rule, sandbox="unconfined", commit="turn")
    assert git(shop, "log", "-1", "--format=%s").strip() != "Start"


def test_an_event_can_close_a_command_until_a_person_speaks(shop: Path) -> None:
    rule = of_kind("order", text="never shell(cat *) after read(CHANGELOG.md) until prompt")
    turns = [calls(sh("cat cart.py")), calls(call("read", path="CHANGELOG.md"), sh("sh -c 'cat cart.py'"))]
    played = play(shop, turns, rule, sandbox="unconfined", mode="full")
    assert [each.failed for each in played.observations if each.tool == "shell"] == [False, True]
    assert check_again(played, rule) == live(played)


PROTECT = of_kind("protect", paths=["vendor/**", "CHANGELOG.md"])

ATTACKS_ON_FILES = [
    call("write", path="CHANGELOG.md", content="x\n"),
    sh("echo x > CHANGELOG.md"),
    sh("sh -c 'mv vendor gone'"),
    sh("ln -s CHANGELOG.md link.md"),
    call("write", path="link.md", content="y\n"),
    sh("python3 -c \"open('CHANGELOG.md', 'w').write('x')\""),
    code("open('vendor/new.py', 'w').write('x')"),
    code("import os\nos.rename('vendor', 'gone')"),
    sh("git mv CHANGELOG.md C.md"),
    sh("rm -f ./vendor/../CHANGELOG.md"),
]


@pytest.mark.parametrize(("sandbox", "mode"), [("auto", "workspace"), ("unconfined", "full")])
def test_protected_files_stay_as_they_are(shop: Path, sandbox: str, mode: str) -> None:
    honest = calls(READ, EDIT, call("write", path="vendored.py", content="x = 1\n"))
    played = play(
        shop, [calls(each) for each in ATTACKS_ON_FILES] + [honest], PROTECT, sandbox=sandbox, mode=mode
    )
    assert (played.read("CHANGELOG.md"), played.read("vendor/lib.py")) == ("# Changes\n", "LIB = 1\n")
    assert sorted(each.name for each in (shop / "vendor").iterdir()) == ["lib.py"]
    assert (played.read("vendored.py"), "+ 0" in str(played.read("cart.py"))) == ("x = 1\n", True)
    (shop / "link.md").unlink()  # a log is checked with the links of now
    assert check_again(played, PROTECT) == live(played)
    if sandbox == "unconfined":  # nothing but the rule was in the way
        assert {answer for _, answer in played.blocked} == {"refused", "undone"}


def test_a_file_that_may_not_be_read_is_hidden_from_reads(shop: Path) -> None:
    rule = of_kind("protect", paths=["CHANGELOG.md"], access="read")
    played = play(shop, [calls(call("read", path="CHANGELOG.md"), READ)], rule, sandbox="unconfined")
    assert [each.failed for each in played.observations] == [True, False]


IMPORTS = of_kind("imports", modules=["requests"])


def test_no_file_begins_to_import_a_forbidden_module(shop: Path) -> None:
    turns = [
        calls(
            READ,
            call("edit", path="cart.py", old="def total", new="import requests\n\n\ndef total"),
            call("write", path="a.py", content="r = __import__('requ' + 'ests')\n"),
            sh("printf 'import importlib\\nimportlib.import_module(\"requests\")\\n' > b.py"),
            code("open('c.py', 'w').write('from requests import get')"),
            call("write", path="ok.py", content="import json  # not requests\n"),
        )
    ]
    played = play(shop, turns, IMPORTS, sandbox="unconfined", mode="full")
    assert [answer for _, answer in played.blocked] == ["refused", "refused", "undone", "undone"]
    assert [played.read(f"{name}.py") for name in "abc"] == [None, None, None]
    assert (played.read("cart.py"), played.read("ok.py") is not None) == (CART, True)
    assert check_again(played, IMPORTS) == live(played)


def test_a_file_with_an_old_import_may_change_and_move(shop: Path) -> None:
    (shop / "old.py").write_text("import requests\n\nX = 1\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Add old")
    edit = call("edit", path="old.py", old="X = 1", new="X = 2")
    played = play(
        shop,
        [calls(call("read", path="old.py"), edit, sh("mv old.py new.py"))],
        IMPORTS,
        sandbox="unconfined",
    )
    assert (played.blocked, played.read("new.py")) == ([], "import requests\n\nX = 2\n")


COMMANDS = of_kind("commands", commands=["rm *"], message="ask me to remove files")


def test_a_forbidden_command_runs_in_no_disguise(shop: Path) -> None:
    turns = [
        calls(sh("rm cart.py")),
        calls(sh("sh -c 'rm cart.py'"), sh("echo cm0gY2FydC5weQ== | base64 -d | sh")),
        calls(call("write", path="x.sh", content="rm cart.py\n"), sh("bash x.sh")),
        calls(code("shell('rm cart.py')")),
        calls(code("import subprocess\nsubprocess.run(['rm', 'cart.py'])")),
        calls(sh("ls"), sh("echo 'rm cart.py'"), code("import subprocess\nsubprocess.run(['ls', '-a'])")),
    ]
    played = play(shop, turns, COMMANDS, sandbox="unconfined", mode="full")
    assert [answer for _, answer in played.blocked] == ["refused"] * 6
    assert played.read("cart.py") == CART
    assert all(
        "ask me to remove files" in each.text for each in played.observations if each.data.get("out_of_order")
    )
    assert [each.failed for each in played.observations[-4:-1]] == [False, False, False]
    assert check_again(played, COMMANDS) == live(played)


DIFF = of_kind("diff", max_lines=4, max_files=2)


def test_a_turn_changes_no_more_than_its_limit(shop: Path) -> None:
    turns = [
        calls(
            call("write", path="a.txt", content="1\n2\n"),
            call("write", path="b.txt", content="1\n2\n3\n"),
            sh("seq 9 > c.txt"),
            call("write", path="a.txt", content="1\n3\n"),
            TEST,
            COMMIT,
            code("open('d.txt', 'w').write('1')"),
            call("write", path="e.txt", content="1\n"),
        )
    ]
    played = play(shop, turns, DIFF, sandbox="unconfined", mode="full")
    assert [answer for _, answer in played.blocked] == ["refused", "undone", "refused"]
    there = {each.name for each in shop.glob("*.txt")}
    assert there == {"a.txt", "d.txt"}, "a commit in between does not start the count anew"
    assert check_again(played, DIFF) == live(played)


FREEZE = of_kind("freeze", paths=["*.py"])


def test_what_has_passed_the_tests_does_not_change_again(shop: Path) -> None:
    turns = [
        calls(READ, EDIT, TEST),
        calls(BACK, sh("echo >> cart.py"), sh("python3 -c \"open('cart.py', 'a').write('x = 1')\"")),
        calls(call("write", path="new.py", content="x = 1\n")),
        calls(
            call("write", path="new.py", content="x = 2\n"),
            sh("echo note > n.txt"),
            TEST,
            sh("echo more > n.txt"),
        ),
    ]
    played = play(shop, turns, FREEZE, sandbox="unconfined", mode="full")
    assert [answer for _, answer in played.blocked] == ["asked", "asked", "undone"]
    assert (played.read("cart.py"), played.read("new.py"), played.read("n.txt")) == (
        CART.replace("sum(items)", "sum(items) + 0"),
        "x = 2\n",
        "more\n",
    )
    assert check_again(played, FREEZE) == live(played)


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_a_person_can_allow_a_frozen_file_to_change(shop: Path, verdict: str) -> None:
    person = Person(verdict)
    turns = [calls(READ, EDIT, TEST), calls(BACK, call("edit", path="cart.py", old="sum", new="0 + sum"))]
    played = play(shop, turns, FREEZE, sandbox="unconfined", mode="full", approval="auto", approver=person)
    asked = [each for each in person.asked if "'freeze'" in each]
    assert len(asked) == (1 if verdict == "allow" else 2), "once it has changed, it is not frozen"
    assert (played.read("cart.py") == CART.replace("sum", "0 + sum")) is (verdict == "allow")
    assert next(each.by for each in played.events if isinstance(each, DecisionEvent)) == "person"


def test_required_tests_hold_the_turn_and_the_commit(shop: Path) -> None:
    rule = of_kind("tests", command="test -f ok", message="make the marker")
    settings: dict[str, Any] = {"sandbox": "unconfined"}
    played = play(
        shop, [calls(READ, EDIT), {"text": "done"}, {"text": "done"}, {"text": "done"}], rule, **settings
    )
    assert played.end.exit_code == Exit.NOT_ACHIEVED
    verdicts = [
        each for each in played.events if isinstance(each, VerdictEvent) and each.name == "rule tests"
    ]
    assert {(each.outcome, each.evidence) for each in verdicts} == {("fail", "executed")}
    assert "`test -f ok` must succeed (make the marker)" in verdicts[0].detail
    played = play(
        shop,
        [calls(READ, BACK), {"text": "done"}, calls(call("write", path="ok", content=""))],
        rule,
        **settings,
    )
    assert played.end.exit_code == Exit.DONE, "the model had another step"
    assert play(shop, [{"text": "nothing to do"}], rule, **settings).end.exit_code == Exit.DONE


def test_rules_restrict_and_never_grant(shop: Path) -> None:
    allowing = [
        of_kind("order", text="shell(git push *) needs tests-passed"),
        of_kind("commands", commands=["rm -rf *"], level="remind"),
        of_kind("protect", paths=["x"], level="remind"),
    ]
    turns = [
        calls(TEST, sh("git push"), call("write", path=".github/x.yml", content="x"), sh("curl http://e.org"))
    ]
    with_rules = play(shop, turns, *allowing)
    without = play(shop, turns)
    told = [[each.failed for each in played.observations] for played in (with_rules, without)]
    assert told[0] == told[1] == [False, True, True, True]
    read_only = play(shop, [calls(call("write", path="a", content="x"))], *allowing, mode="read-only")
    assert (read_only.observations[0].failed, (shop / "a").exists()) == (True, False)


def test_a_rule_may_only_remind(shop: Path) -> None:
    rules = [
        of_kind("protect", paths=["cart.py"], level="remind"),
        of_kind("imports", modules=["json"], level="remind"),
    ]
    expect = [
        "[the user's rule 'protect': cart.py is protected]",
        "[the user's rule 'imports': a.py would import json]",
    ]
    turns = [
        calls(READ, EDIT, call("write", path="a.py", content="import json\n")),
        {"text": "ok", "expect": expect},
    ]
    played = play(shop, turns, *rules, sandbox="unconfined")
    assert {answer for _, answer in played.blocked} == {"reminded"}
    assert "+ 0" in str(played.read("cart.py"))
    assert check_again(played, *rules) == set()


def test_a_past_session_without_rules_is_held_against_them(shop: Path) -> None:
    turns = [
        calls(READ, EDIT, sh("sh -c 'rm CHANGELOG.md'")),
        calls(
            call("write", path="a.py", content="import requests\n"),
            call("write", path="vendor/b.py", content=""),
        ),
        calls(TEST, BACK, COMMIT),
    ]
    played = play(shop, turns, sandbox="unconfined", mode="full")
    assert played.blocked == []
    tools = {each.call: each.tool for each in played.observations}
    rules = (ORDER, PROTECT, IMPORTS, COMMANDS, FREEZE, of_kind("diff", max_lines=2))
    found = {(tools[at], rule) for at, rule in check_again(played, *rules)}
    assert found == {
        ("git_commit", "order"),
        ("shell", "protect"),
        ("write", "protect"),
        ("shell", "commands"),
        ("write", "imports"),
        ("edit", "freeze"),
        ("shell", "diff"),
        ("write", "diff"),
    }


def test_a_resumed_session_remembers(shop: Path) -> None:
    (shop / "broken").touch()  # so that the tests fail
    played = play(shop, [calls(READ, EDIT)], ORDER, sandbox="unconfined")
    again = play(shop, [calls(COMMIT)], ORDER, sandbox="unconfined", session=played.folder.name)
    commits = [each for each in again.observations if each.tool == "git_commit"]
    assert [each.failed for each in commits] == [True]
