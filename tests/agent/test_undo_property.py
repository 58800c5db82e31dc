"""Undo under random work: whatever an agent, its commands and a person did, in repositories of every shape."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.events import Prompt, SnapshotEvent, UndoEvent
from agent.undo import Outcome, Timeline, redo, rewind, undo
from sandbox.snapshots import Snapshots
from tests.support.repo import Repo

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261122"))
SEQUENCES = 25 * int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
"""Of each shape of a repository."""

NAMES = ("a.py", "b c.txt", "d/e.txt", "d/f g", "d/n\nl", "ü.txt", "crlf.txt", "x", "x/y", "x/y/z", "big.lfs")
Image = dict[str, tuple[int, bytes]]


def submodule(repo: Repo) -> None:
    inner = Repo(repo.root / "vendor")
    inner.write("inner.txt", "x\n")
    inner.commit_all()
    repo.git("add", "vendor")


def worktree(repo: Repo) -> None:
    repo.commit_all()
    repo.git("worktree", "add", "-q", str(repo.root.parent / "beside"))
    repo.root = repo.root.parent / "beside"


def sparse(repo: Repo) -> None:
    repo.write("left/out.txt", "x\n")
    repo.commit_all()
    repo.git("sparse-checkout", "set", "d", "x")


def lfs(repo: Repo) -> None:
    repo.write(".gitattributes", "*.lfs filter=lfs diff=lfs merge=lfs -text\n")
    repo.write("big.lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


SHAPES: dict[str, Callable[[Repo], None]] = {
    "ordinary": lambda repo: None,
    "unborn": lambda repo: shutil.rmtree(repo.root / ".git") or (repo.git("init", "-q") and None),  # type: ignore[func-returns-value]
    "detached": lambda repo: repo.git("switch", "-q", "--detach") and None,
    "crlf": lambda repo: repo.write(".gitattributes", "* text=auto eol=crlf\n") and None,
    "submodule": submodule,
    "worktree": worktree,
    "sparse": sparse,
    "lfs": lfs,
}


@dataclass
class World:
    """A repository in which an agent and a person work, and what is known of it."""

    repo: Repo
    snapshots: Snapshots
    draw: random.Random
    timeline: Timeline = field(default_factory=Timeline)
    number: int = 0

    def log(self, event: Prompt | SnapshotEvent | UndoEvent) -> None:
        self.number += 1
        event.id = f"e{self.number}"
        self.timeline.see(event)

    def image(self) -> Image:
        """Mode and bytes of every file and link that no rule ignores."""
        found: Image = {}
        for folder, folders, files in os.walk(self.repo.root):
            folders[:] = [name for name in folders if name != ".git"]
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for name in (*files, *links):
                path = Path(folder, name)
                if name != ".git":
                    mode = path.lstat().st_mode
                    content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
                    found[str(path.relative_to(self.repo.root))] = (mode, content)
        return found

    def step(self) -> None:
        """What the gateway does around a batch that writes."""
        self.log(SnapshotEvent(tree=self.snapshots.take(), when="before"))
        for _ in range(self.draw.randrange(1, 5)):
            self.deed("agent")
        self.log(SnapshotEvent(tree=self.snapshots.take(), when="after"))

    def deed(self, who: str) -> None:
        """One edit or command; every line that is written names who wrote it. Impossible ones are not done."""
        draw = self.draw
        path, other = (self.repo.root / draw.choice(NAMES) for _ in range(2))
        end = "\r\n" if "crlf" in path.name else "\n"
        with suppress(OSError):
            match draw.randrange(10):
                case 0 | 1 | 2 | 3 if path.is_file() and not path.is_symlink():
                    lines = path.read_bytes().decode().split(end)
                    place = draw.randrange(len(lines))
                    lines[place : place + draw.randrange(2)] = [f"{who} {draw.randrange(10**9)}"]
                    path.write_bytes(end.join(lines).encode())
                case 4 | 5 | 6:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if not path.is_symlink():
                        path.write_bytes(
                            end.join(f"{who} {draw.randrange(10**9)}" for _ in range(9)).encode()
                        )
                case 7:
                    path.rename(other)
                case 8 if not path.is_symlink() and path.is_file():
                    path.chmod(draw.choice((0o644, 0o755, 0o600)))
                case 8:
                    path.symlink_to(draw.choice(("a.py", "nowhere")))
                case _ if draw.random() < 0.5:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def git_state(self) -> tuple[bytes, ...]:
        """The user's index, HEAD, references and stash, byte for byte."""
        folder = Path(self.repo.root, self.repo.git("rev-parse", "--git-dir").strip())
        shared = Path(self.repo.root, self.repo.git("rev-parse", "--git-common-dir").strip())
        places = [folder / "index", folder / "HEAD", folder / "logs/HEAD", shared / "packed-refs"]
        places += sorted(path for path in (shared / "refs").rglob("*") if path.is_file())
        return tuple(path.read_bytes() if path.is_file() else b"" for path in places)


