"""`patchwright loop` and `watch`: on time, on changes of others, never over each other, ended cleanly."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.events import ActionEvent, Event, ObservationEvent
from agent.session.log import Session
from agent.session.session_pruning import is_open
from cli.commands.detached.repeat import read_duration
from cli.detached.file_watch import FileWatch
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT, PATCHWRIGHT, call, environment, run, script
from tests.support.talking import logs, make_shop, prompts, wait_until

OPEN = ("--sandbox", "unconfined", "--mode", "full", "--tests", "true", "--no-commit")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


@contextmanager
def at_work(shop: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """The command while it runs, and the file with its output."""
    said = shop.parent / "said.txt"
    with said.open("w") as output:
        process = subprocess.Popen(
            [*PATCHWRIGHT, *words],
            cwd=shop,
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield process, said
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)


@pytest.mark.slow
def test_a_loop_makes_its_runs_within_the_cost_of_all(shop: Path) -> None:
    model = script(shop.parent, [{"text": "Nothing.", "usage": {"input": 9, "output": 1, "cost": 0.25}}])
    done = run("loop", "look", "--every", "0.1s", "--max-cost", "0.4", "--model", model, *OPEN, cwd=shop)
    assert done.code == 4, done.out + done.err
    lines = done.out.splitlines()
    assert [line.partition(":")[0] for line in lines if line.startswith("run ")] == [
        "run 1",
        "run 1",
        "run 2",
        "run 2",
    ]
    assert "run 1: done, $0.2500" in lines
    assert len(logs()) == 2
    wrong = run("loop", "look", "--every", "soon", cwd=shop)
    assert (wrong.code, "is no duration" in wrong.err) == (2, True)


@pytest.mark.slow
def test_the_examples_of_the_page_run(shop: Path) -> None:
    page = (CHECKOUT / "docs/background.md").read_text("utf-8")
    blocks = [
        shlex.split(line, comments=True)
        for block in re.findall(r"^```sh\n(.*?)\n```", page, re.S | re.M)
        for line in block.splitlines()
    ]
    started, listed, waited, told, repeated, watched = [words[1:] for words in blocks]
    model = script(shop.parent, [{"text": "Mended."}])
    env = {"PATCHWRIGHT_MODEL": model}
    session = run(*started, cwd=shop, env=env).out.strip()
    assert run(*listed, cwd=shop).code == 0
    assert run(*[session if word == "ID" else word for word in waited], cwd=shop).code == 13
    assert "Mended." in run(*[session[-4:] if word == "ID" else word for word in told], cwd=shop).out
    done = run(*["0.5s" if word == "10m" else word for word in repeated], cwd=shop, env=env)
    assert (done.code, done.out.splitlines()[-1]) == (0, "2 of 2 runs made (--max-runs)")
    for name in ("src", "tests"):
        (shop / name).mkdir()
    with at_work(shop, *watched) as (process, said):
        wait_until(lambda: "watching src tests" in said.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.slow
def test_a_watch_runs_for_changes_of_others_alone(shop: Path) -> None:
    turns = [{"calls": [call("shell", command="echo '# seen' >> order.py")]}, {"text": "Seen."}]
    model = script(shop.parent, turns)
    (shop / ".gitignore").write_text("*.log\n")
    with at_work(shop, "watch", ".", "--model", model, *OPEN, "--", "look at {files}") as (process, said):
        wait_until(lambda: "watching" in said.read_text())
        (shop / "debug.log").write_text("noise")
        (shop / "cart.py").write_text("def total(items):\n    return 0\n")
        wait_until(lambda: "run 1: done" in said.read_text())
        assert prompts(shop) == ["look at <data>cart.py</data>"]
        (shop / "cart.py").write_text("def total(items):\n    return 1\n")
        wait_until(lambda: "run 2: done" in said.read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
        assert said.read_text().splitlines()[-1] == "ended after 2 runs"
    assert (shop / "order.py").read_text().count("# seen") == 2


@pytest.mark.slow
def test_a_run_in_place_of_another_and_a_clean_end_of_both(shop: Path) -> None:
    model = script(shop.parent, [{"text": "", "delay": 60}])
    words = ("watch", "cart.py", "--overlap", "stop", "--model", model, *OPEN, "--", "look")
    with at_work(shop, *words) as (process, said):
        wait_until(lambda: "watching" in said.read_text())
        (shop / "cart.py").write_text("one\n")
        wait_until(lambda: "run 1: 2" in said.read_text())
        (shop / "cart.py").write_text("other\n")
        wait_until(lambda: "run 2: 2" in said.read_text())
        assert "run 1: interrupted" in said.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
    sessions = [path.parent for path in logs()]
    assert [is_open(each) for each in sessions] == [False, False]
    ends = [json.loads(path.read_text().splitlines()[-1]) for path in logs()]
    assert [each["outcome"] for each in ends] == ["interrupted", "interrupted"]


def test_a_change_in_an_action_that_still_runs_is_not_taken_for_somebody_elses(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("1")
    watched = FileWatch(root=root, paths=[root])
    session = Session.create(tmp_path / "sessions")

    def add(*events: Event) -> None:
        for event in events:
            session.append(event)

    def look() -> bool:
        return [watched.is_due(session.folder) for _ in range(2)][-1]

    add(ActionEvent(call="c1", tool="shell", effect="execute"))
    (root / "a.py").write_text("22")
    assert not look()
    add(ObservationEvent(call="c1", tool="shell", text="", data={"changed": ["a.py"]}))
    assert not look()
    (root / "b.py").write_text("3")
    assert look()
    assert (watched.changed, watched.format_prompt("see {files}")) == (("b.py",), "see <data>b.py</data>")
    assert not look()
    (root / "c.py").write_text("4")
    assert watched.end_run(session.folder)
    assert not watched.end_run(session.folder)
    session.close()


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400), ("5", 5)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "10x", "-1m", "m"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(UserError):
        read_duration(text)
