"""Keys and tokens reach neither the log, nor an artifact, nor a model, nor a commit, nor the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.model.protocol import TextDelta
from sandbox.errors import Fault, UserError
from tests.support import cli
from tests.support.bench import bench
from tests.support.cli import call, git, script
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.tool_settings import ToolSettings
from tools.fs.file_tools import read, write
from tools.git.commits.session_commit import commit_session
from tools.session.recall import recall
from tools.shell.shell_tool import shell

pytestmark = pytest.mark.slow


KEY = "ghp_" + "aB3dE5fG7hJ9" * 3
OWN = "correct-horse-battery-staple"
_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDK3x9f1a2b3c4d\n"
PEM = f"-----BEGIN PRIVATE KEY-----\n{_LINE * 4}-----END PRIVATE KEY-----\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("config.py", f"TOKEN = '{KEY}'\nDEBUG = True\n")
    made.write("app.py", "import config\n")
    made.commit_all("first")
    return made


def files_below(folder: Path) -> str:
    return "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


def test_what_a_command_prints_is_redacted_wherever_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", OWN)
    long = f"seq 1 30000; echo {KEY}; seq 1 30000; echo {OWN}"
    turns: Sequence[Mapping[str, Any]] = [
        {"calls": [call("shell", command=f"echo {KEY} {OWN}")]},
        {"calls": [call("shell", command=long)], "expect": [{"not_contains": KEY}, "[redacted] [redacted]"]},
        {"calls": [call("recall", ref="out:1", start=30001, end=30001)]},
        {"text": f"The key is {KEY}.", "expect": [{"contains": "30001\t[redacted]"}, {"not_contains": KEY}]},
    ]
    made = bench(tmp_path, turns, [shell, recall], snapshots=False)
    end = made.turn(f"print {OWN}")
    assert end.outcome == "done"
    assert end.summary == "The key is [redacted]."
    left = files_below(tmp_path / "sessions")
    assert "[redacted]" in left
    assert KEY not in left
    assert OWN not in left


def test_a_key_that_streams_in_pieces_is_not_shown(tmp_path: Path) -> None:
    seen: list[str] = []
    made = bench(tmp_path, [{"text": f"It is {KEY} indeed"}], [shell], snapshots=False)
    made.runtime.on_delta = lambda delta: seen.append(delta.text) if isinstance(delta, TextDelta) else None
    made.turn("say it")
    assert "".join(seen) == "It is [redacted] indeed"


def test_files_are_written_as_the_model_wants_them(tmp_path: Path) -> None:
    turns = [{"calls": [call("write", path="made.py", content=f"T = '{KEY}'\n")]}, {"text": "done"}]
    made = bench(tmp_path, turns, [read, write])
    made.turn("write it")
    assert (tmp_path / "root" / "made.py").read_text() == f"T = '{KEY}'\n"
    assert KEY not in files_below(tmp_path / "sessions")


def refusal(
    repo: Repo, files: Mapping[str, str], message: str = "Change", allowed: Sequence[str] = ()
) -> str:
    at = repo.workspace()
    at.settings = ToolSettings(secrets_allowed=list(allowed))
    for path, content in files.items():
        agent_writes(at, path, content)
    try:
        asyncio.run(commit_session(at, message))
    except ToolFailure as failure:
        return str(failure)
    return ""


def test_a_commit_with_a_new_secret_is_stopped_and_names_the_place_only(repo: Repo) -> None:
    before = repo.head()
    said = refusal(
        repo, {"app.py": f"import config\n\nKEY = '{KEY[:-3]}xyz'\n", "new/id.pem": "# mine\n" + PEM}
    )
    assert "  app.py:3: GitHub token" in said
    assert "  new/id.pem:2: private key" in said
    assert "MIIE" not in said
    assert KEY[:-3] not in said
    assert repo.head() == before
    assert repo.git("status", "--porcelain") == " M app.py\n?? new/\n"


def test_the_first_commit_of_a_repository_is_looked_at_too(tmp_path: Path) -> None:
    empty = Repo(tmp_path / "empty")
    assert "  a.py:1: GitHub token" in refusal(empty, {"a.py": f"{KEY}\n"})


def test_the_value_of_our_own_variable_is_not_committed(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", OWN)
    assert "  app.py:1: value of SHOP_PASSWORD" in refusal(repo, {"app.py": f"connect('{OWN}')\n"})


@pytest.mark.parametrize(
    "files",
    [
        {"config.py": f"# moved\nDEBUG = True\nTOKEN = '{KEY}'\n"},
        {"app.py": f"TOKEN = '{KEY}'\n", "config.py": "DEBUG = True\n"},
        {"config.py": f"TOKEN = '{KEY}'\nDEBUG = False\n"},
        {"app.py": f"KEY = '{KEY[:-3]}xyz'  # pragma: allowlist secret\n"},
        {"app.py": "-- removed\n++ added\nKEY = os.environ['KEY']\n"},
    ],
)
def test_a_secret_that_was_there_before_or_is_allowed_does_not_stop_a_commit(
    repo: Repo, files: Mapping[str, str]
) -> None:
    assert refusal(repo, files) == ""


def test_the_user_may_allow_places(repo: Repo) -> None:
    allowed = ("tests/fixtures/*",)
    assert refusal(repo, {"tests/fixtures/key.pem": PEM}, allowed=allowed) == ""
    assert "app/key.pem:1: private key" in refusal(repo, {"app/key.pem": PEM}, allowed=allowed)


def test_a_line_that_looks_like_a_diffs_own_does_not_hide_a_secret(repo: Repo) -> None:
    said = refusal(
        repo, {"app.py": f"++ b/other.py\n@@ -1 +1 @@\n{KEY[:-3]}xyz\n", "a\nb.py": f"{KEY[:-3]}uvw\n"}
    )
    assert "app.py:3: GitHub token" in said
    assert "b.py" in said


def test_a_commit_message_is_redacted(repo: Repo) -> None:
    assert refusal(repo, {"app.py": "import config  # used\n"}, message=f"Use {KEY}\n\nToken: {KEY}") == ""
    assert repo.git("log", "-1", "--format=%B").startswith("Use [redacted]\n\nToken: [redacted]")


def test_an_error_that_quotes_a_key_does_not_show_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    model = script(
        tmp_path, [{"error": {"fault": "credentials", "message": f"bad key {KEY}", "hint": f"not {KEY}"}}]
    )
    for output in ("text", "json", "stream-json"):
        done = cli.run("run", f"use {KEY}", "--model", model, "--output", output, cwd=tmp_path)
        assert done.code != 0
        assert "bad key [redacted]" in done.out + done.err
        assert KEY not in done.out + done.err
    assert KEY not in files_below(Path(cli.environment()["PATCHWRIGHT_HOME"]))


def test_an_error_outside_of_a_turn_does_not_show_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    from cli.output.error_output import report_error

    report_error(UserError(Fault.USAGE, f"no such model: \x1b[31m{KEY}", f"try \u202e{OWN}"))
    assert (
        capsys.readouterr().err == f"patchwright: no such model: \\x1b[31m[redacted]\n  try <U+202E>{OWN}\n"
    )
