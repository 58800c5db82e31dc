"""`patchwright eval` as a user runs it: real processes, scripted models, small tasks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.cli import PATCHWRIGHT, environment, git, run
from tests.support.evaluation_trials import EDIT, FIX, make_task, write_script

pytestmark = pytest.mark.slow

MARK = "STARTED_BY_TESTS_IN"
"""Variable by which workers of these tests are known: a worker whose run was killed has another parent."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight tasks that differ in a comment, with a model for each prompt: `good` solves all, `poor` none."""
    folder = tmp_path_factory.mktemp("evaluation")
    for number in range(8):
        make_task(
            folder / f"suite/task{number}",
            description=f"number {number}",
            tags=["even" if number % 2 == 0 else "odd"],
            limits={"seconds": 60, "check_seconds": 20},
        )
    usage = {"input": 50, "output": 5, "cost": 0.01}
    write_script(folder / "good.json", [{"calls": [EDIT], "usage": usage}, {"text": "Done."}])
    poor = {**EDIT, "arguments": {**EDIT["arguments"], "new": "a * b"}}  # type: ignore[dict-item]
    write_script(folder / "poor.json", [{"calls": [poor], "usage": usage}, {"text": "Done."}])
    write_script(folder / "slow.json", [{"calls": [EDIT]}, {"text": "Done.", "delay": 40}])
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = str(tmp_path_factory.mktemp("home"))
    return {"PATCHWRIGHT_HOME": folder, MARK: folder}


