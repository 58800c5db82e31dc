"""Make the old sessions of this folder anew: `python -m tests.contract.make_sessions`, from the top of a checkout.

Each is a run of the real program in a small project. Kept of it are the session's folder, the store of snapshots,
and the project as the session left it, as a git bundle; caches are left out. The lines of `golden/event_lines.jsonl`
come from the same runs and from one more, in which every kind of event happens.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.cli import PATCHWRIGHT, Result, call, environment, git, run, script

HERE = Path(__file__).parent
SESSIONS = HERE / "sessions"
EVENT_LINES = HERE / "golden/event_lines.jsonl"

PLACE = Path(tempfile.gettempdir()) / "patchwright-contract"
"""Stands in the logs: a folder that tells nothing of the machine on which they were made."""

CACHES = ("log.index", "log.state.json", "checkpoint.json", "stat-cache")
"""Beside a log and its snapshots. They do not fit when the project has moved, and are made again when missing."""

TESTS = "python -m pytest -q"

CART = '''\
"""A cart."""


def total(prices):
    """Return the sum of the prices, in cents."""
    return sum(prices[1:])


def label(cents):
    """Return an amount as it is shown."""
    return f"{cents / 100:.2f}"
'''

MENDED = CART.replace("prices[1:]", "prices")

TEST_CART = """\
from cart import label, total


def test_the_first_price_counts():
    assert total([100, 20, 3]) == 123


def test_an_amount_has_two_places():
    assert label(250) == "2.50"
"""


def main() -> int:
    """Make all of them. Returns the exit code."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.rmtree(SESSIONS, ignore_errors=True)
    PLACE.mkdir(mode=0o700)
    _isolate(PLACE / "home")
    lines: list[bytes] = []
    for make, cart in ((edits, CART), (compacted, MENDED), (offline, CART), (every_kind, MENDED)):
        root = _project(PLACE / make.__name__, cart)
        make(root)
        data = _data(root)
        lines += [line for log in data.glob("sessions/*/log.jsonl") for line in log.read_bytes().splitlines()]
        if make is not every_kind:
            _keep(root, data, SESSIONS / make.__name__)
    EVENT_LINES.write_bytes(b"".join(line + b"\n" for line in _one_a_kind(lines)))
    shutil.rmtree(PLACE)
    _check_nothing_of_this_machine()
    return 0


def edits(root: Path) -> None:
    """Play three turns: one edits, runs a command and commits; one is undone; one is left in the files."""
    fix = [
        {"text": "I read it first.", "calls": [call("read", path="cart.py"), call("run_tests")]},
        {
            "calls": [
                call("edit", path="cart.py", old="sum(prices[1:])", new="sum(prices)"),
                call("shell", command="echo 'total: every price counts' > CHANGES"),
            ]
        },
        {"calls": [call("run_tests")]},
        {"calls": [call("git_commit", message="Count the first price")]},
        {"text": "The first price counts now."},
    ]
    add = [{"calls": [call("write", path="prices.txt", content="100\n20\n")]}, {"text": "Two prices."}]
    rename = [
        {
            "calls": [
                call("edit", path="cart.py", old='"""A cart."""', new='"""A cart of prices."""'),
                call("shell", command="mkdir notes && mv CHANGES notes/changes.txt"),
            ]
        },
        {"text": "Renamed."},
    ]
    play(root, ["run", "Why does the first price not count? Mend it."], fix)
    play(root, ["resume", "-p", "Write a list of prices.", "--no-commit"], add)
    _done(run("undo", cwd=root))
    play(root, ["resume", "-p", "Move the changes into a folder of notes.", "--no-commit"], rename)


def compacted(root: Path) -> None:
    """Read so much that the past is folded, then summed up; the summary is asked of a second model."""
    names = [f"part_{number}.py" for number in range(12)]
    for name in names:
        (root / name).write_text("".join(f"{name[:-3]}_{line} = {line}\n" for line in range(60)))
    git(root, "add", ".")
    git(root, "commit", "-qm", "Add parts")
    turns = [{"text": f"I look at {name}.", "calls": [call("read", path=name)]} for name in names]
    turns += [
        {"calls": [call("write", path="sum.txt", content="720 lines\n")]},
        {"text": "There are 720 lines in 12 parts."},
    ]
    summary = script(PLACE, [{"text": "- the parts were counted", "repeat": 20}], "summary.json")
    small = {
        "PATCHWRIGHT_CONTEXT__RECENT": "500",
        "PATCHWRIGHT_CONTEXT__BATCH": "1000",
        "PATCHWRIGHT_CONTEXT__SUMMARY": "model",
        "PATCHWRIGHT_MODELS__FAST": summary,
    }
    play(root, ["run", "How many lines are in all parts?", "--no-commit"], turns, env=small, window=9_000)


def offline(root: Path) -> None:
    """Let the offline engine mend the bug and commit."""
    _done(run("run", "make the failing tests pass", "--model", "offline", "--tests", TESTS, cwd=root))


