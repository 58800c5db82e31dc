"""Our own programs (git, ripgrep, the index) in a hostile repository: they reach nothing outside it, and always end.

Each attack is tried as root and as an ordinary user.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.fs.git_layout import read_git_layout
from sandbox.helpers.helper_confinement import find_confinement
from tests.security.conftest import NOBODY, SECRET, find_ordinary_python
from tests.support.repo import Repo
from tools.fs.ripgrep import find_ripgrep

pytestmark = pytest.mark.slow


confined = pytest.mark.skipif(not find_confinement(), reason="the kernel has no Landlock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A hostile repository beside a home with a secret, and the user in whose name we work in it."""

    base: Path
    user: int
    code: Path
    repo: Repo

    @property
    def root(self) -> Path:
        return self.repo.root

    @property
    def home(self) -> Path:
        return self.base / "home"

    def git(self, *arguments: str, root: Path | None = None, stdin: str = "") -> dict[str, Any]:
        """Run git as we do. Returns the exit code (-1 for an error of ours), "out" and "err"."""
        return self._attempt(program="git", root=str(root or self.root), arguments=arguments, stdin=stdin)

    def search(self, *arguments: str, denied: Sequence[Path] = ()) -> dict[str, Any]:
        names = [str(each) for each in denied]
        return self._attempt(program="rg", root=str(self.root), arguments=(*arguments, "./"), denied=names)

    def own(self) -> None:
        for path in (self.base, *self.base.rglob("*")):
            os.chown(path, self.user, self.user, follow_symlinks=False)

    def ran(self) -> list[str]:
        return sorted(each.name for each in self.base.glob("ran-*"))

    def trap(self, name: str) -> str:
        """A command that leaves a marker."""
        return f"touch '{self.base}/ran-{name}'"

    def _attempt(self, **request: Any) -> dict[str, Any]:
        self.own()
        other = self.user != os.geteuid()
        front = ("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups")
        python = find_ordinary_python() if other else sys.executable
        path = f"{Path(find_ripgrep()).parent}{os.pathsep}{os.environ['PATH']}"
        env = {"HOME": str(self.home), "PATH": path, "PYTHONPATH": str(self.code)}
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            [*(front if other else ()), python, str(self.code / "helper_attempt.py")],
            input=json.dumps([request]),
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**own, **env, "PYTHONDONTWRITEBYTECODE": "1"},
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)[0]
        return answer


