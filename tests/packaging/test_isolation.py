"""The installed command runs none of a project's code in its own process, and no command rewrites it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sandbox.backends import landlock
from tests.packaging.installing import CHECKOUT, install, run
from tests.sandbox.boxes import bwrap
from tests.support.cli import call, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


def plant_modules(folder: Path, marker: Path) -> None:
    """Put modules into a folder that Python, or we, may import, and that leave a marker."""
    for name in ("sitecustomize", "usercustomize", "patchwright", "typer", "cli"):
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r} + ' ')\n", "utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    """A repository with a bug, whose top is full of modules that leave a marker."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(prices):\n    return sum(prices) - 1\n")
    plant_modules(repo.root, tmp_path / "ran")
    repo.commit_all("Add cart")
    return repo


def start(
    program: Path | str,
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    before: Sequence[Path | str] = (),
) -> subprocess.CompletedProcess[str]:
    """Start a program with PYTHONPATH=. and the like."""
    python = {"PYTHONPATH": f".{os.pathsep}{cwd}", "PYTHONSTARTUP": "sitecustomize.py", **(env or {})}
    return subprocess.run(
        [*map(str, before), str(program), *arguments],
        cwd=cwd,
        env={**os.environ, **python},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(params=["pip", "uv"])
def programs(request: pytest.FixtureRequest, wheel: Path, tmp_path: Path) -> Path:
    return install(wheel, tmp_path / "a place with spaces", request.param)


def test_python_path_brings_nothing_of_the_project_into_our_process(
    programs: Path, project: Repo, tmp_path: Path
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    (links / "patchwright").symlink_to(programs / "patchwright")
    (links / "again").symlink_to("patchwright")
    (project.root / "patchwright-here").symlink_to(os.path.relpath(programs / "pw", project.root))
    ways: list[tuple[Path | str, Mapping[str, str]]] = [
        (programs / "patchwright", {}),
        (programs / "pw", {}),
        (links / "again", {}),
        ("patchwright", {"PATH": f"{links}:{os.environ['PATH']}"}),
        (os.path.relpath(programs / "patchwright", project.root), {}),
        ("./patchwright-here", {"CDPATH": str(tmp_path)}),
    ]
    for program, env in ways:
        done = start(program, "--version", cwd=project.root, env=env, before=("/usr/bin/env",))
        assert (done.returncode, done.stdout[:12], done.stderr) == (0, "patchwright ", ""), program
        assert not (tmp_path / "ran").exists(), program
    shown = start(programs / "patchwright", "sessions", cwd=project.root)
    assert (shown.returncode, shown.stderr[:11]) == (0, "no sessions")
    assert not (tmp_path / "ran").exists()


def test_no_program_is_looked_up_on_the_path_before_python_runs(
    programs: Path, project: Repo, tmp_path: Path
) -> None:
    for name in ("readlink", "dirname", "env", "sh", "python", "python3", "test", "printf"):
        project.hook(name, f"echo {name} >>{tmp_path / 'ran'}", folder="bin")
    (tmp_path / "link").symlink_to(programs / "patchwright")
    done = start(tmp_path / "link", "--version", cwd=project.root, env={"PATH": str(project.root / "bin")})
    assert (done.returncode, done.stdout[:12]) == (0, "patchwright ")
    assert not (tmp_path / "ran").exists()


def test_a_project_that_is_installed_beside_us_is_not_in_our_process(
    programs: Path, project: Repo, tmp_path: Path
) -> None:
    """As `pip install --editable .` leaves it: a .pth file that leads to the project's own folder."""
    own = run(
        programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path
    )
    Path(own.strip(), "__editable__.shop.pth").write_text(f"{project.root}\n", "utf-8")
    done = start(programs / "patchwright", "doctor", cwd=project.root, env={"PYTHONPATH": ""})
    assert done.stdout
    assert not (tmp_path / "ran").exists()


def test_a_command_that_is_alone_says_what_to_do(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    there = tmp_path / "alone" / "patchwright"
    there.write_bytes((programs / "patchwright").read_bytes())
    there.chmod(0o755)
    done = start(there, "--version", cwd=tmp_path)
    assert done.returncode == 6
    assert done.stderr.startswith(
        f"patchwright: no Python beside '{there}': install Patchwright in an environment"
    )
    (tmp_path / "round").symlink_to("round")
    done = start("/bin/sh", str(there.with_name("round")), cwd=tmp_path)
    assert done.returncode != 0


def test_hooks_and_other_processes_of_ours_start_isolated(
    installed: Path, project: Repo, tmp_path: Path
) -> None:
    done = start(installed / "patchwright", "hook", "install", cwd=project.root)
    assert done.returncode == 0, done.stderr
    assert f"{installed / 'patchwright'} hook run" in (project.root / ".git/hooks/pre-commit").read_text()
    project.write("cart.py", "def total(prices):\n    return sum(prices)\n")
    project.git("add", "cart.py")
    committed = start("git", "commit", "-m", "Fix the total", cwd=project.root)
    assert committed.returncode == 0, committed.stderr
    model = script(tmp_path, [{"calls": [call("finish", summary="Done.")]}])
    tried = start(
        installed / "patchwright", "run", "do it", "--attempts", "2", "--model", model, cwd=project.root
    )
    assert "Traceback" not in tried.stderr
    assert not (tmp_path / "ran").exists()


def test_run_as_a_module_it_refuses_a_path_into_the_project(
    installed: Path, project: Repo, tmp_path: Path
) -> None:
    (project.root / "patchwright.py").unlink()
    for value in (".", str(project.root), f"{tmp_path}:lib"):
        done = start(
            installed / "python",
            "-P",
            "-m",
            "patchwright",
            "doctor",
            cwd=project.root,
            env={"PYTHONPATH": value},
        )
        assert done.returncode == 6
        assert done.stderr.startswith(f"patchwright: PYTHONPATH={value!r} leads into this project")
        assert "-I -m patchwright" in done.stderr
    (tmp_path / "ran").unlink()
    done = start(installed / "python", "-I", "-m", "patchwright", "sessions", cwd=project.root)
    assert (done.returncode, done.stderr[:11]) == (0, "no sessions")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("box", ["bubblewrap", "landlock"])
def test_no_command_rewrites_us_where_we_are_installed_in_the_project(
    wheel: Path, project: Repo, tmp_path: Path, box: str
) -> None:
    if box == "landlock" and (reason := landlock.explain_unavailability()):
        pytest.skip(reason)
    if box == "bubblewrap":
        bwrap()
    programs = install(wheel, project.root / ".venv")
    packages = next(programs.parent.glob("lib/python3*/site-packages"))
    ours = packages / "patchwright/_floors/sandbox/errors.py"
    (project.root / ".git/info/exclude").write_text(".venv/\n")
    code = f"open({str(tmp_path / 'ran')!r}, 'w')"
    places = [
        ours,
        packages / "sitecustomize.py",
        packages / "evil.pth",
        programs / "patchwright",
        programs / "git",
        programs.parent / "pyvenv.cfg",
    ]
    before = {place: place.read_bytes() if place.exists() else None for place in places}
    attacks = [f"chmod u+w {place}; echo {code!r} >>{place}" for place in places]
    attacks += [
        "mv .venv away; mkdir -p .venv/bin",
        "rm -rf .venv",
        "mv .venv/bin/python x; ln -s /bin/sh .venv/bin/python",
    ]
    for number, each in enumerate(attacks):  # in files: else they were refused as soon as they were read
        project.write(f"attack{number}.sh", each)
    turns = [{"calls": [call("shell", command=f"sh attack{number}.sh")]} for number in range(len(attacks))]
    turns += [
        {"calls": [call("edit", path=str(ours.relative_to(project.root)), old="import", new="evil")]},
        {"calls": [call("write", path=".venv/bin/git", content="#!/bin/sh\n")]},
        {"calls": [call("shell", command="echo fine >made.txt || echo fine >>cart.py")]},
        {"calls": [call("finish", summary="Done.")]},
    ]
    model = script(tmp_path, turns)
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": ""}
    done = start(
        programs / "patchwright", "run", "do it", "--model", model, "--sandbox", box, "--output", "stream-json",
        cwd=project.root, env=path,
    )  # fmt: skip
    assert '"kind":"end"' in done.stdout.replace(" ", ""), done.stderr
    assert "Patchwright itself is installed there" in done.stdout
    assert "Patchwright is installed in .venv, so commands cannot change it" in done.stdout
    assert {place: place.read_bytes() if place.exists() else None for place in places} == before
    again = start(programs / "patchwright", "doctor", cwd=project.root, env=path)
    assert "Patchwright is installed in this workspace" in again.stdout
    assert not (tmp_path / "ran").exists()


def test_code_of_ours_that_commands_can_change_is_told(tmp_path: Path, project: Repo) -> None:
    """A checkout that is worked on with itself: its code has to be writable."""
    copy = tmp_path / "copy"
    Repo(copy)
    for name in ("patchwright", "cli", "agent", "tools", "sandbox", "packages"):
        run("cp", "-r", CHECKOUT / name, copy / name, cwd=tmp_path)
    (copy / "examples").symlink_to(CHECKOUT / "examples")
    model = script(tmp_path, [{"text": "Nothing to do."}])
    code = f"import sys; sys.path.insert(0, {str(copy)!r}); from patchwright.launcher import main; sys.exit(main())"
    for root, expected in ((copy, True), (project.root, False)):
        done = start(
            sys.executable, "-I", "-c", code, "run", "look", "--no-commit", "--model", model, "-C", str(root),
            cwd=tmp_path,
        )  # fmt: skip
        assert ("Patchwright's own process takes code from this workspace" in done.stderr) is expected, (
            done.stderr
        )


def test_files_that_are_ours_and_the_projects_too_are_told(
    wheel: Path, project: Repo, tmp_path: Path
) -> None:
    """As uv makes them: hard links into every environment."""
    programs = install(wheel, tmp_path / "own")
    packages = next(programs.parent.glob("lib/python3*/site-packages"))
    theirs = project.root / ".venv" / packages.relative_to(programs.parent) / "patchwright"
    theirs.mkdir(parents=True)
    model = script(tmp_path, [{"text": "Nothing to do."}])
    command = ("run", "look", "--no-commit", "--model", model)
    assert "hard links" not in start(programs / "patchwright", *command, cwd=project.root).stderr
    os.link(packages / "patchwright/launcher.py", theirs / "launcher.py")
    assert (
        "hard links to files of this workspace"
        in start(programs / "patchwright", *command, cwd=project.root).stderr
    )
