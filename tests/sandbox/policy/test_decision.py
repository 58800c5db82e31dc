"""Policy: what each mode and approval allows, asks about and denies; for tools and for judged commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.policy.decision import Approval, Decision, Mode, Policy, pick_strictest
from sandbox.policy.effects import Effect, EffectKind
from sandbox.policy.rules import Permission, Rules, parse_rule
from sandbox.policy.shell import judge_command_line


@pytest.mark.parametrize(
    ("mode", "kind", "confined", "verdict"),
    [
        (Mode.READ_ONLY, "read", False, "allow"),
        (Mode.READ_ONLY, "none", False, "allow"),
        (Mode.READ_ONLY, "write", True, "deny"),
        (Mode.READ_ONLY, "git", True, "deny"),
        (Mode.READ_ONLY, "execute", True, "allow"),
        (Mode.READ_ONLY, "execute", False, "deny"),
        (Mode.WORKSPACE, "write", True, "ask"),
        (Mode.WORKSPACE, "git", True, "allow"),
        (Mode.WORKSPACE, "execute", True, "allow"),
        (Mode.WORKSPACE, "execute", False, "ask"),
        (Mode.WORKSPACE, "network", True, "ask"),
        (Mode.WORKSPACE, "destructive", True, "ask"),
        (Mode.FULL, "destructive", False, "allow"),
    ],
)
def test_the_verdict_of_each_mode(mode: Mode, kind: EffectKind, confined: bool, verdict: str) -> None:
    assert Policy(mode, Approval.ASK).decide(Effect(kind=kind), confined=confined).verdict == verdict


COMMANDS = {
    "reads": "grep -r total src | head -3",
    "writes": "echo x > notes.txt",
    "runs": "python -m pytest -q",
    "may use the network": "npm test",
    "unknown": "$TOOL x",
    "network": "curl https://example.org/x",
    "git": "git commit -m x",
    "destructive": "git reset --hard",
    "outside": "echo x > /etc/motd",
    "protected": "echo x > .git/config",
    "secret": "cat ~/.ssh/id_ed25519",
    "scratch": "echo x > /var/tmp/notes",
}

TABLE = """
                     read-only        workspace                                full
                     conf  unconf     ask   auto  never | ask   auto  never     any