@pytest.fixture(params=["root", "ordinary"])
def stranger(request: pytest.FixtureRequest, readable_code: Path) -> Iterator[Stranger]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("these run as an ordinary user")
    base = Path(tempfile.mkdtemp(prefix="patchwright-test-", dir="/var/tmp"))
    user = NOBODY if request.param == "ordinary" and os.geteuid() == 0 else os.geteuid()
    found = Stranger(base=base, user=user, code=readable_code, repo=Repo(base / "shop"))
    (found.home / ".ssh").mkdir(parents=True)
    (found.home / ".ssh/id_ed25519").write_text(f"{SECRET}\n")
    (found.home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.org\n")
    found.repo.write("src/cart.py", "def total(prices):\n    return sum(prices)\n")
    found.repo.commit_all("Add cart")
    try:
        yield found
    finally:
        shutil.rmtree(base)


def test_honest_work_is_done(stranger: Stranger) -> None:
    """The positive twin: reading, staging, committing, files that the user's settings name, a linked work tree."""
    (stranger.home / "identity").write_text("[user]\n\tname = B\n")
    (stranger.home / "dotfiles").mkdir()
    (stranger.home / "dotfiles/ignore").write_text("*.log\n")
    (stranger.home / "ignored").symlink_to("dotfiles/ignore")
    (stranger.home / ".config/git").mkdir(parents=True)
    (stranger.home / ".config/git/attributes").symlink_to("../../dotfiles/attributes")
    (stranger.home / "dotfiles/attributes").write_text("*.py diff=python\n")
    with (stranger.home / ".gitconfig").open("a") as file:
        file.write("[core]\n\texcludesFile = ~/ignored\n[include]\n\tpath = identity\n")
    beside = stranger.base / "beside"
    stranger.repo.git("worktree", "add", "-q", str(beside))
    (beside / "more.py").write_text("total = 2\n")
    stranger.repo.write("a.log", "x")
    stranger.repo.write("new.py", "total = 1\n")
    assert stranger.git("status", "--porcelain")["out"] == "?? new.py\n"
    assert stranger.git("add", "new.py")["code"] == 0
    assert stranger.git("commit", "-m", "Two")["code"] == 0
    assert stranger.git("log", "--format=%an %s")["out"] == "B Two\nTest User Add cart\n"
    assert stranger.git("add", "-A", root=beside)["code"] == 0
    assert stranger.git("commit", "-m", "Three", root=beside)["code"] == 0
    assert "new.py" in stranger.search("--files-with-matches", "--regexp=total")["out"]
    assert "a.log" not in stranger.search("--files")["out"]


@confined
@pytest.mark.parametrize("key", ["core.excludesFile", "include.path", "mailmap.file"])
def test_git_reads_no_key_for_a_repository(stranger: Stranger, key: str) -> None:
    """A file that only the user's keys are in, named by the repository's own configuration."""
    secret = stranger.home / ".ssh/id_ed25519"
    secret.write_text("[trap]\n\tfound = very-secret\n" if key == "include.path" else "very-*\n")
    stranger.repo.git("config", key, str(secret))
    stranger.repo.write("very-secret", "x")
    assert "very-secret" not in stranger.git("config", "--get", "trap.found")["out"]
    assert "very-*" not in stranger.git("check-ignore", "-v", "very-secret")["out"]


@confined
def test_git_starts_no_program_of_a_repository(stranger: Stranger) -> None:
    for name in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command"):
        stranger.repo.git("config", name, stranger.trap(name))
    for name in (
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "gpg.program",
        "core.sshCommand",
    ):
        stranger.repo.git("config", name, stranger.trap(name))
    stranger.repo.write(".gitattributes", "*.py filter=evil diff=evil\n")
    stranger.repo.write("src/cart.py", "def total(prices):\n    return 0\n")
    for arguments in (("status",), ("diff",), ("add", "-A"), ("log", "-p"), ("hash-object", "src/cart.py")):
        stranger.git(*arguments)
    assert stranger.ran() == []


@pytest.mark.parametrize("way", ["extension", "mailmap", "promisor"])
def test_a_missing_object_is_not_fetched_by_a_command_of_the_repository(stranger: Stranger, way: str) -> None:
    helper = f'sh -c "{stranger.trap("uploadpack")}" --'
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", str(stranger.root)),
        ("remote.origin.uploadpack", helper),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialCloneFilter", "blob:none"),
    ):
        if way != "promisor" or name != "extensions.partialClone":
            stranger.repo.git("config", name, value)
    blob = stranger.repo.git("rev-parse", "HEAD:src/cart.py").strip()
    if way == "mailmap":
        stranger.repo.git("config", "mailmap.blob", "0123456789012345678901234567890123456789")
    (stranger.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for arguments in (("log", "-p", "--use-mailmap"), ("cat-file", "-p", blob), ("diff",), ("ls-files",)):
        stranger.git(*arguments)
    assert stranger.ran() == []


def test_objects_of_another_repository_are_not_borrowed_untrusted(stranger: Stranger) -> None:
    other = Repo(stranger.base / "private")
    other.write("key", SECRET)
    commit = other.commit_all("Keep")
    (stranger.root / ".git/objects/info/alternates").write_text(f"{other.root}/.git/objects\n")
    done = stranger.git("show", commit)
    assert SECRET not in done["out"]
    assert "uses another one's folder: .git/objects/info/alternates leads to" in done["err"]


@pytest.mark.parametrize("name", ["objects", "refs"])
def test_a_git_folder_does_not_lead_to_another_by_links(stranger: Stranger, name: str) -> None:
    other = Repo(stranger.base / "private")
    other.write("key", SECRET)
    commit = other.commit_all("Keep")
    shutil.rmtree(stranger.root / ".git" / name)
    (stranger.root / ".git" / name).symlink_to(other.root / ".git" / name)
    done = stranger.git("show", commit)
    assert SECRET not in done["out"]
    assert f".git/{name} leads to" in done["err"]


@pytest.mark.parametrize("form", ["file", "link", "common"])
def test_a_git_file_does_not_redirect_to_another_repository(stranger: Stranger, form: str) -> None:
    other = Repo(stranger.base / "victim")
    other.write("theirs.py", "x = 1\n")
    before = other.commit_all("Begin")
    shop = stranger.base / "clone"
    shop.mkdir()
    (shop / "cart.py").write_text("x = 2\n")
    if form == "file":
        (shop / ".git").write_text(f"gitdir: {other.root}/.git\n")
    elif form == "link":
        (shop / ".git").symlink_to(other.root / ".git")
    else:
        Repo(shop)
        (shop / ".git/commondir").write_text(f"{other.root}/.git\n")
    for arguments in (("add", "-A"), ("commit", "-m", "Redirected"), ("log",)):
        done = stranger.git(*arguments, root=shop)
        assert done["code"] == -1
        assert "uses another one's folder: .git" in done["err"]
    assert (other.root / ".git/refs/heads/main").read_text().strip() == before


def test_a_submodule_and_a_linked_work_tree_are_no_redirection(tmp_path: Path) -> None:
    library = Repo(tmp_path / "library")
    library.write("a.py", "x = 1\n")
    library.commit_all()
    shop = Repo(tmp_path / "shop")
    shop.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.root), "vendor/library"
    )
    shop.commit_all("Add a library")
    shop.git("worktree", "add", "-q", str(tmp_path / "beside"))
    for root in (shop.root, shop.root / "vendor/library", tmp_path / "beside"):
        layout = read_git_layout(root)
        assert layout is not None
        assert layout.foreign == ()
    apart = tmp_path / "apart"
    apart.mkdir()
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={tmp_path}/kept", str(apart)], check=True)
    layout = read_git_layout(apart)
    assert layout is not None
    assert layout.foreign == ((".git", f"{tmp_path}/kept"),)


