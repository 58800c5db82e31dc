"""What a local model says of candidates: which calls are asked about, and the signs that are made of its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from agent.model.infill.fill_forms import FORMS
from agent.model.infill.filler import Filler
from benchmarks.verification import likelihood
from benchmarks.verification.codet import find_task_name
from benchmarks.verification.likelihood import Question

ONE, TWO = '["number", "1"]', '["number", "2"]'
HEAD = 'def f(x: int) -> int:\n    """Return what comes after."""\n'
RECORD: dict[str, Any] = {
    "task": "t", "function": "f", "seeds": 1, "suggested": [], "given": [], "right": [True, True, False],
    "sources": [f"{HEAD}    return x + 1\n", f"{HEAD}    x += 1\n    return x\n", f"{HEAD}    return x\n"],
    "calls": ["((1,), {})", "((0,), {})", "((7,), {'y': 1})"],
    "keys": [[TWO, ONE, "<fails>"], [TWO, ONE, "<fails>"], [ONE, '["number", "0"]', "<fails>"]],
}  # fmt: skip
LIKELY = "2"


class Handler(BaseHTTPRequestHandler):
    """A server that finds one text likely, and any other unlikely."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.loads(body["grammar"].partition("::= ")[2])
        token = {"token": text, "logprob": -0.1 if text == LIKELY else -4.0, "top_logprobs": []}
        content = json.dumps({"content": text, "completion_probabilities": [token]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, form: str, *arguments: object) -> None:
        pass


@pytest.fixture
def filler() -> Iterator[Filler]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Filler(f"http://127.0.0.1:{server.server_port}/v1", "m", form=FORMS["infill"])
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_likelier_result_has_the_better_sign(filler: Filler) -> None:
    question = Question(pool="codet", record=RECORD, text=HEAD, members=[0, 1, 2])
    groups = likelihood.list_groups(RECORD, question.members)
    told = asyncio.run(likelihood.ask_results(filler, question, groups))
    assert [number for number, _ in told] == [0, 1]  # not the one that fails in all
    assert told[0][1] == {TWO: (-0.1, 1), ONE: (-4.0, 1)}
    signs = likelihood.measure_witness(RECORD, groups, {"results": told})
    best = max(range(len(groups)), key=lambda each: signs[each]["results"])
    assert list(groups[best].members) == [0, 1]
    assert {each["bodies"] for each in signs} == {0.0}


def test_bodies_are_asked_without_the_docstring(filler: Filler) -> None:
    question = Question(pool="codet", record=RECORD, text=HEAD, members=[0, 2])
    groups = likelihood.list_groups(RECORD, question.members)
    told = asyncio.run(likelihood.ask_bodies(filler, question, groups))
    assert told == {0: (-4.0, 1), 2: (-4.0, 1)}
    assert likelihood.find_body(RECORD["sources"][1], "f") == "x += 1\n    return x"
    assert likelihood.find_body("def f(:\n", "f") == ""


@pytest.mark.parametrize(
    ("key", "truths", "text"), [(ONE, False, "1"), (ONE, True, "True"), ('"a"', True, "'a'")]
)
def test_a_result_is_written_as_in_a_test(key: str, truths: bool, text: str) -> None:
    assert likelihood.format_result(key, truths) == text


def test_a_patch_that_was_not_asked_about_is_no_better_than_the_others() -> None:
    told = {"0": [[-2.0, 2], [-4.0, 2]], "1": [[-6.0, 2], [-4.0, 2]]}
    assert likelihood.measure_changes(3, told) == [1.0, -1.0, -1.0]
    assert likelihood.measure_changes(2, {}) == [0.0, 0.0]


def test_the_first_change_that_is_no_test_is_asked_about() -> None:
    patch = (
        "--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1,1 +1,1 @@\n-A\n+B\n"
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n def f(x):\n-    return x\n+    return x + 1\n # end\n"
    )
    change = likelihood.find_first_change(patch)
    assert change is not None
    assert (change.old, change.new) == ("return x", "return x + 1")


def test_a_record_is_read_by_pool_and_task(tmp_path: Path) -> None:
    path = tmp_path / "told.jsonl"
    path.write_text('{"pool": "codet", "task": "t", "kind": "results", "told": []}\n')
    assert likelihood.collect_told(path) == {("codet", "t"): {"results": []}}
    assert likelihood.collect_told(tmp_path / "none") == {}


def test_two_tasks_with_a_function_of_one_name_are_told_apart() -> None:
    base = [
        {"task_id": f"T/{number}", "entry_point": "f", "prompt": f'def f(x):\n    """ x has {sign} """\n'}
        for number, sign in enumerate("<[(")
    ]
    assert [find_task_name(f"def f(x):\n    # x has {sign}\n", base) for sign in "(<"] == ["T/2", "T/0"]
    assert find_task_name("def g(x):\n", base) == ""
