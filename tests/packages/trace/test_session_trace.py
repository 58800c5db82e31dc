"""A log as rows: steps with their calls, the window by kind, branches, what is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.events import NewerFormat
from packages.trace.rows.session_trace import SessionTrace
from packages.trace.rows.traced_sessions import read_new_children, read_traces
from packages.trace.rows.window_account import PARTS
from tests.packages.trace.written_logs import Log
from tests.support.cli import CHECKOUT

RECORDED = CHECKOUT / "tests/contract/sessions"


def read(log: Log) -> SessionTrace:
    return read_traces(log.folder)[0]


def test_a_step_has_its_calls_with_arguments_decision_result_and_change(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("mend it")
    log.step(
        "edit",
        {"path": "cart.py", "old": "a\nb", "new": "c"},
        "changed",
        diff="-a\n+c\n",
        usage={"input": 90, "cost": 0.5},
    )
    asked = {"id": "x1", "tool": "shell", "arguments": {"command": "rm -r /"}}
    log.event("message", actions=[asked], model="m")
    log.event("decision", call="x1", verdict="deny", reason="a rule", by="policy")
    log.event("observation", call="x1", tool="shell", text="refused", failed=True)
    log.end()
    trace = read(log)
    edit, shell = trace.rows[2], trace.rows[3]
    [call] = edit.detail["calls"]
    assert (edit.number, edit.title, edit.failed) == (1, "edit cart.py", False)
    assert call["arguments"] == "path: cart.py\nold:\na\nb\nnew: c"
    assert (call["output"], call["diff"], call["paths"], call["effect"]) == (
        "changed",
        "-a\n+c\n",
        ["cart.py"],
        "write",
    )
    assert edit.usage is not None
    assert (edit.usage["input"], edit.usage["cost"]) == (90, 0.5)
    assert shell.failed
    assert shell.detail["calls"][0]["decision"] == "deny by policy: a rule"
    assert trace.facts["outcome"] == "done"
    assert [row.number for row in trace.rows] == [0, 0, 1, 2, 0]


def test_tests_are_counted_where_they_ran(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.tests(3, "t.py::a")
    log.tests(4)
    log.event("verification", outcome="passed", detail="4 passed", report={"passed": 4, "failed": 0})
    rows = [row for row in read(log).rows if row.tests is not None]
    assert [row.tests for row in rows] == [[3, 1], [4, 0], [4, 0]]
    assert rows[0].failed
    assert rows[0].detail["failing"] == ["t.py::a"]


def test_tests_that_were_not_run_are_no_run(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.step("edit", {"path": "cart.py"}, "changed", diff="-a\n+c\n")
    nothing = {"outcome": "no-runner", "passed": 0, "failed": 0}
    log.step("run_tests", {}, "tests were not run: no runner found", failed=True, report=nothing)
    log.event("verification", outcome="unverified", detail="no test runner found", report=nothing)
    log.say("All tests pass.")
    log.end("no-test-runner", 10)
    rows = read(log).rows
    assert [row.tests for row in rows] == [None] * len(rows)
    assert [[each.name for each in row.signals] for row in rows if row.kind == "step"] == [[], [], ["claim"]]
    assert not rows[-1].failed, "nobody could check it"


def test_the_window_is_told_by_kind_and_what_a_compaction_took(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("p" * 36)
    for _ in range(2):
        log.step("read", {"path": "a.py"}, "o" * 3600)
    made = log.event(
        "compaction", stage="folding", folds=[{"first": "e3", "last": "e5", "text": "f" * 72}], masked={"e8": "m" * 18},
        tokens_before=2000, tokens_after=100, reason="full",
    )  # fmt: skip
    log.say("x", usage={"input": 0})
    log.event("compaction", stage="undo", undoes=made, tokens_before=100, tokens_after=2000, reason="asked")
    log.say("y", usage={"input": 4_000})
    rows = read(log).rows
    parts = [dict(zip(PARTS, row.parts, strict=True)) for row in rows if row.parts is not None]
    assert parts[0] == {"prefix": 100, "words": 10, "replies": 0, "observations": 0, "shortened": 0}
    assert parts[1]["observations"] == 1000
    assert (parts[2]["observations"], parts[2]["shortened"], parts[2]["words"]) == (0, 25, 10)
    assert sum(parts[3].values()) in range(3_998, 4_003), "scaled to what the provider counted"
    assert parts[3]["shortened"] == 0
    [folding, _] = [row for row in rows if row.kind == "compaction"]
    assert folding.detail["took"] == 1900
    assert folding.detail["masked"] == ["e8"]


def test_a_recorded_session_that_was_compacted_is_counted_like_its_own_compactions() -> None:
    [folder] = (RECORDED / "compacted/sessions").iterdir()
    rows = read_traces(folder)[0].rows
    for place, row in enumerate(rows):
        if row.kind == "compaction" and rows[place + 1].parts is not None:
            parts = rows[place + 1].parts
            assert parts is not None
            told = int(row.title.partition("→ ")[2].partition(" ")[0].replace(",", ""))
            assert sum(parts) == pytest.approx(told, rel=0.25), row.title


def test_what_a_rewind_left_is_marked_and_out_of_the_window(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    at = log.prompt("first")
    log.step("read", {"path": "a.py"}, "o" * 3600)
    log.event("rewind", to=at, parent=at)
    log.say("again")
    trace = read(log)
    assert [(row.kind, row.off) for row in trace.rows] == [
        ("session", False), ("prompt", False), ("step", True), ("rewind", False), ("step", False),
    ]  # fmt: skip
    assert trace.rows[-1].parts is not None
    assert trace.rows[-1].parts[PARTS.index("observations")] == 0


def test_children_and_attempts_have_their_verdicts_and_their_own_steps(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.event("child", child="s2", state="started", prompt="look", agent="explore")
    log.event("attempt", number=1, child="s2", strategy="sample", hint="small")
    log.event("verdict", name="tests", outcome="pass", evidence="executed", detail="2 passed", attempt=1)
    log.event(
        "candidate", attempt=1, child="s2", outcome="done", exit_code=0, usage={"cost": 0.25}, seconds=3.0
    )
    log.event("choice", attempt=1, reason="its tests")
    log.event("child", child="../../etc", state="started")
    child = Log(tmp_path / "s2")
    child.say("seen")
    first, second = read_traces(log.folder)
    branch = first.branches["s2"]
    assert (branch.label, branch.outcome, branch.chosen, branch.cost) == ("attempt 1", "done", True, 0.25)
    assert branch.verdicts == [["tests", "pass", "executed", "2 passed"]]
    assert (second.id, second.rows[-1].title) == ("s2", "seen")


def test_a_log_that_grows_is_read_on_with_new_children(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    traces = read_traces(log.folder)
    known = traces[0].revision
    with (log.folder / "log.jsonl").open("ab") as file:
        file.write(b'{"v":2,"id":"e2","kind":"prompt","text":"half')
    assert not traces[0].read_new_lines()
    with (log.folder / "log.jsonl").open("ab") as file:
        file.write(b' done"}\n')
    log.count += 1
    log.event("child", child="s2", state="started")
    Log(tmp_path / "s2")
    assert traces[0].read_new_lines()
    assert [row.title for row in traces[0].rows if row.revision > known] == ["half done", "child started"]
    assert [each.id for each in read_new_children(traces)] == ["s2"]


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[1]\n",
        b'{"kind": 3}\n',
        b'{"kind":"message","actions":[3,{"id":[1],"tool":{},"arguments":[1]}],"usage":{"input":"x","cost":NaN}}\n',
        b'{"kind":"compaction","masked":[1],"folds":[{"first":{},"last":null}],"tokens_before":"x"}\n',
        b'{"kind":"compaction","folds":["e1",3,null]}\n',
        b'{"kind":"compaction","id":["e1"],"undoes":"e1"}\n{"kind":"compaction","id":{"a":1}}\n',
        b'{"kind":"child","child":"' + b"a" * 300 + b'","state":"started"}\n',
        b'{"kind":"observation","call":{"a":1},"data":{"report":{"passed":null,"outcome":[1],"failures":[1]},"exit":true}}\n',
        b'{"kind":"rewind","to":"e999999999999999999"}\n',
        b'{"kind":"plan","items":[[1]]}\n',
        b'{"kind":"attempt","number":"x","child":7}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_line_with_anything_in_it_leaves_the_rest(tmp_path: Path, line: bytes) -> None:
    log = Log(tmp_path / "s1")
    with (log.folder / "log.jsonl").open("ab") as file:
        file.write(line)
    log.say("after it")
    assert read(log).rows[-1].title == "after it"


def test_a_log_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    with (log.folder / "log.jsonl").open("ab") as file:
        file.write(json.dumps({"v": 99, "kind": "prompt"}).encode() + b"\n")
    with pytest.raises(NewerFormat):
        read(log)


def test_a_step_that_goes_in_circles_is_marked_with_its_signal(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("look")
    for _ in range(2):
        for name in ("a.py", "b.py"):
            log.step("read", {"path": name}, f"first of {name}\nsecond of {name}", text=f"Now {name}.")
    log.step("edit", {"path": "c.py"}, "edited c.py")
    log.say("All tests pass now.")
    log.end()
    marked = {row.number: row.detail["signals"] for row in read(log).rows if "signals" in row.detail}
    assert marked == {
        4: ["loop: the same 2 steps came 2 times (read)"],
        6: ["claim: “All tests pass”, but nothing ran since the last change"],
    }
    assert [row.title for row in read(log).rows if row.number == 4] == ["read b.py [loop]"]
