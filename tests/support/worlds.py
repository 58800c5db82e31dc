"""Random repositories with an agent and a person at work in them: for tests of undo and of commits.

The agent acts through the real gateway: files by tools, commands by `shell` in the sandbox of this machine. A person
edits beside it, stages, commits and stashes with git itself. Every line that is written names who wrote it.
"""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sandbox.backends.selection import choose_sandbox
from sandbox.fs.repository import find_common_dir, find_git_dir
from sandbox.policy.decision import Approval, Decision, Mode, Policy
from sandbox.policy.effects import Effect
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.workspace_snapshots import WORTH_PACKING, Snapshots
from tests.support.repo import Repo
from tools.core.action import Action, Observation
from tools.core.gateway import Gateway
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace
from tools.fs.file_tools import read, write
from tools.git.git_tools import git_commit
from tools.shell.shell_tool import shell

TRACKED = ("a.py", "b c.txt", "d/e.txt", "d/f g", "d/n\nl", "ü.txt", "crlf.txt")
NAMES = (*TRACKED, "x", "x/y", "x/y/z", "big.lfs", "-n", "kept.log", "out/made.o")
"""Few, so that files, links and folders often want the same place; the last two are ignored."""

LINES = 12

FOLDERS = ("d", "x", "x/y", "e")
"""That get other permissions, are made and removed."""

Image = dict[str, tuple[int, bytes]]
"""Mode and bytes (a link's target) of files by path; folders by path and slash."""


def repository(root: Path, draw: random.Random, *traits: str) -> Repo:
    """A repository with the traits that are named, and now and then others beside them."""
    repo = Repo(root)
    for name in TRACKED:
        end = "\r\n" if "crlf" in name else "\n"
        repo.write(name, end.join(f"line {number}" for number in range(LINES)) + end)
    repo.write(".gitignore", "*.log\nout/\n")
    repo.write("kept.log", "ignored\n")
    repo.write("out/made.o", b"\0ignored")
    repo.commit_all()
    for name, make in TRAITS.items():  # in this order: the later ones go with what the earlier ones made
        if name in traits or draw.random() < 0.2:
            repo = make(repo) or repo
    return repo


def _crlf(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n*.py text=auto\n")
    repo.commit_all()


def _lfs(repo: Repo) -> None:
    with (repo.root / ".gitattributes").open("a") as file:
        file.write("*.lfs filter=lfs diff=lfs merge=lfs -text\n")
    repo.write("big.lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    repo.commit_all()


def _nested(repo: Repo) -> None:
    inner = Repo(repo.root / "inner")
    inner.write("inner.txt", "another repository's\n")
    inner.commit_all()


def _submodule(repo: Repo) -> None:
    source = Repo(repo.root.parent / "source")
    source.write("inner.txt", "x\n")
    source.commit_all()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source.root), "vendor")
    repo.git("commit", "-qm", "Add a submodule")


def _worktree(repo: Repo) -> Repo:
    beside = repo.root.parent / "beside"
    repo.git("worktree", "add", "-q", "-b", "beside", str(beside))
    made = Repo(beside, init=False)
    made.write("kept.log", "ignored\n")
    made.write("out/made.o", b"\0ignored")
    return made


def _sparse(repo: Repo) -> None:
    repo.write("left/out.txt", "x\n")
    repo.commit_all()
    repo.git("sparse-checkout", "set", "d", "x")


def _detached(repo: Repo) -> None:
    repo.git("switch", "-q", "--detach")


def _unborn(repo: Repo) -> None:
    repo.git("symbolic-ref", "HEAD", "refs/heads/new")


def _empty_index(repo: Repo) -> None:
    repo.git("symbolic-ref", "HEAD", "refs/heads/new")
    repo.git("read-tree", "--empty")


TRAITS: Mapping[str, Callable[[Repo], Repo | None]] = {
    "crlf": _crlf,
    "lfs": _lfs,
    "nested": _nested,
    "submodule": _submodule,
    "worktree": _worktree,
    "sparse": _sparse,
    "detached": _detached,
    "unborn": _unborn,
    "untracked": _empty_index,
}


def image(root: Path) -> Image:
    """Every file, link and folder outside of git's own, ignored ones and those of inner repositories included."""
    found: Image = {}
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = [name for name in folders if name != ".git"]
        found[os.path.relpath(folder, root) + "/"] = (Path(folder).stat().st_mode, b"")
        for name in (*files, *links):
            path = Path(folder, name)
            if name != ".git":
                mode = path.lstat().st_mode
                content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
                found[str(path.relative_to(root))] = (mode, content)
    return found


