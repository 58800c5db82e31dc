"""What a judgement says: segments, spellings for rules, suggestions, limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.policy.shell import Judgement, judge_command_line, suggest_rule
from sandbox.policy.shell.commands.options import find_git_subcommand, find_spec, index_lines
from sandbox.policy.shell.rule_suggestion import BANNED
from tests.support.judging import is_harmless


def test_segments_are_the_commands_and_what_else_matters(tmp_path: Path) -> None:
    judgement = judge_command_line("cat a.txt | grep x > out.txt; PATH=. make", root=tmp_path)
    assert [(segment.text, segment.argv) for segment in judgement.segments] == [
        ("cat a.txt", ("cat", "a.txt")),
        ("grep x", ("grep", "x")),
        ("> out.txt", ()),
        ("make", ("make",)),
        ("PATH=.", ()),
    ]
    assert [{effect.kind for effect in segment.effects} for segment in judgement.segments] == [
        {"read"}, {"read"}, {"write"}, {"execute"}, {"unknown"},
    ]  # fmt: skip


def test_paths_are_told_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "work" / "src").mkdir(parents=True)
    judgement = judge_command_line(
        "cd src && touch a ./b ../../c", root=tmp_path / "work", cwd=tmp_path / "work"
    )
    writes = [effect for effect in judgement.effects if effect.kind == "write"]
    inside = {path for effect in writes if not effect.outside for path in effect.paths}
    outside = {path for effect in writes if effect.outside for path in effect.paths}
    assert {"a", "src/a", "src/b"} <= inside  # `cd` may fail
    assert str(tmp_path / "c") in outside


def test_a_link_is_followed_to_where_it_leads(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "away").symlink_to(tmp_path / "elsewhere")
    (root / "folder").symlink_to(tmp_path)
    assert not is_harmless(judge_command_line("echo x > away", root=root))
    assert not is_harmless(judge_command_line("echo x > folder/new", root=root))
    assert is_harmless(judge_command_line("rm away", root=root))


def test_a_link_made_in_the_line_makes_later_paths_unknown(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert is_harmless(judge_command_line("ln -s a b", root=tmp_path))
    assert not is_harmless(judge_command_line("ln -s a b; echo x > b/c", root=tmp_path))
    assert not is_harmless(judge_command_line("cp -r a b; echo x > b/c", root=tmp_path))


@pytest.mark.parametrize(
    "line",
    ["git push origin", "git  push  origin", "git -c a=b push origin", "git --no-pager push origin",
     "command git push origin",
     "bash -c 'git push origin'", "g'i't pu\\sh origin", "/usr/bin/git push origin", 
     "env X=y git push origin",
     "timeout 5 nice git push origin", 
     "bash <<'E'\ngit push origin\nE", "echo $(git push origin)", "xargs git push origin",
     "eval git push origin", "sudo git push origin", "git -C src push origin"],
)  # fmt: skip
def test_a_rule_knows_a_command_in_every_spelling(line: str, tmp_path: Path) -> None:
    forms = {form for segment in judge_command_line(line, root=tmp_path).segments for form in segment.forms}
    assert any(form.startswith("git push origin") for form in forms)


@pytest.mark.parametrize(
    ("line", "trusted"),
    [
        ("git push", True),
        ("nice -n 5 git push", True),
        ("nohup git push", True),
        ("git --no-pager push", True),
        ("git -c color.ui=never push", True),
        ("git -c core.sshCommand=x push", False),
        ("sudo git push", False),
        ("xargs git push", False),
        ("env PATH=. git push", False),
        ("git -C / push", False),
    ],
)
def test_a_rule_that_allows_sees_only_spellings_that_hide_nothing(
    line: str, trusted: bool, tmp_path: Path
) -> None:
    found = {
        form for segment in judge_command_line(line, root=tmp_path).segments for form in segment.trusted_forms
    }
    assert ("git push" in found) is trusted


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("npm run test", "npm run test"),
        ("npm run test -- -x", "npm run test *"),
        ("git add a b", "git add *"),
        ("pytest -q", "pytest *"),
        ("cargo build --release", "cargo build *"),
        ("make test", "make test"),
        ("ls", "ls"),
        ("bash x.sh", None),
        ("python x.py", None),
        ("npm run", None),
        ("git push --force", None),
        ("git config a b", None),
        ("timeout 5 pytest", None),
        ("env pytest", None),
        ("sudo pytest", None),
        ("xargs pytest", None),
        ("$x y", None),
        ("pytest $x", None),
        ("rm -rf ~", None),
        ("unheard-of x", "unheard-of *"),
    ],
)
def test_always_allow_stores_what_was_meant(line: str, rule: str | None, tmp_path: Path) -> None:
    (segment,) = judge_command_line(line, root=tmp_path).segments
    assert suggest_rule(segment) == rule


@pytest.mark.slow
def test_no_banned_program_is_ever_suggested_alone(tmp_path: Path) -> None:
    for name in BANNED:
        for line in (name, f"{name} x", f"{name} -x y", f"{name} ./x"):
            for segment in judge_command_line(line, root=tmp_path).segments:
                assert suggest_rule(segment) not in (name, f"{name} *")


LIMITS = (
    "echo " + "a" * 1_000_000,
    "ls;" * 10_000,
    "(" * 5_000 + "rm x" + ")" * 5_000 + ";",
    "$(" * 5_000,
    "ls && " * 60 + "rm -rf ~",
    "nice " * 100 + "ls",
    'bash -c \'bash -c "bash -c \\"bash -c ls\\""\' ' * 3,
    "eval " * 50 + "ls",
    "cd a;" * 50 + "ls > x",
)


@pytest.mark.parametrize("line", LIMITS, ids=range(len(LIMITS)))
def test_no_limit_makes_a_line_harmless(line: str, tmp_path: Path) -> None:
    judgement = judge_command_line(line, root=tmp_path)
    assert not is_harmless(judgement) or all(segment.argv is not None for segment in judgement.segments)
    if len(line) > 10_000:
        assert not is_harmless(judgement)


def test_sixty_harmless_commands_are_harmless(tmp_path: Path) -> None:
    assert is_harmless(judge_command_line(" && ".join(["ls"] * 60), root=tmp_path))


@pytest.mark.parametrize("line", ["", "   ", "# only a comment", "\n"])
def test_nothing_does_nothing(line: str, tmp_path: Path) -> None:
    assert judge_command_line(line, root=tmp_path) == Judgement(segments=())


def test_every_line_of_the_tables_can_be_read() -> None:
    for name in index_lines("commands"):
        spec = find_spec(name)
        assert spec is not None
        assert set(spec.kinds) <= {
            "none",
            "read",
            "write",
            "execute",
            "network",
            "git",
            "destructive",
            "unknown",
        }
        roles = {
            "text",
            "read",
            "write",
            "entry",
            "to",
            "move",
            "link",
            "host",
            "url",
            "command",
            "script",
            "own",
            "format",
            "filter",
            "expands",
        }
        assert set(spec.roles) <= roles
    assert find_git_subcommand("status") is not None


def test_git_in_another_repository_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    (tmp_path / "bare" / "objects").mkdir(parents=True)
    (tmp_path / "bare" / "HEAD").write_text("ref: x\n")
    (tmp_path / "plain").mkdir()
    assert is_harmless(judge_command_line("cd plain && git status", root=tmp_path))
    assert not is_harmless(judge_command_line("cd inner && git status", root=tmp_path))
    assert not is_harmless(judge_command_line("cd bare && git status", root=tmp_path))
    assert not is_harmless(judge_command_line("git -C inner status", root=tmp_path))