def every_kind(root: Path) -> None:
    """Do what the other sessions do not: a denial, steering, an error, a title, a fork, going back."""
    config = PLACE / "home/patchwright/config"
    config.mkdir(parents=True)
    (config / "settings.toml").write_text('[permissions]\ndeny = ["shell(shutdown *)"]\n')
    turns = [
        {"calls": [call("plan", items=[{"text": "look", "status": "doing"}])]},
        {"calls": [call("shell", command="shutdown now"), call("shell", command="sleep 2")]},
        {"calls": [call("shell", command="sleep 60")]},
        {"calls": [call("edit", path="cart.py", old="A cart", new="The cart")]},
        {"text": "Looked."},
        {"error": {"fault": "model-unreachable", "message": "no answer", "hint": "Try again."}},
    ]
    command = [*PATCHWRIGHT, "run", "--input", "stream-json", "--output", "stream-json", "--no-commit"]
    driven = subprocess.Popen(
        [*command, "--model", script(PLACE, turns, "kinds.json"), "--tests", TESTS],
        cwd=root, env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert driven.stdin is not None
    assert driven.stdout is not None

    def say(**line: str) -> None:
        print(json.dumps(line), file=driven.stdin, flush=True)

    say(kind="prompt", text="Look at it.")
    for line in driven.stdout:
        event = json.loads(line)
        if event["kind"] == "message" and event["actions"]:
            commands = [each["arguments"].get("command") for each in event["actions"]]
            if "sleep 2" in commands:
                say(kind="steer", text="Look well.")
        if event["kind"] == "action" and event["tool"] == "shell" and "sleep 60" in commands:
            say(kind="interrupt")
        if event["kind"] == "end":
            if event["outcome"] != "done":
                break
            say(kind="prompt", text="And again.")
    driven.stdin.close()
    driven.stdout.close()
    driven.wait(60)
    [log] = _data(root).glob("sessions/*/log.jsonl")
    _done(run("session", "title", log.parent.name, "A look", cwd=root))
    _done(run("session", "fork", log.parent.name, cwd=root))
    for command in ("undo", "redo"):
        _done(run(command, "--session", log.parent.name, cwd=root))
    _done(run("rewind", "1", "--conversation", "--session", log.parent.name, cwd=root))


def play(
    root: Path,
    command: Sequence[str],
    turns: Sequence[Mapping[str, Any]],
    *,
    env: Mapping[str, str] = {},
    window: int = 128_000,
) -> None:
    """Run a command with a scripted model, which names its script in the log."""
    path = PLACE / "turns.json"
    path.write_text(json.dumps({"turns": list(turns), "window": window}), "utf-8")
    _done(run(*command, "--model", f"scripted:{path}", "--tests", TESTS, cwd=root, env=env))


def _done(result: Result) -> None:
    if result.code not in (0, 1):  # 1: tests fail, which is said and not a failure of the run
        raise SystemExit(f"exit code {result.code}: {result.err}")


def _isolate(home: Path) -> None:
    """A home, an identity and a path of our own; no keys."""
    home.mkdir()
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ.clear()
    os.environ.update(kept, HOME=str(home), PATCHWRIGHT_HOME=str(home / "patchwright"), PATH=path)
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=str(home / "gitconfig"))
    (home / "gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = person@example.org\n[init]\n\tdefaultBranch = main\n"
    )


def _project(root: Path, cart: str) -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "tests").mkdir()
    (root / "cart.py").write_text(cart)
    (root / "tests/test_cart.py").write_text(TEST_CART)
    (root / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    return root


def _data(root: Path) -> Path:
    [found] = (PLACE / "home/patchwright/data/projects").glob(f"{root.name}-*")
    return found


def _keep(root: Path, data: Path, to: Path) -> None:
    """Copy what a test needs: the sessions, the snapshots, the history, and what is not committed as a patch."""
    unwanted = shutil.ignore_patterns(*CACHES, "lock")
    shutil.copytree(data / "sessions", to / "sessions", ignore=unwanted)
    with tarfile.open(to / "snapshots.tar.xz", "w:xz") as archive:
        for path in sorted((data / "snapshots").rglob("*")):
            if path.is_file() and path.name not in (*CACHES, "lock"):
                archive.add(path, str(path.relative_to(data)), filter=_anonymous)
    git(root, "bundle", "create", "-q", str(to / "project.bundle"), "HEAD", "main")
    git(root, "add", "-A")
    (to / "uncommitted.patch").write_text(git(root, "diff", "--cached", "--binary"), "utf-8")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def _one_a_kind(lines: Iterable[bytes]) -> list[bytes]:
    """The shortest line of each kind that holds the most fields."""
    found: dict[str, bytes] = {}
    for line in lines:
        kind = json.loads(line)["kind"]
        if kind not in found or _rank(line) > _rank(found[kind]):
            found[kind] = line
    return [line for _, line in sorted(found.items())]


def _rank(line: bytes) -> tuple[int, int]:
    return len([value for value in json.loads(line).values() if value not in ("", [], {})]), -len(line)


def _check_nothing_of_this_machine() -> None:
    """Raises SystemExit where a file names the checkout, the interpreter or the user's home."""
    foreign = {str(Path.cwd()), sys.prefix, str(Path(sys.executable).parent)}
    for path in (EVENT_LINES, *SESSIONS.rglob("*")):
        found = [each for each in foreign if path.is_file() and each.encode() in path.read_bytes()]
        if found:
            raise SystemExit(f"{path} names {found[0]}")


if __name__ == "__main__":
    sys.exit(main())
