"""`[language_servers]` in the user's settings: what it may say, and what it gives a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.layers import load_settings
from sandbox.errors import UserError
from tests.support.cli import call, git, run
from tests.support.loopback import Loopback


def configure(text: str) -> Home:
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(text)
    return home


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('cobol = "cobol-ls"', "there is no such language"),
        ('c = ""', "no command is named"),
        ('c = "clangd \'x"', "No closing quotation"),
        ("c = 1", "language_servers.c"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(line: str, said: str) -> None:
    home = configure(f"[language_servers]\n{line}\n")
    with pytest.raises(UserError) as refusal:
        load_settings(home, None, {}, {})
    assert said in refusal.value.message
    assert "language_servers" in refusal.value.message


def test_a_project_can_name_no_server(tmp_path: Path) -> None:
    (tmp_path / "patchwright.toml").write_text('[language_servers]\npython = "touch /tmp/owned"\n')
    with pytest.raises(UserError, match="which a project may not set"):
        load_settings(Home.from_environment(), tmp_path, {}, {})


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_a_session_has_what_a_server_gives_only_where_one_is_named(tmp_path: Path, *, named: bool) -> None:
    repository = tmp_path / "shop"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "cart.py").write_text("def total():\n    return 1\n\n\nprint(total())\n")
    configure('[language_servers]\npython = "no-such-language-server"\n' if named else "")
    turns = [{"calls": [call("code", action="callers", target="total")]}, {"text": "one call"}]
    with Loopback(turns) as server:
        run("run", "who calls total?", "--model", "openai/x", "--api-base", server.url, "--no-commit",
            cwd=repository, env={"OPENAI_API_KEY": "x"})  # fmt: skip
        first, second = (each.body for each in server.requests)
    assert ("rename" in [tool["function"]["name"] for tool in first["tools"]]) is named
    told = second["messages"][-1]["content"]
    assert "print(total())" in told  # the index answers for it
    assert ("the language server no-such-language-server has no answer" in told) is named
