"""The pages on the terminal and on scripting say what is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from agent.app_dirs import Home
from cli.output.json_schemas import SCHEMAS
from cli.output.output_schema import AnswerSchema
from cli.settings.key_actions import ACTIONS, format_key
from cli.settings.layers import load_settings
from cli.settings.setting_sources import explain_settings, store_setting
from cli.settings.toml_lines import find_line
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT, run

TERMINAL = (CHECKOUT / "docs/terminal.md").read_text("utf-8")
SCRIPTING = (CHECKOUT / "docs/scripting.md").read_text("utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_settings_of_the_terminal_are_settings() -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(blocks(TERMINAL, "toml")[0])
    settings = load_settings(home, None, {}, {})
    assert settings.terminal.keys == {"unfold": ["c-o", "f2"]}
    assert settings.terminal.theme == "terminal"


def test_the_keys_are_the_keys_that_are_bound() -> None:
    for keys in ACTIONS.values():
        for key in keys:
            if key not in ("c-z",):  # every program's
                assert format_key(key) in TERMINAL, key


def test_the_lines_of_the_driving_page_fit_the_schema(tmp_path: Path) -> None:
    schema = Draft202012Validator(SCHEMAS["input"]())
    lines = re.findall(r"^\| `(\{.*?\})` \|", SCRIPTING, re.MULTILINE)
    assert {json.loads(line)["kind"] for line in lines} == {
        "prompt",
        "steer",
        "interrupt",
        "stop",
        "decision",
        "configure",
        "tool-result",
        "answer",
    }
    for line in lines:
        schema.validate(json.loads(line))
    (tmp_path / "shape.json").write_text(blocks(SCRIPTING, "json")[0])
    assert (
        AnswerSchema.from_file(tmp_path / "shape.json").read_answer('{"risk": "low", "files": []}')[1] == ""
    )


@pytest.mark.slow
def test_the_workflow_is_yaml_and_uses_what_the_action_takes(tmp_path: Path) -> None:
    workflow = yaml.safe_load(blocks(SCRIPTING, "yaml")[0])
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text("utf-8"))
    [step] = [step for step in workflow["jobs"]["repair"]["steps"] if "patchwright" in step.get("uses", "")]
    assert set(step["with"]) <= set(action["inputs"])
    assert all(f"`{name}`" in SCRIPTING for name in (*action["inputs"], *action["outputs"]))
    helped = run("run", "--help", cwd=tmp_path).out
    assert all(option in helped for option in re.findall(r"--[a-z-]{3,}", action["runs"]["steps"][-1]["run"]))


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for block in blocks(SCRIPTING, "sh") for line in block.splitlines()])
def test_the_commands_of_the_page_run(line: str, tmp_path: Path) -> None:
    assert run(*line.split()[1:], cwd=tmp_path).code == 0


@pytest.mark.slow
def test_a_setting_is_stored_with_its_comments_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    file = home.config / "settings.toml"
    before = '# mine\nmodel = "openai/x"  # cheap\n\n[tests]\ntimeout = 5\n'
    file.write_text(before)
    for key, value in (("tests.timeout", "-1"), ("modle", "x"), ("mode", "everything"), ("tests", "3")):
        with pytest.raises(UserError):
            store_setting(home, key, value)
    assert file.read_text() == before
    store_setting(home, "tests.command", "make check")
    store_setting(home, "terminal.keys.unfold", '["f2"]')
    assert file.read_text().startswith(before.rstrip() + '\ncommand = "make check"\n')
    rows = {row.key: row for row in explain_settings(home, None, {"PATCHWRIGHT_MODEL": "openai/y"})}
    assert (rows["model"].value, rows["model"].source) == ("openai/y", "PATCHWRIGHT_MODEL")
    assert rows["tests.timeout"].source == f"{file}:5"
    assert rows["mode"].source == "built-in"
    project = tmp_path / "project"
    project.mkdir()
    (project / "patchwright.toml").write_text('# ours\n[tests]\n\ncommand = "tox"\n')
    flags = {"mode": "read-only", "plain": True}
    rows = {row.key: row for row in explain_settings(home, project, {"PATCHWRIGHT_MODEL": "openai/y"}, flags)}
    assert (rows["mode"].value, rows["mode"].source) == ("read-only", "--mode")
    assert (rows["terminal.plain"].value, rows["terminal.plain"].source) == (True, "--plain")
    assert (rows["tests.command"].value, rows["tests.command"].source) == (
        "tox",
        f"{project}/patchwright.toml:4",
    )
    rows = {
        row.key: row
        for row in explain_settings(home, project, {}, {"test_command": "nox", "model": "offline"})
    }
    assert (rows["tests.command"].value, rows["tests.command"].source) == ("nox", "--tests")
    assert (rows["model"].value, rows["model"].source) == ("offline", "--model")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[terminal]\ntheme = 'purple'\n", 2),
        ("\n\nmax_steps = 0\n", 3),
        ("[tests]\n\ncommnd = 'x'\n", 3),
        ("[terminal.keys]\nnothing = ['c-o']\n", 2),
        ("[terminal]\npause = -1\n", 2),
        ("[mcp]\ngood = 'x'\nbad = ''\n", 3),
        ("[mcp]\nopen = 'x \"'\n", 2),
    ],
)
def test_an_error_in_the_settings_names_the_line(text: str, line: int, tmp_path: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(text)
    result = run("config", cwd=tmp_path)
    assert result.code == 6
    assert f"settings.toml', line {line}" in result.err
    assert "Traceback" not in result.err


def test_lines_are_found_under_tables_and_dotted_keys() -> None:
    text = 'a = 1\n[b]\n# c = 0\nc = 2\n[b.d]\ne = 3\n[[f]]\ng = 4\nh."i" = 5\n'
    found = [find_line(text, key) for key in ("a", "b.c", "b.d.e", "f.g", "f.h.i", "b.x", "nothing")]
    assert found == [1, 4, 6, 8, 9, 2, None]
