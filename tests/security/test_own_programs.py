"""Programs that a project puts on the PATH under the names of ours: none of them runs outside the sandbox."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from sandbox.backends import landlock
from sandbox.backends.selection import choose_sandbox
from sandbox.errors import UserError
from sandbox.helpers import own_programs
from sandbox.helpers.own_programs import build_search_path, require_own_program
from tests.sandbox.boxes import bwrap
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

NAMES = ("git", "rg", "env", "bash", "sh", "bwrap", "podman", "docker", "gpg", "uname", "lsb_release")

FOLDERS = (".venv/bin", "node_modules/.bin")


def plant(root: Path, home: Path) -> None:
    """Put programs that leave a marker in the home, which only an unconfined one can, and then do their work."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            real = bwrap() if name == "bwrap" else Path(shutil.which(name) or "/bin/false")
            program = root / folder / name
            marker = f"{home}/ran-{name}"
            program.write_text(f'#!/bin/sh\n( : >"{marker}" ) 2>/dev/null\nexec {real} "$@"\n')
            program.chmod(0o755)


PLANTING = """\
import os, pathlib
for folder in {folders!r}:
    for name in {names!r}:
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\\n( : >{home}/ran-" + name + " ) 2>/dev/null\\nexec /usr/bin/" + name + ' "$@"\\n')
        path.chmod(0o755)
"""


class Shop:
    """A repository whose environment is active, as in a developer's shell."""

    def __init__(self, base: Path, home: Path) -> None:
        self.repo = Repo(base / "shop")
        self.home = home
        self.base = base
        self.repo.write("cart.py", "def total(prices):\n    return sum(prices) - 1\n")
        self.repo.write(".gitignore", ".venv/\nnode_modules/\n")
        self.repo.write(".venv/pyvenv.cfg", f"home = {Path(sys.executable).parent}\n")
        self.repo.commit_all("Add cart")
        here = [str(self.repo.root / each) for each in FOLDERS]
        self.path = os.pathsep.join([*here, "node_modules/.bin", "", os.environ["PATH"]])

    @property
    def root(self) -> Path:
        return self.repo.root

    def run(self, *arguments: str | Path, **env: str) -> Result:
        """Start us in the repository. A variable of git's is set, which we take away with env(1)."""
        own = {"PATH": self.path, "VIRTUAL_ENV": str(self.root / ".venv"), "GIT_TRACE_SETUP": "0"}
        return run(*arguments, cwd=self.root, env=own | env)

    def ran(self) -> list[str]:
        return sorted(each.name for each in self.home.glob("ran-*"))


@pytest.fixture
def shop(tmp_path: Path, isolated: Path) -> Shop:
    bwrap()
    return Shop(tmp_path, isolated)


def work(folder: Path, *first: dict[str, Any]) -> str:
    """The script of a session that uses all of our programs."""
    return script(
        folder,
        [
            *first,
            {"calls": [call("git_status"), call("search", pattern="total"), call("search", pattern="cart")]},
            {"calls": [call("edit", path="cart.py", old=" - 1", new=""), call("git_diff")]},
            {"calls": [call("shell", command="ls; git status --short")]},
            {"calls": [call("git_commit", message="Fix the total"), call("git_log")]},
            {"calls": [call("finish", summary="Fixed.")]},
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("box", ["bubblewrap", "landlock"])
def test_what_a_command_plants_on_the_path_never_runs_outside_the_sandbox(shop: Shop, box: str) -> None:
    if box == "landlock" and (reason := landlock.explain_unavailability()):
        pytest.skip(reason)
    (shop.root / "node_modules/.bin").mkdir(parents=True)
    shop.repo.write("setup_shop.py", PLANTING.format(folders=FOLDERS, names=NAMES, home=shop.home))
    (shop.root / ".git/info/exclude").write_text("setup_shop.py\n")
    planting = {"calls": [call("shell", command=f"{sys.executable} setup_shop.py")]}
    done = shop.run(
        "run", "fix it", "--sandbox", box, "--model", work(shop.base, planting), "--output", "stream-json"
    )
    assert (shop.root / ".venv/bin/git").exists(), done.out
    assert shop.ran() == []
    assert done.code == Exit.NO_TEST_RUNNER, done.err
    texts = [event.get("text", "") for event in done.events if event["kind"] == "observation"]
    assert any("cart.py" in text and "def total" in text for text in texts)
    assert shop.repo.show("cart.py").endswith("return sum(prices)\n")
    assert shop.run("undo").code in (0, 3)
    assert shop.ran() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("run", "fix it", "--output", "stream-json"),
        ("doctor",),
        ("review",),
        ("commit",),
        ("init", "--print"),
        ("hook", "run", "pre-commit"),
        ("hook", "install"),
        ("sessions",),
        ("undo",),
        ("trust", "--list"),
        ("repair",),
        ("demo",),
    ],
    ids=" ".join,
)
def test_no_command_runs_what_lies_on_the_path_of_a_project(shop: Shop, command: tuple[str, ...]) -> None:
    plant(shop.root, shop.home)
    (shop.home / "patchwright/cache/bubblewrap.json").unlink(missing_ok=True)
    shop.repo.write("cart.py", "def total(prices):\n    return sum(prices)\n")
    if command[0] == "run":
        shop.repo.git("checkout", "--", "cart.py")
        command = (*command, "--model", work(shop.base))
    if command[0] == "commit":
        shop.repo.git("add", "cart.py")
    done = shop.run(*command)
    assert "Traceback" not in done.err
    assert shop.ran() == []
    if command[0] in ("run", "commit"):
        assert done.code == (Exit.NO_TEST_RUNNER if command[0] == "run" else Exit.DONE), done.err
        assert shop.repo.show("cart.py").endswith("return sum(prices)\n")
    if command[0] == "doctor":
        assert "bubblewrap works" in done.out


