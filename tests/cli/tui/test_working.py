"""Walks through what one does while it works, and when it asks, at three sizes of window: one conversation each."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.cli import call, git
from tests.support.golden import looks_as_it_did
from tests.support.talking import AT_SIZES, ask, at_rest, leave, log_of, prompted, prompts, talk

pytestmark = pytest.mark.slow

ESCAPE, UP = "\x1b", "\x1b[A"
CTRL_B, CTRL_C, CTRL_E = "\x02", "\x03", "\x05"


def block(name: str) -> str:
    """A command that says that it has begun, and waits until it may end."""
    return f"touch {name}; until test -e {name}.go; do sleep 0.05; done"


@AT_SIZES
def test_steering_interrupts_pastes_and_going_back(columns: int, rows: int, shop: Path) -> None:
    turns = [
        {"calls": [call("shell", command=block("one"))]},
        {"text": "As you say.", "expect": ["first thing", "second thing, edited"]},
        {"calls": [call("shell", command="touch two; sleep 300")]},
        {"text": "I stopped.", "expect": ["I stopped that step"]},
        {"text": "Now I know.", "expect": ["what is it?", "I ran this myself"]},
        {"text": "Quite long.", "expect": ["line 4999"]},
        {"calls": [call("write", path="made.txt", content="made\n")]},
        {"text": "Made."},
        {"text": "slow", "delay": 100},
    ]
    with talk(shop, turns, "--tests", "true", columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        # what is queued is shown, taken back, edited, and delivered after the batch
        terminal.type("go\r")
        terminal.wait_beside(lambda: (shop / "one").exists())
        terminal.type("first thing\rsecond thing\r")
        terminal.wait("queued: second thing")
        terminal.type(UP)
        terminal.wait("❯ second thing")
        terminal.type(", edited\r")
        terminal.wait("queued: second thing, edited")
        (shop / "one.go").touch()
        terminal.wait("As you say.")
        at_rest(terminal)
        said = [event["text"] for event in log_of(shop) if event["kind"] == "steer"]
        assert said == ["first thing", "second thing, edited"]
        assert "queued" not in terminal.text
        # a command that runs is stopped; so is one of the user's own
        terminal.type("wait\r")
        terminal.wait_beside(lambda: (shop / "two").exists())
        terminal.type(CTRL_C)
        terminal.wait("I stopped.")
        at_rest(terminal)
        assert "✗ shell touch two" in terminal.everything
        terminal.type("!touch three; sleep 600\r")
        terminal.wait_beside(lambda: (shop / "three").exists())
        terminal.type(ESCAPE)
        terminal.wait(lambda: "\nstopped\n" in terminal.text)
        at_rest(terminal)
        # commands that are given while one runs come after it, and can be taken back
        terminal.type(f"!{block('four')}\r")
        terminal.wait_beside(lambda: (shop / "four").exists())
        terminal.type("/redo\r/init\r")
        terminal.wait("queued: /init")
        terminal.type(UP)
        terminal.wait("❯ /init")
        terminal.type("\x15what is it?\r")
        terminal.wait("queued: what is it?")
        (shop / "four.go").touch()
        terminal.wait("Now I know.")
        at_rest(terminal)
        seen = terminal.everything
        assert seen.index("❯ /redo") < seen.index("nothing to redo") < seen.index("❯ what is it?")
        assert "/init" not in seen
        # a paste is folded, and sent whole
        pasted = "\n".join(f"line {number}" for number in range(5000))
        sent = len(prompts(shop))
        terminal.type("look: ")
        terminal.paste(pasted)
        terminal.type(" and ")
        terminal.paste("two\nlines")
        terminal.wait("❯ look: [pasted 5000 lines] and two\n  lines")
        assert len(prompts(shop)) == sent, "nothing of it is sent before Enter"
        terminal.type("\r")
        terminal.wait("Quite long.")
        at_rest(terminal)
        assert f"look: {pasted} and two\nlines" in prompts(shop)
        assert "(4989 more lines)" in terminal.everything
        # back to before an earlier prompt, with the files
        ask(terminal, "make it", "Made.")
        assert (shop / "made.txt").exists()
        terminal.type(ESCAPE * 2)
        terminal.wait("› make it")
        terminal.type("\r")
        terminal.wait("› both              1 step")
        terminal.type("\r")
        terminal.wait("back before: make it")
        terminal.wait("❯ make it")
        assert not (shop / "made.txt").exists()
        terminal.type("\x0f")  # all of the session
        terminal.wait("PgDn" if columns > 50 else "↑↓")
        assert "Quite long." in terminal.text
        assert "Made." not in terminal.text
        terminal.type("q")
        terminal.wait("❯ make it")
        terminal.type(" again\r")
        terminal.wait("❯ make it again")
        terminal.wait_beside(lambda: (shop / "made.txt").exists())
        at_rest(terminal)
        # Esc stops the step, Ctrl-C the next one and the turn; what was not delivered comes back
        terminal.type("be slow\r")
        terminal.wait("Thinking")
        terminal.type("one more thing\r")
        terminal.wait("queued: one more thing")
        terminal.type(ESCAPE)
        terminal.wait("the user stopped this step")
        terminal.type("another\r")
        terminal.wait("queued: another")
        terminal.type(CTRL_C)
        terminal.wait("! interrupted")
        terminal.wait("❯ another\n  be slow")  # what was not answered comes back, too
        terminal.type(CTRL_C)
        at_rest(terminal)
        assert [event["outcome"] for event in log_of(shop) if event["kind"] == "end"][-1] == "interrupted"
        assert max(map(len, terminal.everything.split("\n"))) <= columns
        leave(terminal)


@AT_SIZES
def test_every_answer_to_a_question(columns: int, rows: int, shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text("[terminal]\npause = 3600\n")
    git(shop, "remote", "add", "origin", ".")
    (shop / "make").write_text('touch "$1"; echo "$1" >> log\n')
    tests = shop.parent / "tests.sh"
    tests.write_text(
        "echo 'tests/test_a.py ..F. [ 42%]'; touch testing; until test -e end; do sleep 0.05; done\n"
    )
    workflow = ".github/workflows/ci.yml"
    steps = "".join(f"step {number}\n" for number in range(90))
    endless = "import time\nopen('begun', 'w')\nwhile True: time.sleep(1)"
    names = ("once", "once", "session", "refused", "told")
    turns = [
        {"calls": [*(call("shell", command=f"bash ./make {name}") for name in names),
                   call("shell", command="git fetch origin")]},
        {"text": "So be it.", "expect": ["the user refused it and says: use make instead"]},
        {"calls": [call("shell", command="bash ./make session"), call("shell", command="bash ./make once")]},
        {"calls": [call("write", path=workflow, content=steps)]},
        {"text": "Again."},
        {"text": "Slow.", "delay": 0.1, "calls": [call("python", code=endless)]},
        {"calls": [call("shell", command="git fetch --prune origin")]},
        {"text": "Held.", "expect": ["say yes"]},
    ]  # fmt: skip
    arguments = ("--sandbox", "unconfined", "--tests", f"sh {tests}", "--no-commit")
    with talk(shop, turns, *arguments, columns=columns, rows=rows) as terminal:

        def asked(what: str, *keys: str) -> None:
            terminal.wait(lambda: what in terminal.text and "Yes, once" in terminal.text)
            for each in keys:
                terminal.type(each)

        def looks(name: str) -> None:
            looks_as_it_did(terminal, f"{name}-{columns}x{rows}")

        at_rest(terminal)
        terminal.type("make them\r")
        asked("bash ./make once", "z", "y")  # z means nothing; the second is not asked about
        asked("bash ./make session", "s")
        asked("bash ./make refused", "n")
        asked("bash ./make told", "t")
        terminal.wait("what shall the model be told?")
        terminal.type("not this")
        terminal.wait("❯ not this")
        looks("word")
        terminal.type(CTRL_C)
        asked("bash ./make told", "t")
        terminal.wait("what shall the model be told?")
        terminal.type("use make instead\r")
        asked("git fetch origin", "r")
        terminal.wait("❯ shell(git fetch")
        looks("rule")
        terminal.type(ESCAPE)
        asked("git fetch origin", "r")
        terminal.wait("❯ shell(git fetch")
        terminal.type(
            f"{CTRL_E}{CTRL_B} --dry-run\r"
        )  # a word more before the bracket at the end of the line
        asked("Allow run_tests?", "n")
        at_rest(terminal)
        assert "\nSo be it.\n" in terminal.everything
        assert (shop / "log").read_text().split() == ["once", "once", "session"]
        stored = (home.config / "allowed-commands.txt").read_text()
        assert stored.startswith("git fetch")
        assert stored.endswith(" --dry-run\n")
        # another turn: what is allowed for the session is not asked about, what was once is; all of a long question
        terminal.type("again\r")
        asked("bash ./make once", "n")
        assert (shop / "log").read_text().split()[-1] == "session"
        terminal.wait(" lines: above")
        assert terminal.everything.count("+ step 89") == 1  # all of a long question is printed above it
        terminal.type("v")
        terminal.wait(lambda: terminal.everything.count("+ step 89") == 2)
        terminal.type(ESCAPE)
        asked("Allow run_tests?", "n")
        at_rest(terminal)
        assert "\nAgain.\n" in terminal.everything
        assert not (shop / workflow).exists()
        # tests say how far they are, and are stopped
        terminal.type("/tests\r")
        asked("Allow run_tests?", "y")
        terminal.wait("Running tests 42 % · 1 failed so far")
        terminal.type(CTRL_C)
        terminal.wait("stopped")
        at_rest(terminal)
        # keys in the middle of a word are no answer: they go on into the prompt, and Enter sends it
        terminal.type("go\r")
        asked("Allow python?", "y")
        terminal.wait_beside(lambda: (shop / "begun").exists())
        terminal.type(ESCAPE + "sa")
        terminal.wait(lambda: prompted(terminal) == "sa")
        terminal.wait("git fetch --prune")
        terminal.wait("keys answer when you pause typing")
        terminal.type("y yes")
        terminal.wait(lambda: prompted(terminal) == "say yes")
        looks("held")
        terminal.type("\r")
        terminal.wait("queued: say yes")
        asked("git fetch", "n")
        asked("Allow run_tests?", "n")
        at_rest(terminal)
        assert "\nHeld.\n" in terminal.everything
        by = [event["by"] for event in log_of(shop) if event["kind"] == "decision"]
        assert by == ["person"] * len(by)
        assert max(map(len, terminal.everything.split("\n"))) <= columns
        leave(terminal)
