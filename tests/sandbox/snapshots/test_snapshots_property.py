"""Undo, under random work by an agent and then by a user."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.snapshots.workspace_snapshots import Snapshots

EXAMPLES = 40 * int(os.environ.get("PATCHWRIGHT_STRESS", "1"))

# Few names, so that files, links and folders often want the same place.
NAMES = ("a", "a/x", "a/x/deep", "b c", "b c/ü", "d/e/f", "d/e/n\nl", "d/g", ".hidden", "ignored.log")


@dataclass(frozen=True)
class Deed:
    """One thing done to a workspace; what is impossible is not done."""

    verb: str
    path: str
    other: str
    content: bytes
    mode: int

    def do(self, root: Path) -> None:
        path = root / self.path
        with suppress(OSError):
            if self.verb in ("write", "link", "folder"):
                path.parent.mkdir(parents=True, exist_ok=True)
            if self.verb == "write" and not path.is_symlink():
                path.write_bytes(self.content)
            elif self.verb == "link":
                path.unlink(missing_ok=True)
                path.symlink_to(self.other)
            elif self.verb == "folder":
                path.mkdir(exist_ok=True)
            elif self.verb == "chmod" and not path.is_symlink() and path.is_file():
                path.chmod(self.mode)
            elif self.verb == "rename":
                path.rename(root / self.other)
            elif self.verb == "remove" and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif self.verb == "remove":
                path.unlink()


DEEDS = st.lists(
    st.builds(
        Deed,
        verb=st.sampled_from(("write", "write", "write", "link", "folder", "chmod", "rename", "remove")),
        path=st.sampled_from(NAMES),
        other=st.sampled_from(NAMES),
        content=st.sampled_from((b"", b"one\n", b"two\r\n", b"\0\xff", b"three")),
        mode=st.sampled_from((0o644, 0o600, 0o755, 0o700)),
    ),
    max_size=8,
)

Image = dict[str, tuple[int, bytes]]


def image(root: Path) -> Image:
    """Mode and bytes of all files, links and folders that no rule ignores."""
    found: Image = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            content = b""
            if path.is_symlink():
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(mode):
                content = path.read_bytes()
            found[str(path.relative_to(root))] = (mode, content)
    return {path: state for path, state in found.items() if ".log" not in path}


def files(whole: Image) -> Image:
    return {path: state for path, state in whole.items() if not stat.S_ISDIR(state[0])}


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES)
@given(start=DEEDS, agent=DEEDS, user=DEEDS)
def test_undo_restores_what_the_agent_did_and_loses_nothing_of_the_users(
    start: list[Deed], agent: list[Deed], user: list[Deed]
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        (root / ".gitignore").write_text("*.log\n")
        snapshots = Snapshots(root, Path(folder, "store"))
        for deed in start:
            deed.do(root)
        before, old = image(root), snapshots.take()
        for deed in agent:
            deed.do(root)
        after, new = image(root), snapshots.take()
        changed = {change.path for change in snapshots.list_changes(old, new)}
        paths = files(before).keys() | files(after).keys()
        assert changed == {path for path in paths if files(before).get(path) != files(after).get(path)}
        for deed in user:
            deed.do(root)
        present = image(root)

        undone = snapshots.restore(old, new)
        if undone.clashes:
            assert image(root) == present
            undone = snapshots.restore(old, new, skip_clashes=True)
        taken_back = changed - undone.clashes.keys()
        result = files(image(root))
        for path in files(before).keys() | files(after).keys() | files(present).keys() | result.keys():
            expected = before if path in taken_back else present
            assert result.get(path) == files(expected).get(path), path
        if present == after and not undone.clashes:
            assert image(root) == before
            assert not snapshots.restore(new, snapshots.take()).clashes
            assert image(root) == after
        snapshots.close()
