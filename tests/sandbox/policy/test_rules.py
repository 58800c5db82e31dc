"""The user's rules: what they match, how they are checked, and that the kernel holds those on reading."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sandbox.backends.deny_read import apply_read_denials, find_denied_paths
from sandbox.backends.selection import choose_sandbox
from sandbox.errors import UserError
from sandbox.fs.workspace_tree import Tree
from sandbox.policy.rules import Permission, Rules, check_examples, matches_pattern, parse_rule
from sandbox.policy.shell import judge_command_line
from sandbox.process.command import Command


@pytest.mark.parametrize(
    ("rule", "yes", "no"),
    [
        ("shell(git push *)", ["git push", "git push -f"], ["git pushy", "git pull"]),
        ("shell(git push:*)", ["git push", "git push origin"], ["git pusher"]),
        ("read(.env)", [".env", "app/.env"], [".envrc", "x.env"]),
        ("read(./.env)", [".env"], ["app/.env"]),
        ("edit(src/**)", ["src", "src/a/b.py"], ["srcs/a", "x/src/a"]),
        ("read(*.pem)", ["a.pem", "keys/b.pem"], ["pem"]),
        ("read(config/**/*.key)", ["config/a.key", "config/x/y/a.key"], ["a.key"]),
        ("network(*.pypi.org)", ["files.pypi.org", "FILES.PYPI.ORG"], ["pypi.org.evil.com"]),
        ("mcp(github.*)", ["github.create_issue"], ["gitlab.x"]),
    ],
)
@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_what_a_rule_matches(rule: str, yes: list[str], no: list[str], verdict: Permission) -> None:
    found = parse_rule(rule, verdict)
    assert [each for each in (*yes, *no) if matches_pattern(found, each)] == yes


@pytest.mark.parametrize("text", ["git push", "Bash(ls)", "shell()", "shell( )", "edit(../x)", "read"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_rule(text, "deny")


def test_no_rule_allows_every_command() -> None:
    for text in ("shell(*)", "shell(* x)"):
        with pytest.raises(UserError):
            parse_rule(text, "allow")


@pytest.mark.parametrize(
    "line",
    [
        "git  push",
        "git --no-pager push",
        "git -c a=b push",
        "command git push",
        "bash -c 'git push'",
        "env X=1 git push",
        "ls; g''it push --force",
        "bash <<E\ngit push\nE",
    ],
)
def test_a_rule_that_denies_sees_through_other_spellings(line: str, tmp_path: Path) -> None:
    rules = Rules((parse_rule("shell(git push *)", "deny"),))
    assert any(rules.match_segment(each) for each in judge_command_line(line, root=tmp_path).segments)


def test_a_rule_that_allows_is_not_fooled_by_what_stands_in_front(tmp_path: Path) -> None:
    rules = Rules((parse_rule("shell(ls *)", "allow"),))
    for line in ("LD_PRELOAD=./e.so ls", "env PATH=. ls", "sudo ls"):
        assert not all(
            rules.match_segment(each) for each in judge_command_line(line, root=tmp_path).segments
        ), line


def test_examples_are_checked() -> None:
    rule = parse_rule("shell(git push *)", "deny")
    check_examples(rule, ["git  push", "bash -c 'git push'"], ["git pull"])
    with pytest.raises(UserError, match="does not match its example 'git pull'"):
        check_examples(rule, ["git pull"], [])
    with pytest.raises(UserError, match="no_match"):
        check_examples(rule, [], ["git push -f"])


def test_a_file_that_may_not_be_read_is_refused_by_the_tree_also_through_a_link(workspace: Path) -> None:
    (workspace / ".env").write_text("SECRET")
    (workspace / "link").symlink_to(".env")
    tree = Tree(workspace, Rules((parse_rule("read(.env)", "deny"),)).denies_reading)
    for path in (".env", "link", "src/../.env"):
        with pytest.raises(PermissionError):
            tree.read(path)


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat < .env",
        "cp .env x && cat x",
        "grep '' .e*",
        "python3 -c 'print(open(\".env\").read())'",
    ],
)
def test_the_kernel_masks_what_may_not_be_read(command: str, workspace: Path) -> None:
    sandbox = choose_sandbox(workspace)
    if sandbox.name == "unconfined":
        pytest.skip("nothing confines commands here")
    (workspace / ".env").write_text("HIDDEN=1")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "b.pem").write_text("HIDDEN=2")
    rules = Rules((parse_rule("read(./.env)", "deny"), parse_rule("read(*.pem)", "deny")))
    assert {path.name for path in find_denied_paths(workspace, rules)} == {".env", "b.pem"}
    argv = ("bash", "-c", f"{command}; cat sub/b.pem; echo end")
    done = asyncio.run(apply_read_denials(sandbox, workspace, rules).run(Command(argv=argv, cwd=workspace)))
    assert "HIDDEN" not in done.stdout.text()
    assert "end" in done.stdout.text()


def test_only_a_rule_that_names_it_allows_a_git_folder() -> None:
    def allows(path: str, *texts: str, denied: str = "") -> bool:
        rules = [parse_rule(text, "allow") for text in texts]
        return Rules((*rules, *([parse_rule(denied, "deny")] if denied else []))).allows_repository(path)

    assert allows("build/a/.git", "edit(build/**/.git)")
    assert allows("build/a/.git", "edit(.git)")
    assert allows("mirrors/x.git", "edit(mirrors/*.git)")
    assert allows("pkg", "edit(pkg)")
    assert not allows("build/a/.git", "edit(build/**)")
    assert not allows("build/a/.git", "edit(**)", "edit(*)")
    assert not allows("other/.git", "edit(build/**/.git)")
    assert not allows("build/a/.git", "edit(build/**/.git)", denied="edit(build/**)")


@pytest.mark.parametrize(
    "place", ["$HOME/keys/**", "${HOME}/keys", "%USERPROFILE%/keys", "file:///srv/keys", "!public/**"]
)
@pytest.mark.parametrize("kind", ["read", "edit"])
def test_what_other_programs_would_expand_is_no_place(kind: str, place: str) -> None:
    with pytest.raises(UserError, match="is no path"):
        parse_rule(f"{kind}({place})", "deny")