class Outline(HTMLParser):
    """Tags and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        assert tag != "script"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_run_is_reported_compared_and_gated(suite: Path, home: dict[str, str]) -> None:
    good, poor = f"good=scripted:{suite}/good.json", f"poor=scripted:{suite}/poor.json"
    begun = ("eval", "run", "suite", "-m", good, "-m", poor, "-j", "2")
    done = run(*begun, "--to", "report.html", cwd=suite, env=home)
    assert done.code == 0, done.err
    assert "8 tasks, 1 trial each: can show differences from 75% on" in done.err
    assert "8 of 8 tasks are not checked yet" in done.err
    assert "good: solved 8/8, rate (95 %) 100.0% (68–100), precision 100.0%" in done.out
    assert "poor: solved 0/8" in done.out
    assert "poor: not solved: wrong 8" in done.out
    assert "poor against good: worse" in done.out

    page = (suite / "report.html").read_text()
    outline = Outline()
    outline.feed(page)
    assert (outline.open, outline.addresses) == ([], [])
    assert "+    return a * b" in page
    assert "poor against good: worse" in page

    tree = ElementTree.fromstring(run("eval", "report", "-o", "junit", cwd=suite, env=home).out)
    assert [(each.get("name"), each.get("failures")) for each in tree] == [("good", "0"), ("poor", "8")]
    assert tree[1][0][0].get("type") == "wrong"

    found = json.loads(run("eval", "report", "-o", "json", cwd=suite, env=home).out)
    assert [each["solved"] for each in found["variants"]] == [8, 0]
    (suite / "baseline.json").write_text(json.dumps(found))
    assert found["spending"]["cost"] == pytest.approx(0.16)

    gate = ("eval", "gate", "--baseline", "baseline.json")
    assert run(*gate, "good", cwd=suite, env=home).code == 0
    # A worse prompt under the name of the baseline: another model's results, held against `good`.
    renamed = run(
        "eval", "run", "suite", "-m", poor.replace("poor=", "good="), "-j", "2", cwd=suite, env=home
    )
    assert renamed.code == 0
    stopped = run(*gate, "good", cwd=suite, env=home)
    assert stopped.code == 13
    assert "gate: no longer solved: task0, task1" in stopped.out
    assert "gate: 0.0% are solved, 100.0% in the baseline (p = 0.008)" in stopped.out
    assert run(*gate, "good", "--allow", "8", "--level", "0.001", cwd=suite, env=home).code == 0

    ids = [each.split()[0] for each in run("eval", "list", cwd=suite, env=home).out.splitlines()]
    assert len(ids) == 2
    same = run("eval", "compare", f"{ids[0]}/good", "poor", cwd=suite, env=home)
    assert same.code == 0
    assert "no difference shown" in same.out
    told = json.loads(
        run("eval", "compare", "baseline.json", "good", "--json", cwd=suite, env=home).out or "{}"
    )
    assert told == {}  # the file has two variants: the message names them


def test_what_is_known_is_not_run_again_and_filters_select(suite: Path, home: dict[str, str]) -> None:
    good = f"scripted:{suite}/good.json"
    begun = ("eval", "run", "suite", "-m", good, "--filter", "even", "--limit", "2", "--store", "store")
    assert "solved 2/2" in run(*begun, cwd=suite, env=home).out
    started = time.monotonic()
    again = run(*begun, "-o", "json", cwd=suite, env=home)
    assert time.monotonic() - started < 20
    found = json.loads(again.out)
    assert [each["task"] for each in found["results"]] == ["task0", "task2"]
    assert len(list((suite / "store/results").rglob("*.json"))) == 2
    listed = run("eval", "list", "suite", "--filter", "odd", cwd=suite, env=home)
    assert [line.split()[0] for line in listed.out.splitlines()] == ["task1", "task3", "task5", "task7"]


def start(suite: Path, home: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*PATCHWRIGHT, "eval", "run", "suite", *arguments],
        cwd=suite,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(pattern: str, folder: Path, seconds: float = 90) -> list[Path]:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := list(folder.glob(pattern)):
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {pattern} below {folder}")


def list_workers(home: dict[str, str]) -> Iterator[int]:
    """Live workers of the executor of runs that these tests have begun."""
    own = f"{MARK}={home[MARK]}".encode()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words, variables = place.read_bytes(), place.with_name("environ").read_bytes()
            if b"packages.evaluation.executors.worker_process" in words and own in variables.split(b"\0"):
                yield int(place.parent.name)
        except OSError:
            continue


def test_a_killed_run_goes_on_with_each_trial_once(suite: Path, home: dict[str, str]) -> None:
    arguments = (
        "-m",
        f"scripted:{suite}/good.json",
        "-k",
        "2",
        "--limit",
        "3",
        "-j",
        "1",
        "--store",
        "killed",
    )
    process = start(suite, home, *arguments)
    before = wait_for("results/*/*.json", suite / "killed")
    process.kill()
    process.communicate()
    ends = time.monotonic() + 30
    while list(list_workers(home)):  # none goes on without its run
        assert time.monotonic() < ends
        time.sleep(0.05)
    kept = {each.name: each.read_bytes() for each in before}
    done = run("eval", "run", "suite", *arguments, "-o", "json", cwd=suite, env=home)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    pairs = [(each["task"], each["trial"]) for each in found["results"]]
    assert pairs == [(f"task{task}", trial) for task in range(3) for trial in range(2)]
    after = {each.name: each.read_bytes() for each in (suite / "killed/results").rglob("*.json")}
    assert len(after) == 6
    assert kept.items() <= after.items()
    # Every call of a model is counted, those of the trial that was cut off included.
    lost = found["spending"]["lost_cost"]
    assert found["spending"]["cost"] == pytest.approx(0.06 + lost)


def test_an_interrupt_ends_all_trials_and_says_how_to_go_on(suite: Path, home: dict[str, str]) -> None:
    process = start(suite, home, "-m", f"scripted:{suite}/slow.json", "-j", "2", "--store", "cut")
    wait_for("sessions/*/log.jsonl", suite / "cut")
    assert list(list_workers(home))
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(rb"interrupted; the same command goes on with run [0-9a-f]{12}", told), told
    assert not list(list_workers(home))
    assert not list((Path(home["PATCHWRIGHT_HOME"]) / "cache/evaluation").glob("*/trials/*"))


def test_unsound_tasks_are_refused_with_the_reason(tmp_path: Path, home: dict[str, str]) -> None:
    make_task(tmp_path / "suite/sound")
    make_task(tmp_path / "suite/always", check="true")
    make_task(tmp_path / "suite/never", check="false")
    make_task(tmp_path / "suite/lenient", failures={"same.patch": FIX})
    make_task(tmp_path / "suite/credit", check="python3 check.py || { echo score: 0.2; exit 1; }")
    make_task(tmp_path / "suite/foreign", reference=FIX.replace(b"a - b", b"a / b"))
    make_task(tmp_path / "suite/lacking", reference=None)
    flips = "python3 check.py && test $((0x$(head -c1 /dev/urandom | od -An -tx1 | tr -d ' ') % 256)) -lt 8"
    make_task(tmp_path / "suite/unstable", check=flips)
    make_task(tmp_path / "suite/dear", check="sleep 60", limits={"check_seconds": 0.3})
    done = run("eval", "check", "suite", "-j", "2", cwd=tmp_path, env=home)
    assert done.code == 13
    reasons = dict(re.findall(r"^refused: (\w+): (.*)$", done.out, re.MULTILINE))
    assert "sound" not in reasons
    assert reasons["always"] == "nothing done: the checker accepts it"
    assert reasons["never"].startswith("reference.patch: the checker refuses it")
    assert reasons["lenient"] == "failures/same.patch: the checker accepts it"
    assert reasons["credit"] == "nothing done: the checker gives it a score of 0.2 instead of 0"
    assert reasons["foreign"].startswith("reference.patch: the patch does not fit")
    assert reasons["lacking"].startswith("no reference.patch")
    assert reasons["unstable"].startswith("reference.patch")
    assert reasons["dear"].startswith("nothing done: the checker took too long")
    assert "1 of 9 tasks admitted" in done.out
    again = run("eval", "check", "suite", "--filter", "sound", cwd=tmp_path, env=home)
    assert (again.code, again.out) == (0, "1 of 1 tasks admitted (1 known from before)\n")


def test_mistakes_are_one_line_with_a_way_out(suite: Path, home: dict[str, str], tmp_path: Path) -> None:
    for arguments, code, message in (
        (("run", "none"), 2, "no suite: there is no folder"),
        (("run", "suite", "--filter", "huge"), 2, "no task fits 'huge'"),
        (("run", "suite", "-m", "scripted:none.json"), 6, "no script for this model"),
        (("run", "suite", "-m", "offline", "-m", "offline"), 2, "two variants have the label 'offline'"),
        (("run", "suite", "-m", "offline", "--to", "report.txt"), 2, "no format for 'report.txt'"),
        (("run", "suite", "--strategy", "luck"), 2, "there is no strategy 'luck'"),
        (("report", "zzz", "--store", "empty"), 2, "there is no run yet"),
        (("gate", "--baseline", "none.json"), 2, "there is no file 'none.json'"),
    ):
        done = run("eval", *arguments, cwd=suite, env=home)
        assert (done.code, message in done.err, "Traceback" in done.err) == (code, True, False), done
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    make_task(tmp_path / "suite/add", base={"repository": str(origin), "commit": "0" * 40})
    done = run("eval", "run", tmp_path / "suite", cwd=suite, env=home)
    assert (done.code, "which is not the suite's" in done.err) == (5, True)
    assert os.listdir(origin) == [".git"]
