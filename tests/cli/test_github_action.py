"""The GitHub Action: its steps as a runner executes them, but for the installation, which is this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.hosting.hosting_server import HostingServer
from tests.support.cli import CHECKOUT, call, git, script

ACTION = yaml.safe_load((CHECKOUT / "action.yml").read_text("utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}


def act(repository: Path, inputs: Mapping[str, str]) -> tuple[int, dict[str, str], str]:
    """Exit code, outputs and what was said of the step that does the task."""
    temporary, outputs = repository.parent / "temp", repository.parent / "outputs"
    temporary.mkdir()
    (temporary / "patchwright").symlink_to(sys.prefix)
    given = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()} | inputs
    step = STEPS["run"]
    given |= {"github.token": "t0ken-of-the-test-0123456789"}
    env = {
        name: given[value.removeprefix("${{ ").removeprefix("inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=repository,
        env={**os.environ, **env, "RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(outputs)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = outputs.read_text("utf-8").splitlines() if outputs.exists() else []
    return done.returncode, dict(line.split("=", 1) for line in lines), done.stderr


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q")
    (root / "total.py").write_text("def total(prices):\n    return 0\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Begin")
    # A runner knows no person.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return root


@pytest.mark.slow
def test_a_task_is_done_and_none_of_its_text_becomes_a_command(repository: Path, tmp_path: Path) -> None:
    task = "--help; touch pwned; $(touch pwned) `touch pwned` ' \" \n${HOME}"
    turns = [
        {
            "calls": [call("edit", path="total.py", old="return 0", new="return sum(prices)")],
            "expect": ["--help; touch pwned; $(touch pwned)"],
        },
        {"text": "Done."},
    ]
    given = {
        "task": task,
        "model": script(tmp_path, turns),
        "arguments": "--tests\npython -c 'import total'\n\n--max-steps\n9\n",
    }
    code, outputs, said = act(repository, given)
    assert (code, outputs["outcome"]) == (0, "done"), said
    assert outputs["commit"] == git(repository, "rev-parse", "HEAD").strip()
    assert "github-actions[bot]" in git(repository, "log", "-1", "--format=%an")
    assert '"outcome":"done"' in Path(outputs["result"]).read_text("utf-8").replace(" ", "")
    assert sorted(path.name for path in repository.iterdir() if path.name[0] != ".") == ["total.py"]


@pytest.mark.slow
def test_an_issue_is_worked_on_until_a_command_passes(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HostingServer("github") as server:
        git(repository, "remote", "add", "origin", f"{server.address}/ann/shop")
        monkeypatch.setenv("PATCHWRIGHT_HOSTING", server.settings.replace(" token=TEST_TOKEN", ""))
        monkeypatch.setenv("GITHUB_SERVER_URL", server.address)  # as a runner has it
        turns = [
            {
                "calls": [call("edit", path="total.py", old="return 0", new="return sum(prices)")],
                "expect": ["Wrong total"],
            },
            {"text": "Done."},
        ]
        given = {
            "issue": "4",
            "until": "grep -q sum total.py",
            "model": script(tmp_path, turns),
            "arguments": "--tests\ntrue",
        }
        code, outputs, said = act(repository, given)
    assert (code, outputs["outcome"]) == (0, "done"), said
    assert '"reached":true' in Path(outputs["result"]).read_text("utf-8").replace(" ", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "outcome"), [({"model": "nowhere/x"}, True), ({"arguments": "--no-such-option"}, False)]
)
def test_what_goes_wrong_fails_the_step(given: Mapping[str, str], outcome: bool, repository: Path) -> None:
    code, outputs, said = act(repository, given)
    assert code not in (0, 1)
    assert bool(outputs["outcome"]) is outcome
    assert outputs["commit"] == ""
    assert "Traceback" not in said


def test_it_installs_what_there_is() -> None:
    wanted = STEPS["install"]["run"]
    for name in ("requirements.lock", "requirements-build.lock"):
        assert f"$GITHUB_ACTION_PATH/{name}" in wanted
        assert (CHECKOUT / name).is_file()
    for each in ACTION["outputs"].values():
        assert each["value"].startswith("${{ steps.run.outputs.")
