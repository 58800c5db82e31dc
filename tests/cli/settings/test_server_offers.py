"""Installed language servers are offered once for each language, and never a program of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.layers import load_settings
from cli.settings.server_offers import OFFERS_FILE, find_offer, remember_offer, store_server
from cli.settings.setting_sources import unset_setting
from tools.code.lsp.known_servers import KNOWN_SERVERS, find_server, list_languages


def install(folder: Path, *names: str) -> Path:
    """Put programs of these names into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the PATH, outside of the project."""
    folder = install(tmp_path / "my programs", "pylsp", "pyright-langserver", "clangd")
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def test_the_first_language_of_the_files_without_a_server_gets_the_more_precise_one(
    programs: Path, project: Path
) -> None:
    home = Home.from_environment()
    found = find_offer(home, project, ["notes.txt", "a.py", "b.c"], {}, {})
    assert found is not None
    assert (found.name, found.languages) == ("pyright-langserver", ("python",))
    assert found.command == f"'{programs}/pyright-langserver' --stdio"
    second = find_offer(home, project, ["a.py", "b.c"], {"python": "mine", "cpp": "mine"}, {})
    assert second is not None
    assert (second.name, second.languages) == ("clangd", ("c",))
    assert find_offer(home, project, ["a.py", "b.c"], {"python": "mine", "c": "mine"}, {}) is None
    assert find_offer(home, project, ["a.go", "notes.txt"], {}, {}) is None
    assert find_offer(home, project, ["a.py"], {}, {"CI": "1"}) is None


@pytest.mark.usefixtures("programs")
def test_an_offer_is_made_once_and_a_hint_leaves_the_question(project: Path) -> None:
    home = Home.from_environment()
    found = find_offer(home, project, ["a.py"], {}, {}, kind="hinted")
    assert found is not None
    remember_offer(home, found, kind="hinted")
    assert find_offer(home, project, ["a.py"], {}, {}, kind="hinted") is None
    assert find_offer(home, project, ["a.py"], {}, {}) == found
    remember_offer(home, found)
    assert find_offer(home, project, ["a.py"], {}, {}) is None
    for damaged in ("", "[]", '{"asked": 1}'):
        (home.data / OFFERS_FILE).write_text(damaged)
        assert find_offer(home, project, ["a.py"], {}, {}) == found


@pytest.mark.usefixtures("programs")
def test_a_stored_server_is_a_setting_that_can_be_taken_back(project: Path) -> None:
    home = Home.from_environment()
    found = find_server("c", (), project)
    assert found is not None
    assert store_server(home, found) == home.config / "settings.toml"
    servers = load_settings(home, None, {}, {}).session.tools.language_servers
    assert servers == {"c": found.command, "cpp": found.command}
    unset_setting(home, "language_servers.cpp")
    assert set(load_settings(home, None, {}, {}).session.tools.language_servers) == {"c"}


def test_no_program_of_the_project_is_offered(
    programs: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = install(project / ".venv" / "bin", "basedpyright-langserver")
    (programs / "pyright-langserver").unlink()
    (programs / "pyright-langserver").symlink_to(planted / "basedpyright-langserver")
    monkeypatch.setenv("PATH", os.pathsep.join([str(planted), ".", str(programs)]))
    monkeypatch.chdir(planted)
    found = find_server("python", (), project)
    assert found is not None
    assert found.name == "pylsp"


def test_every_known_server_is_of_a_known_language() -> None:
    ends = {
        "python": "py",
        "rust": "rs",
        "javascript": "js",
        "typescript": "ts",
        "ruby": "rb",
        "kotlin": "kt",
    }
    ends |= {"bash": "sh"}
    for each in KNOWN_SERVERS:
        for language in each.languages:
            assert language in list_languages([f"a.{ends.get(language, language)}"])


def test_a_stand_in_of_rustup_is_no_server_before_its_component_is_there(
    programs: Path, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(programs, "rustup")
    (programs / "rust-analyzer").symlink_to("rustup")
    monkeypatch.setenv("RUSTUP_HOME", str(tmp_path / "rustup"))
    assert find_server("rust", (), project) is None
    install(tmp_path / "rustup/toolchains/stable/bin", "rust-analyzer")
    found = find_server("rust", (), project)
    assert found is not None
    assert found.name == "rust-analyzer"