def lines_of(image: Image, who: str) -> dict[str, set[bytes]]:
    """The lines of each file that somebody wrote."""
    mark = who.encode() + b" "
    return {
        path: {line for line in content.splitlines() if line.startswith(mark)}
        for path, (mode, content) in image.items()
        if stat.S_ISREG(mode)
    }


def take_back(world: World) -> None:
    """One undo, rewind or redo, with all that has to hold of it."""
    draw, timeline = world.draw, world.timeline
    before = world.image()
    act: Callable[[], Outcome]
    if timeline.undone and draw.random() < 0.4:
        last = timeline.undone[-1]
        act, spans = lambda: redo(world.snapshots, timeline), [(last.before, last.after)]
    elif timeline.done and draw.random() < 0.4:
        number = draw.randrange(1, len(timeline.done) + 1)
        act = lambda: rewind(world.snapshots, timeline, number)  # noqa: E731
        spans = [(step.before, step.after) for step in timeline.done[number - 1 :]]
    else:
        act = lambda: undo(world.snapshots, timeline)  # noqa: E731
        spans = [(step.before, step.after) for step in timeline.last_turn()] if timeline.done else []
    touched = {change.path for span in spans for change in world.snapshots.changed(*span)}
    outcome = act()
    after = world.image()
    if outcome.event is None:
        assert after == before, "nothing was to be done, or something was in the way: then nothing is done"
        assert outcome.clashes or not spans
        return
    for path in before.keys() | after.keys():
        if path not in touched:
            assert after.get(path) == before.get(path), f"{path!r} was nobody's to touch"
    whole = [path for path in touched if _state(world, path, spans[-1][1]) == before.get(path)]
    for path in whole if len(spans) == 1 else ():
        assert after.get(path) == _state(world, path, spans[0][0]), f"{path!r} is not as it was before"
    mine, kept = lines_of(before, "person"), lines_of(after, "person")
    for path in after.keys() & mine.keys():
        lost = mine[path] - kept.get(path, set())
        theirs = {line for span in spans for line in _lines(world, path, span[1])}
        assert lost <= theirs, f"{path!r}: a person's lines that no step had taken in are gone: {lost}"
    world.log(outcome.event)
    assert outcome.event.after == world.snapshots.take()


def _state(world: World, path: str, tree: str) -> tuple[int, bytes] | None:
    state = world.snapshots.state_at(tree, path)
    return None if state is None else (state.mode, world.snapshots.content(state) or b"")


def _lines(world: World, path: str, tree: str) -> set[bytes]:
    state = _state(world, path, tree)
    return set(state[1].splitlines()) if state else set()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shape", SHAPES)
def test_undo_restores_the_agents_work_and_loses_nothing_of_the_persons(shape: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "root")
    for name in NAMES[:7]:
        end = "\r\n" if "crlf" in name else "\n"
        repo.write(name, end.join(f"line {number}" for number in range(12)))
    repo.write(".gitignore", "*.log\n")
    repo.write("kept.log", "ignored\n")
    repo.commit_all()
    SHAPES[shape](repo)
    world = World(repo, Snapshots(repo.root, tmp_path / "store"), random.Random(f"{SEED} {shape}"))
    state = world.git_state()
    for _ in range(SEQUENCES):
        world.timeline = Timeline()  # a new session: old steps can be undone no more
        for _ in range(world.draw.randrange(2, 7)):
            match world.draw.randrange(4):
                case 0:
                    world.log(Prompt(text="go"))
                    world.step()
                case 1:
                    world.step()
                case 2:
                    world.deed("person")
                case _:
                    take_back(world)
    assert world.git_state() == state
    if shape not in ("worktree", "sparse"):
        assert (repo.root / "kept.log").read_text() == "ignored\n"
    world.snapshots.close()