@confined
def test_search_does_not_lose_a_race_against_a_folder_that_becomes_a_link(stranger: Stranger) -> None:
    """`renameat2(RENAME_EXCHANGE)` of a folder and a link to the home, as fast as it goes, while ripgrep walks."""
    for number in range(200):
        stranger.repo.write(f"deep/a{number}/b/c", "x\n")
    place = stranger.root / "deep/swap"
    place.mkdir()
    (place / "id_ed25519").write_text("mine\n")
    link = stranger.root / "deep/link"
    link.symlink_to(stranger.home / ".ssh")
    stop = threading.Event()
    libc = ctypes.CDLL(None)

    def swap() -> None:
        while not stop.is_set():
            libc.renameat2(-100, os.fsencode(place), -100, os.fsencode(link), 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(12):
            assert SECRET not in stranger.search("--regexp=secret|mine")["out"]
    finally:
        stop.set()
        thread.join()
    # As if the race were lost: ripgrep itself is led through the link.
    target = place if place.is_symlink() else link
    assert (
        SECRET
        not in stranger.search("--regexp=.", "--follow", f"./{target.relative_to(stranger.root)}")["out"]
    )


@confined
def test_search_does_not_read_a_denied_file_under_another_name(stranger: Stranger) -> None:
    stranger.repo.write("conf/prod/key.txt", SECRET)
    (stranger.root / "public").symlink_to("conf/prod")
    denied = [stranger.root / "conf/prod/key.txt"]
    done = stranger.search("--regexp=.", "--follow", "./public", denied=denied)
    assert SECRET not in done["out"]
    assert "def total" in done["out"]


@confined
@pytest.mark.parametrize("name", [".ignore", ".gitignore", ".rgignore"])
def test_an_endless_file_of_rules_takes_no_memory(stranger: Stranger, name: str) -> None:
    (stranger.root / name).symlink_to("/dev/zero")
    began = time.monotonic()
    assert "cart.py" in stranger.search("--files")["out"]
    (stranger.root / name).unlink()
    with (stranger.root / name).open("wb") as file:
        file.truncate(20 << 30)
    done = stranger.search("--files")
    assert time.monotonic() - began < 30
    assert f"'{name}' is too large" in done["err"] or "cart.py" in done["out"]


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
def test_a_pipe_in_place_of_rules_holds_no_search_up(stranger: Stranger, name: str) -> None:
    os.mkfifo(stranger.root / "src" / name)
    began = time.monotonic()
    done = stranger.search("--files")
    assert time.monotonic() - began < 15
    assert done["err"] == f"files cannot be listed here: 'src/{name}' is a pipe in place of a file"


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
def test_a_pipe_in_place_of_rules_does_not_hold_git_up(stranger: Stranger, name: str) -> None:
    os.mkfifo(stranger.root / "src" / name)
    stranger.repo.write("src/new.py", "x = 1\n")
    began = time.monotonic()
    done = stranger.git("status", "--porcelain")
    blocked = stranger.git("check-attr", "filter", "src/new.py") if name == ".gitattributes" else done
    assert time.monotonic() - began < 15
    assert blocked["err"] == f"git cannot work here: 'src/{name}' is a pipe in place of a file"
