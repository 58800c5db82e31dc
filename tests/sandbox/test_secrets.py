"""The environment of a command is an allow-list; keys are redacted from text."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import secrets
from sandbox.secrets import child_environment, redact, secret_places


def test_only_listed_variables_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    private = {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_PROFILE", "SSH_AUTH_SOCK", "HTTP_PROXY", "ANYTHING"}
    for name in private:
        monkeypatch.setenv(name, "x")
    for name in (
        "LC_ALL",
        "LANG",
        "CARGO_HOME",
        "GOPATH",
        "JAVA_HOME",
        "NVM_DIR",
        "PYENV_ROOT",
        "VIRTUAL_ENV",
        "TZ",
    ):
        monkeypatch.setenv(name, f"value of {name}")
    env = child_environment({"MINE": "1", "LANG": "C"})
    assert not private & set(env)
    assert env["JAVA_HOME"] == "value of JAVA_HOME"
    assert env["LC_ALL"] == "value of LC_ALL"
    assert (env["MINE"], env["LANG"]) == ("1", "C")


def test_a_missing_path_is_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert "/bin" in child_environment({})["PATH"]


def test_secret_places_are_those_that_exist(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / "elsewhere").mkdir()
    (home / ".aws").symlink_to(home / "elsewhere")
    assert secret_places([home / "absent"]) == [home / ".ssh", home / "elsewhere"]


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-" + "a1B2" * 10,
        "sk-ant-api03-" + "a1B2" * 10,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 9,
        "AKIA" + "ABCD" * 4,
        "AIza" + "a1B2_" * 7,
        "xoxb-1234567890-abc",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
    ],
)
def test_keys_of_known_shapes_are_redacted(key: str) -> None:
    assert redact(f"before {key}, after") == "before [redacted], after"


def test_values_of_our_own_secrets_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DB_PASSWORD", "correct horse battery")
    monkeypatch.setenv("SHORT_TOKEN", "test")
    monkeypatch.setenv("TOKEN_COUNT", "not a secret at all")
    text = "a test with correct horse battery, not a secret at all"
    assert redact(text) == "a test with [redacted], not a secret at all"


@pytest.mark.parametrize(
    "text", ["task-oriented-programming-language", "disk-usage", "sk-learn", "pypi-server", ""]
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


def test_home_is_the_real_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert secrets.home() == tmp_path.resolve()
