"""Random trees and changes of them, for comparing merges with git's."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

FOLDERS = ("", "src/", "src/deep/", "docs/")
LINES = ("pass", "return x", "", "x = 1", "}", "import os", "# ümlaut", "a" * 60)
ENCODINGS: tuple[Callable[[str], bytes], ...] = (
    str.encode,
    str.encode,
    str.encode,
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.encode("latin-1"),
    lambda text: text.encode("utf-16"),
    lambda text: text.encode().rstrip(b"\n"),
    lambda text: b"\x00\xff" + text.encode(),
)


def make_tree(draw: random.Random, root: Path) -> None:
    """Fill an empty folder with files, programs and links."""
    for number in range(draw.randint(3, 9)):
        path = root / f"{draw.choice(FOLDERS)}f{number}{draw.choice(('.py', '.txt', '.bin'))}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if draw.random() < 0.08:
            path.symlink_to(draw.choice(("f0.py", "nowhere", "../x")))
            continue
        text = "\n".join(_draw_line(draw, n) for n in range(draw.randint(0, 25))) + "\n"
        path.write_bytes(draw.choice(ENCODINGS)(text))
        path.chmod(draw.choice((0o644, 0o644, 0o755)))


def change_tree(draw: random.Random, root: Path) -> None:
    """Change a tree as a child would: edits, new files, deletions, moves, modes, links."""
    for _ in range(draw.randint(1, 4)):
        files = _list_files(root)
        if not files:
            return
        draw.choice(
            (_edit, _edit, _edit, _edit, _add, _delete, _move, _flip_mode, _replace_by_link, _swap_ending)
        )(draw, draw.choice(files), root)


def _draw_line(draw: random.Random, number: int) -> str:
    return draw.choice((f"line {number}", f"line {number}", draw.choice(LINES)))


def _edit(draw: random.Random, path: Path, root: Path) -> None:
    if path.is_symlink():
        path.unlink()
        path.symlink_to(draw.choice(("f1.py", "elsewhere")))
        return
    content = path.read_bytes()
    ending = b"\r\n" if b"\r\n" in content else b"\n"
    lines = content.split(ending)
    place = draw.randrange(len(lines))
    new = ending.join(f"changed {draw.randrange(3)}".encode() for _ in range(draw.randint(0, 2)))
    if draw.random() < 0.5:
        lines[place : place + draw.randint(0, 2)] = [new]
    else:
        lines.insert(place, new)
    path.write_bytes(ending.join(lines))


def _add(draw: random.Random, path: Path, root: Path) -> None:
    new = root / f"{draw.choice((*FOLDERS, 'new/'))}g{draw.randrange(3)}.py"
    if new.parent.is_dir() or not os.path.lexists(new.parent):
        new.parent.mkdir(parents=True, exist_ok=True)
        if not new.is_dir() and not new.is_symlink():
            new.write_text(draw.choice(("one\n", "two\n", "one\ntwo\nthree\n")))


def _delete(draw: random.Random, path: Path, root: Path) -> None:
    path.unlink()
    _remove_empty(path.parent, root)


def _move(draw: random.Random, path: Path, root: Path) -> None:
    target = root / f"{draw.choice((*FOLDERS, 'moved/'))}m{draw.randrange(4)}{path.suffix}"
    if os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    _remove_empty(path.parent, root)


def _flip_mode(draw: random.Random, path: Path, root: Path) -> None:
    if not path.is_symlink():
        path.chmod(path.stat().st_mode ^ 0o111)


def _replace_by_link(draw: random.Random, path: Path, root: Path) -> None:
    if draw.random() < 0.4:
        path.unlink()
        path.symlink_to(draw.choice(("f0.py", "f1.py")))


def _swap_ending(draw: random.Random, path: Path, root: Path) -> None:
    if not path.is_symlink() and draw.random() < 0.3:
        content = path.read_bytes()
        plain = content.replace(b"\r\n", b"\n")
        path.write_bytes(plain if plain != content else plain.replace(b"\n", b"\r\n"))


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _list_files(root: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found += [Path(folder, name) for name in (*files, *links) if name != ".git"]
    return sorted(found)
