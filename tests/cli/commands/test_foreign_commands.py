"""Commands of installed packages: found by their name in the user's environment, never in a repository."""

from __future__ import annotations

import signal
import site
import sys
from functools import partial
from pathlib import Path

import pytest

from cli.app import main

HELLO = '''\
import typer


def add(app):
    @app.command()
    def hello(name: str = "you") -> None:
        """Greet."""
        typer.echo(f"hello {name}")
        raise typer.Exit(3)
'''


def install(folder: Path, command: str, target: str) -> None:
    info = folder / f"{command}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {command}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[patchwright.commands]\n{command} = {target}\n")


def test_a_package_of_the_environment_adds_a_command_and_a_repository_does_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    # The program's end ignores Ctrl-C, which the programs under test of later tests would inherit.
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    packages, repository = tmp_path / "site-packages", tmp_path / "shop"
    install(packages, "hello", "hello_command:add")
    install(packages, "run", "hello_command:add")  # ours stays ours
    install(packages, "broken", "no_such_module:add")
    (packages / "hello_command.py").write_text(HELLO)
    install(repository, "planted", "hello_command:add")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(sys, "path", [str(repository), *sys.path, str(packages)])
    monkeypatch.chdir(repository)

    def call(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["patchwright", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    assert call("hello", "--name", "Ann") == 3
    assert capsys.readouterr().out == "hello Ann\n"
    assert call("planted") == 2
    assert "planted" in capsys.readouterr().err
    assert call("broken") == 6
    assert "cannot be loaded: ModuleNotFoundError" in capsys.readouterr().err
    assert call("run", "--help") == 0
    assert "Greet." not in capsys.readouterr().out
