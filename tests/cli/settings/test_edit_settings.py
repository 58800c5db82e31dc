"""`[edit]` in the user's settings, and what a model on the other side of a real connection is told of editing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from cli.commands.setup.doctor import collect_findings
from cli.settings.layers import load_settings
from sandbox.errors import Fault, UserError
from tests.support.cli import Result, call, git, run, script
from tests.support.loopback import Loopback
from tools.core.tool_settings import EditSettings
from tools.edit.format_registry import EDITORS

Turns = Sequence[Mapping[str, Any]]

BROKEN: Turns = [{"calls": [call("write", path="b.py", content="def f(:\n")]}, {"text": "done"}]


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-b = 2\n+b = 20\n*** End Patch"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    repository = tmp_path / "plain"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "a.py").write_text("a = 1\nb = 2\n")
    return repository


def configure(text: str) -> Home:
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(text)
    return home


def loaded(text: str) -> EditSettings:
    return load_settings(configure(text), None, {}, {}).session.tools.edit


def refused(text: str) -> UserError:
    with pytest.raises(UserError) as error:
        loaded(text)
    assert error.value.fault is Fault.CONFIGURATION
    return error.value


def test_without_settings_the_family_decides_and_errors_are_reported() -> None:
    assert load_settings(Home.from_environment(), None, {}, {}).session.tools.edit == EditSettings()
    assert EditSettings() == EditSettings(formats=None, syntax_errors="report", lint=True)


def test_what_the_user_sets_is_taken() -> None:
    set_by_user = loaded('[edit]\nformats = ["lines", "whole"]\nsyntax_errors = "refuse"\nlint = false\n')
    assert set_by_user == EditSettings(formats=["lines", "whole"], syntax_errors="refuse", lint=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('formats = ["udiff", "whole"]', "setting 'edit.formats.0' in "),
        (
            'formats = ["udiff", "whole"]',
            "'replace', 'symbol', 'lines', 'patch', 'blocks', 'diff' or 'whole'",
        ),
        ('formats = "whole"', "setting 'edit.formats' in "),
        ('formats = ["replace", "lines"]', "no new file can be written in replace, lines"),
        ("formats = []", "no new file can be written in none at all"),
        ('syntax_errors = "ignore"', "'report' or 'refuse' (got 'ignore')"),
        ('lint = "sometimes"', "setting 'edit.lint' in "),
        ('format = ["whole"]', "unknown setting 'edit.format' in "),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    error = refused(f"[edit]\n{text}\n")
    assert said in error.message
    assert "settings.toml" in error.message


def test_a_mistyped_setting_is_guessed() -> None:
    assert refused('[edit]\nformat = ["whole"]\n').hint == "Did you mean 'edit.formats'?"
    assert "patch, blocks, diff, whole" in refused("[edit]\nformats = []\n").hint


def test_a_repository_may_not_say_how_models_edit(plain: Path) -> None:
    (plain / "patchwright.toml").write_text('[edit]\nformats = ["whole"]\n')
    with pytest.raises(UserError, match="'edit', which a project may not set"):
        load_settings(Home.from_environment(), plain, {}, {})


@pytest.mark.slow
def test_doctor_tells_the_formats_and_whose_choice_they_are(plain: Path) -> None:
    def edits(**env: str) -> str:
        return {each.name: each for each in collect_findings(plain, Home.from_environment(), env)}[
            "edits"
        ].detail

    assert edits(ANTHROPIC_API_KEY="x").startswith(
        "anthropic/claude-sonnet-5 writes replace, symbol, whole: "
    )
    assert "(Anthropic)" in edits(ANTHROPIC_API_KEY="x")
    configure('[edit]\nformats = ["whole"]\n')
    assert edits(ANTHROPIC_API_KEY="x") == "anthropic/claude-sonnet-5 writes whole: as edit.formats says"
    configure("[edit]\nformats = 1\n")
    wrong = {each.name: each for each in collect_findings(plain, Home.from_environment(), {})}["settings"]
    assert (wrong.verdict, "edit.formats" in wrong.detail) == ("bad", True)


def served(folder: Path, model: str, turns: Turns, *options: str) -> tuple[Result, list[Mapping[str, Any]]]:
    """A run against a server: (result, bodies of the requests)."""
    with Loopback(turns) as server:
        arguments = ("run", "go", "--model", model, "--api-base", server.url, "--no-commit", *options)
        result = run(*arguments, cwd=folder, env={"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x"})
        return result, [each.body for each in server.requests]


def editors(body: Mapping[str, Any]) -> list[str]:
    names = [tool["function"]["name"] for tool in body["tools"]]
    return [name for name in names if name in EDITORS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-5.5", ["edit", "apply_patch", "write"]),
        ("openrouter/anthropic/claude-sonnet-5", ["edit", "edit_symbol", "write"]),
        ("deepseek/deepseek-v4-pro", ["edit", "apply_patch", "write"]),
        ("ollama/qwen3-coder", ["edit", "write"]),
        ("openai/local", ["edit", "write"]),
    ],
)
def test_a_server_is_told_of_what_its_model_writes_well(model: str, expected: list[str], plain: Path) -> None:
    _, [body] = served(plain, model, [{"text": "ok"}])
    assert editors(body) == expected
    described = str([tool for tool in body["tools"] if tool["function"]["name"] == "apply_patch"])
    assert ("*** Update File" in described) is (model == "openai/gpt-5.5")
    assert ("<<<<<<< SEARCH" in described) is (model.startswith("deepseek"))


@pytest.mark.slow
def test_settings_decide_over_the_family(plain: Path) -> None:
    configure('[edit]\nformats = ["diff", "lines"]\n')
    _, [body] = served(plain, "openai/gpt-5.5", [{"text": "ok"}])
    assert editors(body) == ["edit_lines", "apply_patch"]


@pytest.mark.slow
def test_in_read_only_mode_no_way_to_edit_is_told(plain: Path) -> None:
    turns: Turns = [{"calls": [call("str_replace", path="a.py", old_str="a", new_str="x")]}, {"text": "no"}]
    _, bodies = served(plain, "openai/gpt-5.5", turns, "--mode", "read-only")
    assert editors(bodies[0]) == []
    assert "there is no tool 'str_replace'" in bodies[1]["messages"][-1]["content"]
    assert (plain / "a.py").read_text() == "a = 1\nb = 2\n"


@pytest.mark.slow
def test_a_call_learnt_elsewhere_comes_over_the_wire_and_is_answered(plain: Path) -> None:
    editor = "str_replace_based_edit_tool"
    turns: Turns = [
        {"calls": [call(editor, command="str_replace", path="a.py", old_str="a = 1", new_str="a = 10")]},
        {"calls": [call("apply_patch", input=PATCH)]},
        {"text": "done"},
    ]  # fmt: skip
    result, bodies = served(plain, "openai/local", turns)
    assert (plain / "a.py").read_text() == "a = 10\nb = 20\n", result.err
    first, second = ([m for m in body["messages"] if m["role"] == "tool"][-1] for body in bodies[1:])
    taken = "note: this call was taken as {}; call it so"
    assert taken.format("edit(path, old, new, all?)") in first["content"].splitlines()
    assert taken.format("apply_patch(patch)") in second["content"].splitlines()
    [sent_back] = next(m for m in bodies[1]["messages"] if m["role"] == "assistant")["tool_calls"]
    assert sent_back["function"]["name"] == editor  # what it said is not rewritten
    assert sent_back["id"] == first["tool_call_id"]


@pytest.mark.slow
def test_by_setting_an_edit_that_breaks_the_syntax_is_refused(plain: Path, tmp_path: Path) -> None:
    model = script(tmp_path, BROKEN)
    run("run", "go", "--model", model, "--no-commit", cwd=plain)
    assert (plain / "b.py").read_text() == "def f(:\n"
    (plain / "b.py").unlink()
    configure('[edit]\nsyntax_errors = "refuse"\n')
    turns: Turns = [BROKEN[0], {"text": "done", "expect": ["would not parse"]}]
    result = run("run", "go", "--model", script(tmp_path, turns), "--no-commit", cwd=plain)
    assert result.code == 0, result.err
    assert not (plain / "b.py").exists()
