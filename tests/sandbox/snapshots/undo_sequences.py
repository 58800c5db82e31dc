"""Random work by an agent's commands and then by a person, and what undo has to make of it.

Rules that begin to ignore files, closed files and folders, pipes, sockets, hard links and git folders come up in it:
whatever a command did is taken back or named, and nothing of the person's is lost. As a script it runs sequences as
the user that starts it, since root is not stopped by any mode: undo_sequences.py SEED FIRST COUNT.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.snapshots.workspace_snapshots import Snapshots

# Few names, so that files, links and folders often want the same place.
NAMES = (
    "a",
    "a/x",
    "a/x/deep",
    "b c",
    "b c/ü",
    "d/e/f",
    "d/e/n\nl",
    "d/g",
    ".hidden",
    "kept.log",
    "d/kept.log",
)
RULES = (".gitignore", "d/.gitignore", "a/.gitignore")
TEXTS = ("*.log\n", "a/\n", "d\nb c\n", "*\n!.gitignore\n", "/a\n/.hidden\n", "")

VERBS = (
    ("write",) * 8
    + ("link", "folder", "chmod", "chmod", "close", "rename", "remove", "remove", "pipe")
    + (("socket", "hard link", "rules", "rules", "nest", "unnest", "open"))
)
"""What is done, by weight. "close" is chmod 000, "nest" makes a folder a repository."""

Image = dict[str, tuple[int, bytes]]


def do(root: Path, draw: random.Random) -> str:
    """One thing done to a workspace; what is impossible is not done."""
    verb, name, other = draw.choice(VERBS), draw.choice(NAMES), draw.choice(NAMES)
    path = root / name
    content = draw.choice((b"", b"one\n", b"two\r\n", b"\0\xff", b"three", b"%d" % draw.randrange(99)))
    mode = draw.choice((0o644, 0o600, 0o755, 0o700))
    rules, text = draw.choice(RULES), draw.choice(TEXTS)
    with suppress(OSError):
        if verb in ("write", "link", "folder", "pipe", "socket", "hard link"):
            path.parent.mkdir(parents=True, exist_ok=True)
        match verb:
            case "write" if not path.is_symlink() and (path.is_file() or not path.exists()):
                path.write_bytes(content)
            case "link":
                path.unlink(missing_ok=True)
                path.symlink_to(other)
            case "folder":
                path.mkdir(exist_ok=True)
            case "chmod" | "close" | "open" if not path.is_symlink():
                if verb == "open" or path.is_dir():
                    mode |= 0o700
                path.chmod(0 if verb == "close" else mode)
            case "rename":
                path.rename(root / other)
            case "remove" if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            case "remove":
                path.unlink()
            case "pipe":
                path.unlink(missing_ok=True)
                os.mkfifo(path)
            case "socket":
                path.unlink(missing_ok=True)
                with socket.socket(socket.AF_UNIX) as server:
                    server.bind(str(path))
            case "hard link":
                os.link(root / other, path, follow_symlinks=False)
            case "rules":
                place = root / rules
                place.parent.mkdir(exist_ok=True)
                if draw.random() < 0.1:
                    place.unlink(missing_ok=True)
                    os.mkfifo(place)
                elif place.is_file() or not place.exists():
                    place.write_text(text)
            case "nest":
                (path / ".git").mkdir()
                (path / ".git/HEAD").write_text("ref: refs/heads/main\n")
            case "unnest":
                shutil.rmtree(path / ".git")
            case _:
                return f"{verb} {name!r}: impossible"
    if verb == "rules":
        return f"rules {rules!r} {text!r}"
    return f"{verb} {name!r} {other!r} {content!r} {mode:o}"


def image(root: Path) -> Image:
    """Mode and bytes of everything but folders, also in those that are closed."""
    found: Image = {}
    closed: list[tuple[Path, int]] = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        if folder.lstat().st_mode & 0o700 != 0o700:
            closed.append((folder, folder.stat().st_mode))
            folder.chmod(0o700)
        for path in folder.iterdir():
            info = path.lstat()
            content = b""
            if stat.S_ISDIR(info.st_mode):
                waiting.append(path)
                continue
            if path.is_symlink():
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(info.st_mode):
                if not info.st_mode & 0o400:
                    path.chmod(0o600)
                content = path.read_bytes()
                path.chmod(info.st_mode)
            found[str(path.relative_to(root))] = (info.st_mode, content)
    for folder, mode in reversed(closed):
        folder.chmod(mode)
    return found


def read_rules(whole: Image) -> dict[str, bytes]:
    return {
        path: content
        for path, (mode, content) in whole.items()
        if path.rpartition("/")[2] == ".gitignore" and stat.S_ISREG(mode)
    }


def find_ignored(rules: dict[str, bytes], paths: Iterable[str]) -> set[str]:
    """Those of the paths that git ignores by these rules."""
    if not (paths := set(paths)):
        return set()
    with TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        for path, content in rules.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        question = b"\0".join(os.fsencode(f"./{path}") for path in paths)
        done = subprocess.run(
            ["git", "check-ignore", "-z", "--stdin", "--no-index"],
            input=question,
            capture_output=True,
            cwd=folder,
            check=False,
        )
    return {os.fsdecode(each)[2:] for each in done.stdout.split(b"\0") if each}


def find_repositories(whole: Image) -> set[str]:
    return {path.removesuffix(".git/HEAD") for path in whole if path.endswith("/.git/HEAD")}


def is_named(path: str, clashes: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in clashes)


def check(seed: str) -> None:
    """One sequence: a workspace, a step of one to three commands, a person's work, and its undo."""
    draw = random.Random(seed)
    with TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        (root / ".gitignore").write_text("*.log\n")
        deeds = [do(root, draw) for _ in range(draw.randrange(9))]
        for name in RULES:
            with suppress(OSError):  # nothing but a file can be rules
                if not (root / name).is_file():
                    (root / name).unlink()
        snapshots = Snapshots(root, Path(folder, "store"), watch_from=draw.choice((0, 1 << 30)))
        spans: list[tuple[str, str]] = []
        images: list[Image] = []
        before = image(root)
        sealed = _find_closed(root)
        for _ in range(draw.randrange(1, 4)):
            old = snapshots.take()
            images.append(image(root))
            deeds += ["--", *(do(root, draw) for _ in range(draw.randrange(1, 5)))]
            spans.append((old, snapshots.take()))
        after = image(root)
        images.append(after)
        is_alone = draw.random() < 0.5
        deeds += ["person:", *(do(root, draw) for _ in range(0 if is_alone else draw.randrange(1, 6)))]
        present = image(root)
        if draw.random() < 0.5:  # `patchwright undo`, in a process of its own
            snapshots.close()
            snapshots = Snapshots(root, Path(folder, "store"))
        snapshots.cover(spans)
        start = snapshots.take()
        undone = snapshots.revert(spans)
        result = image(root)
        story = f"{seed}\n" + "\n".join(deeds) + f"\nclashes: {undone.clashes}"

        # 1. What a person changed since is as the person left it.
        merged = {change.path for change in undone.changes if change.after and change.before}
        for path in before.keys() | after.keys() | present.keys() | result.keys():
            if present.get(path) != after.get(path) and path not in merged:
                assert result.get(path) in (present.get(path), before.get(path)), (
                    f"{path!r} of a person: {story}"
                )
                if result.get(path) != present.get(path):
                    assert path in {change.path for change in undone.changes}, f"{path!r}: {story}"
                    assert present.get(path) is None or path in after, (
                        f"{path!r} of a person is gone: {story}"
                    )

        # 2. What the step changed is taken back, or named.
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        ignored = find_ignored(read_rules(before), changed & before.keys())
        for old_image, new_image in itertools.pairwise(images):  # made where a rule already ignored it
            made = changed & (new_image.keys() - old_image.keys() - before.keys())
            ignored |= find_ignored(read_rules(old_image), made)
        inside = tuple(find_repositories(before))
        for path in changed - ignored:
            if path.startswith(inside) or is_named(path, sealed) or present.get(path) != after.get(path):
                continue
            fine = result.get(path) == before.get(path) or is_named(path, undone.clashes)
            assert fine, f"{path!r} is neither taken back nor named: {story}"

        # 3. Nobody else changed anything: nothing is said to have changed since.
        if present == after:
            assert "changed since" not in undone.clashes.values(), story
            end = snapshots.take()
            if not undone.clashes:
                clashes = snapshots.revert([(start, end)]).clashes
                assert set(clashes.values()) <= {"it was a socket"}, f"{clashes}: {story}"
                again = image(root)
                for path in changed - ignored - clashes.keys():
                    if not (path.startswith(inside) or is_named(path, sealed)):
                        assert again.get(path) == present.get(path), f"{path!r} does not come back: {story}"
        snapshots.close()
        for place, _, _ in os.walk(root):
            Path(place).chmod(0o700)


def _find_closed(root: Path) -> list[str]:
    """What was closed to us from the beginning is not read."""
    found = []
    if os.geteuid() != 0:
        for path in root.rglob("*"):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
                found.append(str(path.relative_to(root)))
    return found


if __name__ == "__main__":
    chosen, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for number in range(first, first + count):
        check(f"{chosen} {number}")
    print(f"{count} sequences")