reads                allow allow      allow allow allow | allow allow allow    allow
writes               allow deny       ask   allow allow | ask   allow allow    allow
runs                 allow deny       ask   allow allow | ask   ask   deny     allow
may use the network  allow deny       ask   allow allow | ask   ask   deny     allow
unknown              allow deny       ask   allow allow | ask   ask   deny     allow
network              allow deny       ask   ask   deny  | ask   ask   deny     allow
git                  allow deny       ask   ask   deny  | ask   ask   deny     allow
destructive          allow deny       ask   ask   deny  | ask   ask   deny     allow
outside              allow deny       ask   ask   deny  | ask   ask   deny     allow
protected            allow deny       ask   ask   deny  | ask   ask   deny     allow
secret               allow deny       ask   ask   deny  | ask   ask   deny     allow
scratch              allow deny       ask   allow allow | ask   ask   deny     allow
"""


def rows() -> list[tuple[str, list[str]]]:
    lines = [line.replace("|", " ") for line in TABLE.strip().splitlines()[2:]]
    return [(line[:21].strip(), line[21:].split()) for line in lines]


def decided(
    command: str,
    root: Path,
    mode: Mode,
    approval: Approval,
    *rules: tuple[str, Permission],
    confined: bool = True,
) -> Decision:
    policy = Policy(mode, approval, Rules(tuple(parse_rule(text, verdict) for text, verdict in rules)))
    return policy.decide_command(judge_command_line(command, root=root), root=root, confined=confined)


@pytest.mark.parametrize(("name", "verdicts"), rows())
def test_every_combination_of_mode_approval_and_confinement(
    name: str, verdicts: list[str], workspace: Path, home: Path
) -> None:
    key = home / ".ssh" / "id_ed25519"
    key.parent.mkdir()
    key.write_text("key")
    approvals = (Approval.ASK, Approval.AUTO, Approval.NEVER)

    def verdict(mode: Mode, approval: Approval, confined: bool) -> str:
        return decided(COMMANDS[name], workspace, mode, approval, confined=confined).verdict

    both, *rest, full = verdicts[0:2], *verdicts[2:8], verdicts[8]
    for approval in approvals:
        assert [verdict(Mode.READ_ONLY, approval, confined) for confined in (True, False)] == both
        assert {verdict(Mode.FULL, approval, confined) for confined in (True, False)} == {full}
    assert [verdict(Mode.WORKSPACE, a, confined) for confined in (True, False) for a in approvals] == rest


def test_every_command_has_its_row() -> None:
    assert [name for name, _ in rows()] == list(COMMANDS)


def test_what_is_denied_for_want_of_a_person_says_what_to_do_instead(workspace: Path) -> None:
    denied = decided("git commit -m x", workspace, Mode.WORKSPACE, Approval.NEVER)
    assert "use git_commit" in denied.reason


def test_one_bad_part_decides_over_a_line_of_good_ones(workspace: Path) -> None:
    line = " && ".join(["ls"] * 60 + ["git push"])
    assert decided(line, workspace, Mode.WORKSPACE, Approval.AUTO).verdict == "ask"


def test_a_rule_allows_only_its_own_part_of_a_line(workspace: Path) -> None:
    rule: tuple[str, Permission] = ("shell(git commit *)", "allow")
    assert decided("git commit -m x", workspace, Mode.WORKSPACE, Approval.NEVER, rule).verdict == "allow"
    line = "git commit -m x && git push"
    assert decided(line, workspace, Mode.WORKSPACE, Approval.NEVER, rule).verdict == "deny"


def test_no_rule_loosens_read_only_mode(workspace: Path) -> None:
    rule: tuple[str, Permission] = ("shell(pytest *)", "allow")
    found = decided("pytest -q", workspace, Mode.READ_ONLY, Approval.AUTO, rule, confined=False)
    assert found.verdict == "deny"


def test_deny_wins_over_ask_and_ask_over_allow(workspace: Path) -> None:
    allow, ask, deny = (("shell(make *)", each) for each in ("allow", "ask", "deny"))
    assert decided("make x", workspace, Mode.FULL, Approval.AUTO, allow, ask, deny).verdict == "deny"  # type: ignore[arg-type]
    assert decided("make x", workspace, Mode.FULL, Approval.AUTO, allow, ask).verdict == "ask"  # type: ignore[arg-type]


def test_a_rule_on_a_file_holds_against_a_rule_on_the_command(workspace: Path) -> None:
    rules: tuple[tuple[str, Permission], ...] = (("shell(cp *)", "allow"), ("edit(src/**)", "ask"))
    assert decided("cp a src/b", workspace, Mode.WORKSPACE, Approval.AUTO, *rules).verdict == "ask"


def test_always_offers_a_rule_for_each_part_that_asks_or_none(workspace: Path) -> None:
    both = decided("git add . && git commit -m x", workspace, Mode.WORKSPACE, Approval.AUTO)
    assert both.always == ("git add *", "git commit *")
    for line in ("git add . && curl x.org", "python -c 1", "bash ./run", "git reset --hard"):
        assert decided(line, workspace, Mode.WORKSPACE, Approval.ASK).always == (), line


def test_what_would_ask_is_denied_when_nobody_is_there() -> None:
    decision = Policy(Mode.WORKSPACE, Approval.NEVER).decide(Effect(kind="network"), confined=True)
    assert decision.verdict == "deny"


def test_the_strictest_of_several_decisions_wins() -> None:
    allow, ask, deny = (Decision(verdict=v, reason=v) for v in ("allow", "ask", "deny"))
    assert pick_strictest([allow, deny, ask]) is deny
    assert pick_strictest([allow, ask]) is ask


def test_a_refused_write_to_no_file_suggests_no_rule_on_files() -> None:
    policy = Policy(Mode.WORKSPACE, Approval.NEVER)
    effect = Effect(kind="write", outside=True, reason="it keeps a function for later sessions")
    decision = policy.decide(effect, confined=True, tool="keep_function")
    assert decision.verdict == "deny"
    assert "edit(" not in decision.reason
    assert "go on without it" in decision.reason
