"""The worker's parts: single functions compiled anew, candidates screened one after the other in one child."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import pytest

from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.engine.validation.worker_process import (
    MODES,
    Job,
    Message,
    Replies,
    WorkerProcess,
)
from packages.offline.repair.patchwright_worker.live_code.function_compiler import Fuel, Outside, Program
from packages.offline.repair.patchwright_worker.process.child_process import Child
from packages.offline.repair.patchwright_worker.serving.request_server import Trial
from packages.offline.repair.result import Outcome
from tests.tools.workspaces import workspace

TEXT = textwrap.dedent('''\
    """A file."""
    from __future__ import annotations
    import os


    def plain(a, b=1):
        "What it does."
        while a:
            a -= 1
        return [x for x in range(b)]


    class Box:
        class Inner:
            @property
            def size(self) -> Unknown:
                return super().size + self.__hidden

        if os.name:
            def late(self):
                def inner():
                    return self
                return inner


    def one(): return 1
    ''')


def span(part: str) -> tuple[int, int]:
    return TEXT.index(part), TEXT.index(part) + len(part)


@pytest.mark.parametrize("part", ["a -= 1", "super().size", "return inner"])
def test_a_function_compiled_alone_is_the_one_that_its_file_holds(part: str) -> None:
    program = Program("file.py", TEXT)
    outer = program.find_outer(*span(part))

    def codes(code: object) -> list[object]:
        inside = [each for each in getattr(code, "co_consts", ()) if hasattr(each, "co_code")]
        return [*inside, *(deeper for each in inside for deeper in codes(each))]

    whole = compile(TEXT, "file.py", "exec", dont_inherit=True)
    assert program.compile_original(outer) in codes(whole)


def test_a_change_of_a_function_is_compiled_with_its_own_lines_and_fuel() -> None:
    program = Program("file.py", TEXT)
    start, end = span("a -= 1")
    outer = program.find_outer(start, end)
    code = program.compile_changed(outer, [[start, end, "pass"]], fuelled=True)
    assert code.co_firstlineno == outer.first_line == 1 + TEXT[: TEXT.index("def plain")].count("\n")
    namespace: dict[str, object] = {}
    function = types.FunctionType(code, namespace)
    fuel = Fuel(1000)
    fuel.refill()
    with pytest.raises(StopIteration):
        function(1, 2)  # would never end
    assert fuel.is_used_up


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("b=1", "b=2"),  # a default, made when the module is imported
        ("@property", ""),
        ("import os", "import sys"),
        ("return 1", "return 2"),  # on the line of its `def`
        ("    return [x for x in range(b)]\n", "x = 1\n"),  # leaves the function
    ],
)
def test_what_is_no_change_inside_a_function_is_left_to_a_new_import(part: str, text: str) -> None:
    program = Program("file.py", TEXT)
    start, end = span(part)
    with pytest.raises(Outside):
        program.compile_changed(program.find_outer(start, end), [[start, end, text]], fuelled=False)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_child_that_prints_and_is_asked_nothing_says_what_it_is(tmp_path: Path) -> None:
    """The worker needs nothing of ours: any interpreter runs it as a folder."""
    (tmp_path / "test_a.py").write_text("print('noise')\n\ndef test_a():\n    assert True\n")
    pipes = {mode: str(tmp_path / mode) for mode in MODES}
    for pipe in pipes.values():
        os.mkfifo(pipe)
    config = {
        "root": str(tmp_path), "pipes": pipes, "lock": str(tmp_path / "lock"), "records": str(tmp_path / "records"),
        "python_path": [], "overlay": {}, "arguments": [], "jobs": 1, "trace_seconds": 150, "slow_seconds": 10,
        "check": True,
    }  # fmt: skip
    (tmp_path / "config").write_text(json.dumps(config))
    folder = Path(__file__).parents[4] / "packages/offline/repair/patchwright_worker"
    openers = [
        threading.Thread(target=lambda pipe=pipe: Path(pipe).open("wb").close()) for pipe in pipes.values()
    ]
    for opener in openers:
        opener.start()  # opening waits for the worker; closing tells it that nobody asks any more
    done = subprocess.run(
        [sys.executable, "-I", str(folder), str(tmp_path / "config")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    for opener in openers:
        opener.join()
    assert done.returncode == 0, done.stderr
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds[:3] == ["hello", "collected", "traced"]
    assert kinds[3:] in ([], ["ended"])  # the other mode may be the first to see that nobody asks


PATIENT = pytest.mark.timeout(240)
SCREENED = {
    "low.py": """\
        SEEN = []


        def low(values):
            SEEN.append(len(values))
            best = 0
            for value in values:
                best = max(best, value)
            return best
        """,
    "test_low.py": """\
        import low


        def test_low():
            assert low.low([3, 1]) == 1, len(low.SEEN)
        """,
}


@pytest.mark.slow
@PATIENT
def test_candidates_are_judged_one_by_one_and_a_child_that_dies_is_replaced(tmp_path: Path) -> None:
    files = {**SCREENED, "low.py": SCREENED["low.py"].replace("SEEN.append(len(values))", "pass")}
    text = textwrap.dedent(files["low.py"])
    changes = [
        ("max(best, value)", "min(best, value)"),
        ("best = max(best, value)", "import os; os._exit(3)"),
        ("best = max(best, value)", "import os; os.kill(os.getpid(), 11)"),
        ("best = max(best, value)", "while best > -1: best += 0"),
        ("return best", "return ("),
        ("return best", "return min(values)"),
        ("return best", "return [0"),
    ]
    edits = [[text.index(old), text.index(old) + len(old), new] for old, new in changes]
    reply = asyncio.run(screened(tmp_path, files, edits))
    expected = ["failed", "crashed", "crashed", "timeout", "invalid", "passed", "invalid"]
    assert reply["verdicts"] == expected
    assert reply["steady"]


@pytest.mark.slow
@PATIENT
def test_a_batch_that_leaves_the_tests_state_changed_does_not_count(tmp_path: Path) -> None:
    text = textwrap.dedent(SCREENED["low.py"])
    place = text.index("return best")
    reply = asyncio.run(screened(tmp_path / "three", SCREENED, [[place, place + 11, "return 7"]] * 3))
    assert not reply["steady"]
    words = dict(reply["before"])[0]
    only = asyncio.run(screened(tmp_path / "one", SCREENED, [[place, place + 11, "return 7"]], alone=True))
    assert (only["steady"], only["verdicts"]) == (True, ["failed"])
    assert only["said"] != [words]


@pytest.mark.slow
@PATIENT
def test_a_batch_after_which_the_program_dies_does_not_count(tmp_path: Path) -> None:
    files = {
        **SCREENED,
        "low.py": "import os\n\nSEEN = []\n\n\ndef low(values):\n    if SEEN:\n        os._exit(3)\n"
        "    return max(values)\n",
    }
    place = files["low.py"].index("return max")
    edits: list[list[object]] = [[place, len(files["low.py"]) - 1, "SEEN.append(1); return 7"]]
    reply = asyncio.run(screened(tmp_path, files, edits))
    assert reply["verdicts"] == ["failed"]
    assert not reply["steady"]


@pytest.mark.slow
@PATIENT
def test_a_program_that_changes_its_parameters_is_repaired(tmp_path: Path) -> None:
    """The lists of parametrised tests are shared by all who run them: each run gets its own."""
    at = workspace(
        tmp_path,
        {
            "double.py": "def double(values):\n    for i in range(len(values)):\n        values[i] += 3\n"
            "    return values\n",
            "test_double.py": "import pytest\nfrom double import double\n\n\n"
            "@pytest.mark.parametrize('values, doubled', [([1, 2], [2, 3]), ([], []), ([7], [8])])\n"
            "def test_double(values, doubled):\n    assert double(values) == doubled\n",
        },
    )
    result = asyncio.run(repair(at, budget=180))
    assert result.outcome is Outcome.FIXED
    assert "values[i] += 1" in result.fixes[0].new


async def screened(
    folder: Path,
    files: dict[str, str],
    edits: list[list[object]],
    *,
    alone: bool = False,
    near: Sequence[int] = (),
    others: Sequence[int] = (),
) -> Message:
    """What a warm worker says to one screening request about the first file; tests are called by their numbers."""
    folder.mkdir(exist_ok=True)
    at = workspace(folder, files)
    path = next(iter(files))
    job = Job(
        python=sys.executable, python_path=(), overlay={}, arguments=(), named=("t",), check=False,
        trace_seconds=150, seconds=200,
    )  # fmt: skip
    replies = Replies()
    async with AsyncExitStack() as stack:
        worker = await stack.enter_async_context(WorkerProcess(at, job, replies))
        warm = worker.requests["warm"]
        assert (await replies.wait_for_kind("traced", 200) or {})["kind"] == "traced", worker.output
        whole = str(at.root.resolve() / path)
        await warm.send({"texts": {whole: at.files.read_text(path).text}, "ids": ["t"], "limits": [5.0]})
        request = {
            "id": "1",
            "screen": [0] * len(edits),
            "alone": alone,
            "settled": [],
            "hooked": [],
            "before": [(0, "AssertionError: as before")],
            "endless": [],
            "near": [list(near) for _ in edits],
            "others": [list(others) for _ in edits],
            "wordless": [],
            "fuel": 20_000,
            "seconds": 5.0,
        }
        await warm.send({**request, "candidates": [[[whole, *edit]] for edit in edits]})
        reply = await replies.wait_for_kind("screened", 200)
    assert reply is not None
    return reply


@PATIENT
@pytest.mark.slow
def test_what_passes_is_screened_by_tests_that_passed_and_another_failing_test_will_do(
    tmp_path: Path,
) -> None:
    """Tests by number: 0 fails, 1 passed before, 2 fails in another way than 0."""
    text = "def sign(x):\n    if x > 0:\n        return 2\n    if x < 0:\n        return 3\n    return 0\n"
    tests = (
        "from sign import sign\n\ndef test_a():\n    assert sign(5) == 1\n\n"
        "def test_b():\n    assert sign(0) == 0\n\ndef test_c():\n    assert sign(-5) == -1\n"
    )

    def edit(old: str, new: str) -> list[object]:
        return [text.index(old), text.index(old) + len(old), new]

    edits = [
        edit("2", "1"),
        edit("x > 0:\n        return 2", "x >= 0:\n        return 1"),
        edit("3", "-1"),
        edit("3", "4"),
    ]
    reply = asyncio.run(
        screened(tmp_path, {"sign.py": text, "test_sign.py": tests}, edits, near=[1], others=[2])
    )
    assert reply["steady"]
    assert reply["verdicts"] == ["passed", "breaks", "passed", "failed"]
    assert reply["said"][:3] == ["passed", "", ""]


@pytest.mark.parametrize(("stop", "verdict"), [("unless-some", "failed"), ("never", "passed")])
def test_of_a_second_change_that_mends_some_tests_only_the_passing_ones_decide(
    stop: str, verdict: str
) -> None:
    stages = [{"tests": [0, 1], "stop": stop}, {"tests": [2], "stop": "first"}]
    trial = Trial({"id": "1", "stages": stages})
    child = cast("Child", None)  # asked for more time when a test starts only
    for test, outcome in ((0, "failed"), (1, "passed")):
        trial.handle_message(child, {"kind": "test", "test": test, "outcome": outcome})
    trial.handle_message(child, {"kind": "over"})
    assert trial.handle_child_end(killed=False)
    trial.handle_message(child, {"kind": "test", "test": 2, "outcome": "passed"})
    trial.handle_message(child, {"kind": "over"})
    assert not trial.handle_child_end(killed=False)
    assert (trial.reply["verdict"], trial.reply["passed"]) == (verdict, [1, 2])
