"""The wheel: one name in site-packages, and a project's own `tools/` stays its own."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.packaging.installing import CHECKOUT, run

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a namespace folder that is called as one of our floors is."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "x.py").write_text("WHOSE = 'the project'\n", "utf-8")
    return tmp_path


def test_the_wheel_adds_one_name_to_site_packages(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    (metadata,) = (name for name in names if name.endswith(".dist-info"))
    (programs,) = (
        name for name in names if name.endswith(".data")
    )  # goes elsewhere: to the folder of programs
    assert names == {"patchwright", metadata, programs}
    assert metadata.startswith("patchwright-")
    found = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith(programs)]
    assert found == [f"{programs}/scripts/patchwright", f"{programs}/scripts/pw"]


def test_the_wheel_carries_all_of_the_floors_and_nothing_of_the_workshop(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("cli", "agent", "tools", "sandbox", "examples", "packages"):
        files = (path for path in (CHECKOUT / folder).rglob("*") if path.is_file())
        expected = {
            f"patchwright/_floors/{path.relative_to(CHECKOUT).as_posix()}"
            for path in files
            if "__pycache__" not in path.parts
        }
        assert expected
        assert expected <= packed
    assert "patchwright/py.typed" in packed
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
        "from cli.commands.setup.demo_repository import create_demo_repository; from pathlib import Path\n"
        "print(create_demo_repository(Path('demo')))"
    )
    assert run(installed / "python", "-c", code, cwd=project) == f"{project / 'demo'}\n"
    log = run("git", "-C", project / "demo", "log", "--format=%s", cwd=project).splitlines()
    assert len(log) == 10