def git_state(repo: Repo) -> dict[str, bytes]:
    """The user's index, HEAD, references, stash and reflogs, byte for byte."""
    folder = find_git_dir(repo.root)
    assert folder is not None
    shared = find_common_dir(folder)
    places = {folder / "index", folder / "HEAD", shared / "packed-refs"}
    for each in (shared / "refs", shared / "logs", folder / "logs"):
        places |= {path for path in each.rglob("*") if path.is_file()}
    return {str(path): path.read_bytes() for path in places if path.is_file()}


def lines_of(content: bytes, who: str) -> set[bytes]:
    """The lines that somebody wrote."""
    return {line for line in content.splitlines() if line.startswith(who.encode() + b" ")}


@dataclass
class World:
    """A repository in which an agent and a person work.

    names: those that both of them choose from at present
    carries: commands of the agent's move and copy files, a person's lines in them included
    """

    repo: Repo
    draw: random.Random
    at: Workspace
    gateway: Gateway
    snapshots: Snapshots
    store: Store
    names: Sequence[str] = NAMES
    carries: bool = True

    def meet(self) -> None:
        """From now on both work on few files, so that they get in each other's way."""
        self.names = [*self.draw.sample(TRACKED, 2), *self.draw.sample(NAMES, 3)]

    def agent(self) -> None:
        """One batch of actions: files by tools, commands, now and then a commit."""
        self.run([action for _ in range(self.draw.randrange(1, 4)) for action in self._actions()])

    def commit(self) -> Observation:
        """A commit by the agent."""
        return self.run([Action(id="c", tool="git_commit", arguments={"message": "Change things"})])[0]

    def run(self, actions: Sequence[Action]) -> list[Observation]:
        return asyncio.run(self.gateway.run(actions))

    def person(self) -> None:
        """An edit, or git: a part staged, a commit, a stash. What is impossible is not done."""
        draw, git = self.draw, self.repo.git
        name = f":(literal){draw.choice(self.names)}"
        match draw.randrange(16):
            case 14:
                self._folder()
            case 0:
                git("add", "--", name, check=False)
            case 1:
                git("commit", "-q", "-m", "A person's", check=False)
            case 2:
                git("commit", "-q", "-a", "-m", "A person's, all of it", check=False)
            case 3:
                git("stash", "push", "-q", check=False)
            case 4:
                git("restore", "--staged", "--", name, check=False)
            case _:
                self._edit("person")

    def beside(self) -> None:
        """Now and then a person's edit, in the midst of the agent's batch."""
        if self.draw.random() < 0.15:
            self._edit("person")

    def _folder(self) -> None:
        """A person makes, removes or closes a folder."""
        path = self.repo.root / self.draw.choice(FOLDERS)
        with suppress(OSError):
            match self.draw.randrange(3):
                case 0:
                    path.mkdir()
                case 1:
                    path.rmdir()
                case _ if not path.is_symlink() and path.is_dir():
                    path.chmod(self.draw.choice((0o755, 0o700, 0o711)))

    def meddle(self) -> None:
        """A person inserts or changes a line of a file that the session has changed."""
        places = [self.repo.root / path for path in self.at.changes]
        files = [path for path in places if path.is_file() and not path.is_symlink()]
        if files:
            with suppress(OSError):
                self._insert(self.draw.choice(files), "person")

    def _actions(self) -> Iterator[Action]:
        draw = self.draw
        name = draw.choice(self.names)
        match draw.randrange(10):
            case 0 | 1 | 2:
                yield Action(id="r", tool="read", arguments={"path": name})
                text = "".join(f"{self._mark('agent')}\n" for _ in range(draw.randrange(9)))
                yield Action(id="w", tool="write", arguments={"path": name, "content": text})
            case 3 if draw.random() < 0.5:
                yield Action(id="c", tool="git_commit", arguments={"message": "Change things"})
            case _:
                lines = "\n".join(self._command() for _ in range(draw.randrange(1, 5)))
                yield Action(id="s", tool="shell", arguments={"command": f"{lines}\ntrue"})

    def _command(self) -> str:
        """A line of bash; the names in it are whole words, whatever they hold."""
        draw = self.draw
        path, other = (f"./{draw.choice(self.names)}" for _ in range(2))
        here, there, above = map(shlex.quote, (path, other, str(Path(path).parent)))
        mark, folder = self._mark("agent"), draw.choice(FOLDERS)
        # Without it a link becomes a copy of what it leads to.
        through = "" if self.carries else "--follow-symlinks "
        carrying = (
            f"ln {here} {there}",
            f"mv {here} {there}",
            f"cp -pR {here} {there}",
            f"test -f {here} && tr a-z A-Z < {here} > .tmp && mv .tmp {here}",
        )
        return draw.choice(
            (
                *(carrying if self.carries else ()),
                f"mkdir -p {above} && printf '%s\\n' '{mark}' '{self._mark('agent')}' > {here}",
                f"echo '{mark}' >> {here}",
                f"sed -i {through}'{draw.randrange(1, LINES)}s/.*/{mark}/' {here}",
                f"printf '%s' '{mark}' | dd of={here} conv=notrunc status=none; touch -r .gitignore {here}",
                f"rm -rf {here}",
                f"rm -f {here}; ln -s {shlex.quote(draw.choice(('a.py', 'nowhere', 'd')))} {here}",
                f"chmod {draw.choice(('600', '644', '755', '444'))} {here}",
                f"mkdir -p {here}",
                f"mkdir {draw.choice(FOLDERS)}",
                f"rmdir {draw.choice(FOLDERS)}",
                f"test ! -L {folder} && chmod {draw.choice(('700', '755', '750', '2755'))} {folder}",
                f"find {shlex.quote(draw.choice(('d', 'x')))} -type f -delete",
                f"mkdir -p out && echo '{mark}' > out/made.o",
            )
        )

    def _edit(self, who: str) -> None:
        draw = self.draw
        path, other = (self.repo.root / draw.choice(self.names) for _ in range(2))
        end = _end(path)
        with suppress(OSError):
            match draw.randrange(10):
                case 0 | 1 | 2 | 3 if path.is_file() and not path.is_symlink():
                    self._insert(path, who)
                case 4 | 5 | 6:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if not path.is_symlink():
                        path.write_bytes("".join(self._mark(who) + end for _ in range(9)).encode())
                case 7:
                    path.rename(other)
                case 8 if not path.is_symlink() and path.is_file():
                    path.chmod(draw.choice((0o644, 0o755, 0o600)))
                case 8:
                    path.symlink_to(draw.choice(("a.py", "nowhere")))
                case _ if draw.random() < 0.5:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def _insert(self, path: Path, who: str) -> None:
        """Put a line into a file, now and then in the place of another."""
        end = _end(path).encode()
        lines = path.read_bytes().split(end)
        place = self.draw.randrange(len(lines))
        lines[place : place + self.draw.randrange(2)] = [self._mark(who).encode()]
        path.write_bytes(end.join(lines))

    def _mark(self, who: str) -> str:
        return f"{who} {self.draw.randrange(10**9)}"


