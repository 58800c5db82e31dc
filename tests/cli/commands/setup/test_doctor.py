"""What the doctor finds, and that it never shows a key or asks another machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.model.servers import local_servers
from cli.commands.setup.doctor import Finding, collect_findings, run_doctor
from packages.search.review.agreement import count_opinion
from tests.support.cli import CHECKOUT, git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "test_one.py").write_text("def test_one():\n    assert True\n")
    return root


def found(folder: Path, **env: str) -> dict[str, Finding]:
    return {
        each.name: each for each in collect_findings(folder, Home.from_environment(), {**os.environ, **env})
    }


def test_a_machine_that_can_do_the_main_job_is_ready(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_doctor(project, as_json=False) == Exit.DONE
    page = capsys.readouterr().out
    assert page.endswith("\nready\n")
    assert f"project    {project}" in page
    assert "pytest" in page


@pytest.mark.slow
def test_it_is_ready_only_where_a_test_was_collected(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_doctor(project, as_json=False)
    assert "(1 collected)" in capsys.readouterr().out
    (project / "test_one.py").write_text("def test_one(:\n")
    run_doctor(project, as_json=False)
    page = capsys.readouterr().out
    assert "but no test was collected" in page
    assert page.endswith("\nready, but the tests cannot run yet\n")
    (project / "test_one.py").unlink()
    (project / "Makefile").write_text("test:\n\ttrue\n")
    run_doctor(project, as_json=False)
    assert capsys.readouterr().out.endswith("\nready; the tests were not tried\n")


def test_findings_come_as_json_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_doctor(project, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ready"] is True
    names = [finding["name"] for finding in told["findings"]]
    assert names[:2] == ["python", "git"]
    assert {"sandbox", "ripgrep", "data", "models", "terminal", "project", "tests"} <= set(names)


@pytest.mark.slow
def test_keys_are_named_and_never_shown(project: Path) -> None:
    assert found(project)["models"].verdict == "warn"
    models = found(project, ANTHROPIC_API_KEY="sk-secret-1")["models"]
    assert models.verdict == "good"
    assert "ANTHROPIC_API_KEY" in models.detail
    assert "secret" not in repr(models)


@pytest.mark.slow
def test_it_says_how_often_opinions_agree_with_executed_checks(project: Path) -> None:
    home = Home.from_environment()
    for result in ("agree", "disagree", "agree"):
        count_opinion(home, "openai/a", "reviewer", "agree" if result == "agree" else "disagree")
    assert found(project)["opinions"].detail == "openai/a as reviewer: 2 of 3 agree with executed checks"


def test_without_git_the_main_job_cannot_be_done(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    git_finding = found(project)["git"]
    assert git_finding.verdict == "bad"
    assert "Install it" in git_finding.hint
    assert run_doctor(project, as_json=True) == Exit.CONFIGURATION


@pytest.mark.slow
def test_a_missing_identity_says_the_two_commands(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "identity" not in found(project)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    identity = found(project)["identity"]
    assert identity.hint.split("\n") == [
        'git config --global user.name "…"',
        'git config --global user.email "…"',
    ]


@pytest.mark.slow
def test_a_data_folder_that_cannot_be_made_is_told(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = Home(data=tmp_path / "file" / "data", config=tmp_path / "c", cache=tmp_path / "k")
    data = next(each for each in collect_findings(project, home, {}) if each.name == "data")
    assert data.verdict == "bad"
    assert "PATCHWRIGHT_HOME" in data.hint


def test_outside_a_repository_it_says_what_to_do(tmp_path: Path) -> None:
    assert found(tmp_path)["project"].hint.startswith("Run `git init`")
    missing = found(tmp_path / "nowhere")
    assert "does not exist" in missing["project"].detail
    assert missing["sandbox"].verdict == "warn"


def test_a_project_without_tests_says_how_to_name_a_command(project: Path) -> None:
    (project / "test_one.py").unlink()
    assert "tests.command" in found(project)["tests"].hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {
                "package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "*"}}',
                "pnpm-lock.yaml": "",
            },
            "pnpm is not installed|the packages of package.json are not installed",
        ),
        ({"pom.xml": "<project/>"}, "mvn is not installed|Maven's plugins are not in"),
        (
            {"pytest.ini": "[pytest]\naddopts = -ra\n  --cov=shop\n"},
            "the options in pytest.ini need pytest-cov",
        ),
        (
            {"test_one.py": "import nowhere_at_all.part\nimport json, shop\n"},
            "tests import nowhere_at_all, which",
        ),
    ],
)
def test_a_runner_that_could_not_run_is_told(
    files: dict[str, str],
    told: str,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (project / "shop.py").write_text("")
    if not {"test_one.py", "pytest.ini"} & set(files):
        (project / "test_one.py").unlink()
    for name, text in files.items():
        (project / name).write_text(text)
    assert run_doctor(project, as_json=False) == Exit.DONE
    page = capsys.readouterr().out
    assert re.search(f"! tests .*, but ({told})", page), page
    assert page.endswith("\nready, but the tests cannot run yet\n")


class Models(BaseHTTPRequestHandler):
    answer = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "evil\\u001b[31m"}]}'

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Models)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_models_of_a_local_server_are_listed(
    project: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local_servers, "USUAL_PORTS", (("ollama", port), ("vllm", 1)))
    server = found(project)[f"port {port}"]
    assert server.hint == "patchwright run --model ollama/qwen3:8b …"
    run_doctor(project, as_json=False)
    assert "models: qwen3:8b, evil\\x1b[31m (Ollama)" in capsys.readouterr().out


def test_each_language_server_of_the_settings_is_tried(project: Path) -> None:
    shutil.copy(CHECKOUT / "tests/tools/code/lsp/twin_server.py", project / "twin.txt")
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(
        '[language_servers]\npython = "python3 twin.txt"\nrust = "no-such-server --stdio"\n'
    )
    told = [each for each in collect_findings(project, home, os.environ) if each.name == "server"]
    assert [(each.verdict, each.detail.partition(": ")[0]) for each in told] == [
        ("good", "python"),
        ("warn", "rust"),
    ]
    assert "the program cannot be started" in told[1].detail
