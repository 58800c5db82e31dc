"""The launcher: quick where it can be, shadowed by nothing, and invisible to children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

HEAVY = {
    "acp",
    "litellm",
    "mcp",
    "starlette",
    "uvicorn",
    "git",
    "prompt_toolkit",
    "tree_sitter",
    "httpx",
    "pydantic",
    "rich",
    "asyncio",
    "json",
    "tempfile",
}
HEAVY |= {"tools", "agent.model", "agent.session", "agent.turn", "cli.invocation", "cli.settings", "cli.tui"}


def python(cwd: Path, code: str, **env: str) -> str:
    """Run code in a fresh interpreter that finds the launcher and nothing else of ours; return its output."""
    paths = os.pathsep.join([str(CHECKOUT / "patchwright" / "_checkout"), env.pop("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, **env, "PYTHONPATH": paths.rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def project(folder: Path) -> Path:
    """A user's project with packages that are called as ours are, and as what we depend on."""
    for name in ("tools", "agent", "sandbox", "cli", "packages", "typer"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise SystemExit('the project shadows Patchwright')\n")
    return folder


def test_version_imports_the_launcher_alone(tmp_path: Path) -> None:
    shown = python(
        tmp_path,
        "import sys, json; before = set(sys.modules); sys.argv = ['patchwright', '--version']\n"
        "from patchwright.launcher import main; code = main()\n"
        "print(json.dumps([code, sorted(set(sys.modules) - before)]))",
    )
    version, rest = shown.splitlines()
    assert version.startswith("patchwright ")
    assert json.loads(rest) == [0, ["patchwright", "patchwright.launcher", "patchwright.version"]]


@pytest.mark.slow
def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    shown = python(
        tmp_path,
        "import sys; sys.argv = ['patchwright', '--help']\n"
        "from patchwright.launcher import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(sorted({HEAVY} & set(sys.modules)))",
    )
    assert "Usage: patchwright" in shown
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize("safe", ["", "1"])
def test_a_project_shadows_none_of_our_floors(tmp_path: Path, safe: str) -> None:
    found = python(
        project(tmp_path),
        "import patchwright.launcher as launcher; launcher.open_floors()\n"
        "import cli, agent, tools, sandbox, packages\n"
        "for floor in (cli, agent, tools, sandbox, packages): print(floor.__file__)",
        PYTHONSAFEPATH=safe,
        PYTHONPATH=str(tmp_path),
    )
    assert found.split() == [
        str(CHECKOUT / floor / "__init__.py") for floor in ("cli", "agent", "tools", "sandbox", "packages")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("safe", ["", "1"])
def test_run_as_a_module_it_does_not_import_from_the_current_folder(tmp_path: Path, safe: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "patchwright", "--help"],
        cwd=project(tmp_path),
        env={
            **os.environ,
            "PYTHONPATH": str(CHECKOUT / "patchwright" / "_checkout"),
            "PYTHONSAFEPATH": safe,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: patchwright" in done.stdout


def test_a_child_process_sees_nothing_of_ours(tmp_path: Path) -> None:
    shown = python(
        tmp_path,
        "import patchwright.launcher as launcher; launcher.open_floors()\n"
        "import subprocess, sys, tools\n"
        "child = subprocess.run([sys.executable, '-c', 'import tools'], capture_output=True, text=True)\n"
        "print(child.stderr.splitlines()[-1])",
    )
    assert shown.strip() == "ModuleNotFoundError: No module named 'tools'"
