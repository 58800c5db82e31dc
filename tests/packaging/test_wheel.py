"""The wheel: one name in site-packages, and a project's own `tools/` stays its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without a network."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of a fresh environment that holds the wheel; returns it.

    The dependencies are those of the environment that runs the tests: a line in a .pth file shows them,
    but not the checkout, since .pth files found through a .pth file are not read.
    """
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    programs = folder / "bin"
    run(sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet", "--no-deps",
        "--no-index", "--no-compile", wheel, cwd=folder.parent)  # fmt: skip
    own = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    Path(own.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return programs


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a namespace folder that is called as one of our floors is."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "x.py").write_text("WHOSE = 'the project'\n", "utf-8")
    return tmp_path


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, in an environment that points at no other Python code."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_adds_one_name_to_site_packages(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    (metadata,) = (name for name in names if name.endswith(".dist-info"))
    assert names == {"patchwright", metadata}
    assert metadata.startswith("patchwright-")


def test_the_wheel_carries_all_of_the_floors_and_nothing_of_the_workshop(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("cli", "agent", "tools", "sandbox", "examples"):
        files = (path for path in (CHECKOUT / folder).rglob("*") if path.is_file())
        expected = {
            f"patchwright/_floors/{path.relative_to(CHECKOUT).as_posix()}"
            for path in files
            if "__pycache__" not in path.parts
        }
        assert expected
        assert expected <= packed
    assert not [name for name in packed if "_checkout" in name or "/tests/" in name or "__pycache__" in name]


@pytest.mark.parametrize("program", ["patchwright", "pw"])
def test_the_installed_command_runs_beside_a_project_with_its_own_tools(
    installed: Path, project: Path, program: str
) -> None:
    assert run(installed / program, "--version", cwd=project).startswith("patchwright ")
    assert "Usage: patchwright" in run(installed / program, "--help", cwd=project)
    assert "Usage: patchwright" in run(installed / "python", "-m", "patchwright", "--help", cwd=project)


def test_the_project_finds_its_own_tools_and_never_ours(installed: Path, project: Path) -> None:
    found = run(
        installed / "python", "-c", "import tools.x; print(tools.x.WHOSE, tools.__path__)", cwd=project
    )
    assert found == f"the project _NamespacePath(['{project / 'tools'}'])\n"
    missing = "import importlib.util as u; print([u.find_spec(n) for n in ('cli', 'agent', 'sandbox')])"
    assert run(installed / "python", "-c", missing, cwd=project) == "[None, None, None]\n"


def test_the_installed_program_brings_the_demo_with_it(installed: Path, project: Path) -> None:
    code = (
        "from patchwright.launcher import open_floors; open_floors()\n"
        "from cli.demo_repo import materialise; from pathlib import Path\n"
        "print(materialise(Path('demo')))"
    )
    assert run(installed / "python", "-c", code, cwd=project) == f"{project / 'demo'}\n"
    log = run("git", "-C", project / "demo", "log", "--format=%s", cwd=project).splitlines()
    assert len(log) == 10
