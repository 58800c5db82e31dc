"""Run shell lines where every program is a stub that records how it was called: what judging is held against.

The stage is a folder with a workspace (`work`), a home and another folder (`outside`); bubblewrap shows the rest
of the machine read-only and gives no network. The stubs stand alone on PATH. Each writes its arguments down and
then becomes the real program, when that is one of `REAL`: so that what a real `find` or `sed` runs is seen too.
Also /bin/sh is a stub.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

REAL = (
    "cat head tail sort uniq wc cut tr sed awk mawk gawk grep egrep fgrep find xargs env timeout nice nohup setsid"
    " stdbuf tee cp mv ln rm mkdir rmdir touch truncate split dd tar zip unzip gzip bzip2 xz shuf seq ls"
    " stat file diff cmp comm join paste fold nl od tac rev basename dirname realpath readlink mktemp install date"
    " sha256sum md5sum base64 xxd iconv printenv uname id true false sleep expr unlink mkfifo bash"
)
"""Programs that do what they do for real; all others only record."""

LINE_SECONDS = 5
"""Some lines read from a FIFO that they made, or wait for input for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What one line did.

    runs: the arguments of every program that was started
    outside: paths outside the workspace that appeared, vanished or changed
    """

    line: str
    runs: tuple[tuple[str, ...], ...]
    outside: tuple[str, ...]


class Stage:
    """A place to run lines in. `names`: of the programs that there shall be."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self.folder = folder
        self.work, self.home, self.outside = (folder / name for name in ("work", "home", "outside"))
        self.stubs = folder / "stubs"
        for each in (self.work, self.home, self.outside, self.stubs):
            each.mkdir(parents=True)
        _fill(self.work)
        (self.home / ".bashrc").write_text("# canary\n")
        (self.outside / "canary").write_text("canary\n")
        shell = shutil.which("bash")
        assert shell is not None
        self.shell = folder / "interpreter"  # under another name: bash itself is a stub
        shutil.copy(shell, self.shell)
        for name in {*names, *REAL.split()}:
            if name and "/" not in name and name not in (".", ".."):
                self._stub(name)
        self.sh = self.stubs / "sh"

    def _stub(self, name: str) -> None:
        real = shutil.which(name, path="/usr/bin:/bin") if name in REAL.split() else None
        lines = [
            f"#!{self.shell}",
            f'printf \'%s\\0\' "$#" {_quoted(name)} "$@" >> {_quoted(str(self.folder / "log"))}',
            f'exec -a {_quoted(name)} {_quoted(real)} "$@"' if real else "exit 0",
        ]
        path = self.stubs / name
        path.write_text("\n".join(lines) + "\n")
        path.chmod(0o755)

    def run(self, lines: Sequence[str], bwrap: Path, privilege: Sequence[str]) -> list[Ran]:
        """Run each line in a fresh copy of the workspace, under one bubblewrap."""
        (self.folder / "lines.json").write_text(json.dumps(list(lines)))
        argv = [str(bwrap), *privilege, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        argv += ["--tmpfs", "/tmp", "--tmpfs", "/run"]
        for each in (sys.base_prefix, sys.prefix, __file__):  # they may lie below /tmp themselves
            argv += ["--ro-bind", each, each]
        argv += ["--bind", str(self.folder), str(self.folder)]
        argv += ["--ro-bind", str(self.sh), os.path.realpath("/bin/sh")]
        argv += ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"]
        argv += ["--clearenv", "--setenv", "LC_ALL", "C.UTF-8", "--", sys.executable, "-I", __file__]
        done = subprocess.run([*argv, str(self.folder)], capture_output=True, check=False)
        if done.returncode:
            raise AssertionError(done.stderr.decode("utf-8", "replace"))
        found = json.loads((self.folder / "results.json").read_text())
        return [
            Ran(line=line, runs=tuple(map(tuple, runs)), outside=tuple(outside))
            for line, runs, outside in found
        ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fill(work: Path) -> None:
    (work / "src").mkdir()
    (work / "src" / "c.py").write_text("import os\nprint('c')\n")
    (work / "a.txt").write_text("one\ntwo\nthree\n")
    (work / "b.txt").write_text("two\nthree\nfour\n")
    (work / "-o").write_text("a file with the name of an option\n")
    (work / "--compress-program=id").write_text("another\n")
    (work / "run.sh").write_text("#!/bin/sh\nid\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("../outside")
    (work / "away").symlink_to("../outside/new")


# ── Inside: the driver ───────────────────────────────────────────────────────────────────────────────


def drive(folder: Path) -> None:
    """Run the lines of lines.json one after the other; tell in results.json what each did."""
    lines = json.loads((folder / "lines.json").read_text())
    work, pristine, log = folder / "work", folder / "pristine", folder / "log"
    if not pristine.exists():
        shutil.copytree(work, pristine, symlinks=True)
    before, whole = _seen(folder), _tree(work)
    found = []
    for line in lines:
        _one(folder, line)
        after = _seen(folder)
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        found.append((line, _records(log), changed))
        log.unlink(missing_ok=True)
        if changed:
            _reset(folder)
            before = _seen(folder)
        if _tree(work) != whole:
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(pristine, work, symlinks=True)
            whole = _tree(work)
    (folder / "results.json").write_text(json.dumps(found))


def _one(folder: Path, line: str) -> None:
    env = {"PATH": str(folder / "stubs"), "HOME": str(folder / "home"), "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        [str(folder / "interpreter"), "-c", line],
        cwd=folder / "work",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(LINE_SECONDS)
    _end_others()
    process.wait()


def _end_others() -> None:
    """What a line left running would write into the next one's record. All that is here was started here.

    One look is not enough: what is about to die may have started another since, and dies a moment later.
    """
    if Path("/proc/1/comm").read_text() != "bwrap\n":
        raise RuntimeError("this is to be run in a namespace of processes of its own, under bubblewrap")
    while others := _find_others():
        for each in others:
            with suppress(ProcessLookupError):  # ended by itself meanwhile
                os.kill(each, signal.SIGKILL)
        time.sleep(0.001)


def _find_others() -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if int(folder.name) not in (1, os.getpid()) and state not in "ZX":
                found.append(int(folder.name))
    return found


def _records(log: Path) -> list[list[str]]:
    if not log.exists():
        return []
    fields = log.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    records, place = [], 0
    while place + 1 < len(fields):
        count = int(fields[place])
        records.append(fields[place + 1 : place + 2 + count])
        place += 2 + count
    return records


def _seen(folder: Path) -> dict[str, str]:
    """All that may not change. (`mktemp` has its own names in the folder for temporary files.)"""
    temporary = {path: seen for path, seen in _tree(Path("/tmp"), depth=1).items() if "/tmp." not in path}
    return {**_tree(folder / "home"), **_tree(folder / "outside"), **temporary}


def _tree(folder: Path, depth: int = 9) -> dict[str, str]:
    found: dict[str, str] = {}
    for parent, folders, files in os.walk(folder):
        if parent.count("/") - str(folder).count("/") >= depth:
            folders.clear()
        for name in folders + files:
            path = Path(parent, name)
            status = path.lstat()
            found[str(path)] = (
                f"{status.st_mode}:{status.st_size}:{status.st_mtime_ns if path.is_file() else ''}"
            )
    return found


def _reset(folder: Path) -> None:
    for name in ("home", "outside"):
        for each in (folder / name).iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
    (folder / "home" / ".bashrc").write_text("# canary\n")
    (folder / "outside" / "canary").write_text("canary\n")


if __name__ == "__main__":
    drive(Path(sys.argv[1]))