def _end(path: Path) -> str:
    return "\r\n" if "crlf" in path.name else "\n"


@dataclass
class Told:
    """What the gateway tells a log, handed on as far as undo needs it."""

    tree: Callable[[str, Literal["before", "after"]], None] = lambda tree, when: None
    commit: Callable[[str], None] = lambda commit: None
    beside: Callable[[], None] = lambda: None
    refused: list[str] = field(default_factory=list)

    def record_action(self, action: Action, effect: Effect) -> None:
        self.beside()  # what was done before it has ended, and it has not begun

    def record_decision(self, action: Action, decision: Decision, by: str) -> None: ...

    def record_observation(self, action: Action, observation: Observation, seconds: float) -> None:
        assert "internal" not in observation.data, observation.text
        if commit := observation.data.get("commit"):
            self.commit(str(commit))
        if action.tool == "write":
            self.beside()  # it knows what it has written; until it counts as ended, others write, too

    def record_snapshot(self, tree: str, when: Literal["before", "after"]) -> None:
        self.tree(tree, when)


@contextmanager
def world(place: Path, draw: random.Random, traits: Sequence[str], told: Told) -> Iterator[World]:
    """place: a new folder for the repository and all that belongs to it"""
    repo = repository(place / "root", draw, *traits)
    at = repo.workspace()
    at.sandbox = choose_sandbox(repo.root, cache=place.parent, spill=place / "spill")
    snapshots = Snapshots(repo.root, place / "store", pack_from=draw.choice((1, 4, WORTH_PACKING)))
    gateway = Gateway(
        toolbox=Toolbox([read, write, shell, git_commit]),
        workspace=at,
        policy=Policy(mode=Mode.WORKSPACE, approval=Approval.AUTO),
        recorder=told,
        snapshots=snapshots,
        approver=Yes(),
    )
    try:
        yield World(
            repo=repo, draw=draw, at=at, gateway=gateway, snapshots=snapshots, store=Store(place / "store")
        )
    finally:
        snapshots.close()


class Yes:
    """A person who allows everything."""

    async def ask(self, tool: str, effect: Effect, decision: Decision) -> Decision:
        return Decision(verdict="allow", reason="")


def regular(state: tuple[int, bytes] | None) -> bytes:
    """The bytes of a regular file; nothing of what is none."""
    return state[1] if state is not None and stat.S_ISREG(state[0]) else b""