@pytest.mark.slow
def test_where_only_a_planted_git_is_found_one_line_says_so(shop: Shop) -> None:
    plant(shop.root, shop.home)
    lonely = os.pathsep.join(str(shop.root / each) for each in FOLDERS)
    for command in (("commit",), ("review",), ("hook", "install")):
        done = shop.run(*command, PATH=lonely)
        assert done.code == Exit.CONFIGURATION
        passed_over = (
            f"git was not found on the PATH outside the workspace (passed over: '{shop.root}/.venv/bin/git')"
        )
        assert passed_over in done.err
        assert "Install git" in done.err
    assert shop.ran() == []


@pytest.mark.slow
def test_a_bubblewrap_that_was_remembered_is_not_taken_in_the_workspace_that_planted_it(shop: Shop) -> None:
    plant(shop.root, shop.home)
    elsewhere = shop.base / "elsewhere"
    elsewhere.mkdir()
    cache = shop.base / "cache"
    choose_sandbox(elsewhere, cache=cache)
    kept = json.loads((cache / "bubblewrap.json").read_text())
    planted = shop.root / ".venv/bin/bwrap"
    status = planted.stat()
    circumstances = kept["for"] | {"changed": status.st_mtime_ns, "size": status.st_size}
    kept |= {"program": str(planted), "for": circumstances}
    (cache / "bubblewrap.json").write_text(json.dumps(kept))
    box = choose_sandbox(shop.root, "bubblewrap", cache=cache)
    assert box.name == "bubblewrap"
    assert json.loads((cache / "bubblewrap.json").read_text())["program"] != str(planted)
    assert shop.ran() == []


def test_a_program_is_not_reached_through_a_workspace_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By links from outside: of a folder, of the program, or of something on the way back out again."""
    real = tmp_path / "real"
    shop = Repo(tmp_path / "shop").root
    for folder in (real, shop / "bin", tmp_path / "links"):
        folder.mkdir()
    for folder in (real, shop / "bin"):
        (folder / "git").write_text("#!/bin/sh\n")
        (folder / "git").chmod(0o755)
    (shop / "out").symlink_to(real)
    (tmp_path / "to-bin").symlink_to(shop / "bin")
    (tmp_path / "links/git").symlink_to("../shop/bin/git")
    (tmp_path / "and-out").symlink_to(shop / "out")
    ways = [str(tmp_path / each) for each in ("to-bin", "links", "and-out")]
    ways += [f"{shop}/bin", f"{real}/../shop/bin", "shop/bin", ".", ""]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(ways))
    with pytest.raises(UserError, match=r"passed over: .*/to-bin/git"):
        require_own_program("git", shop)
    monkeypatch.setenv("PATH", os.pathsep.join([*ways, str(real)]))
    assert require_own_program("git", shop) == f"{real}/git"
    # A folder of links alone is not ours to judge: what matters is the program that is reached.
    assert build_search_path(shop).split(os.pathsep) == [str(tmp_path / "links"), str(real)]


def test_a_linked_work_tree_and_a_submodule_take_none_from_the_project_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Repo(tmp_path / "shop")
    shop.commit_all("Begin")
    shop.git("worktree", "add", "-q", str(tmp_path / "beside"))
    inner = Repo(shop.root / "inner")
    program = shop.hook("git", "", folder=".venv/bin")
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    for root in (tmp_path / "beside", inner.root):
        monkeypatch.setattr(own_programs, "_excluded", set())
        assert require_own_program("git", root) != str(program)
