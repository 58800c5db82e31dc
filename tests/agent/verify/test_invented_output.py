"""Output of tests that an answer makes up: told from output that was there, and from samples in explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.exit_codes import Exit
from agent.verify.invented_output import shows_invented_output
from tests.support.cli import call, run, script
from tests.support.repo import Repo

INVENTED = {
    "a tag": "<tool_response>\n1 passed in 0.01s\n</tool_response>\nDone.",
    "a mark": "Observation: run_tests: 1 passed in 0.02s\n\nThe test passes now.",
    "a block": "I run the tests.\n```output\n===== 1 passed in 0.01s =====\n```\nIt is fixed.",
    "a terminal": "```console\n$ pytest -q\n.\n1 passed\n```\n",
    "results": '<function_results>\n{"exit": 0, "stdout": "1 passed"}\n</function_results>',
    "roles": "assistant: run_tests()\ntool: 1 passed\nassistant: Done.",
    "JSON": '{"tool": "run_tests", "result": {"passed": 1, "failed": 0}}',
    "a template": "<|im_start|>tool\n1 passed\n<|im_end|>\n<|im_start|>assistant\nDone.",
    "another runner": "Ran 1 test in 0.001s\n\nOK",
    "TAP": "```\nok 1 - f\n1..1\n```",
    "cargo": "test result: ok. 3 passed; 0 failed; 0 ignored",
}


@pytest.mark.parametrize("answer", INVENTED.values(), ids=INVENTED)
def test_output_that_nothing_printed_is_invented(answer: str) -> None:
    assert shows_invented_output(answer, ["does test_f pass?"], [], has_order=False)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("how do I run the tests?", "```console\n$ pytest -q\n1 passed in 0.01s\n```"),
        ("what does pytest print?", "A line like `1 passed in 0.01s`."),
        ("explain the harness", "It prints the result:\n```\n3 passed, 1 failed\n```"),
        ("write a parser for pytest's last line", "```python\nLINE = '1 passed in 0.01s'\n```"),
        ("does test_f pass?", "I did not run it. By reading, f returns 1 and the test wants 2."),
        ("why does test_f fail?", "f returns 1, so `assert f() == 2` fails."),
        (
            "this fails:\n1 failed in 0.01s\nwhy does the test fail?",
            "```\n1 failed in 0.01s\n```\nf returns 1.",
        ),
    ],
)
def test_samples_and_words_are_no_output(prompt: str, answer: str) -> None:
    assert not shows_invented_output(answer, [prompt], [], has_order=False)


def test_output_that_a_tool_returned_is_none_of_the_models() -> None:
    answer = "The log says:\n```\n== 1 failed, 3 passed in 0.10s ==\n```"
    known = ["ci.log:\n12: == 1 failed, 3 passed in 0.10s =="]
    assert not shows_invented_output(answer, ["did the tests fail in CI?"], known, has_order=False)
    assert shows_invented_output(answer, ["did the tests fail in CI?"], [], has_order=False)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["check that the tests pass", "does test_f pass?"])
def test_a_turn_that_ends_on_invented_output_is_not_done(tmp_path: Path, prompt: str) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("a.py", "def f():\n    return 1\n")
    repo.write("test_a.py", "from a import f\n\n\ndef test_f():\n    assert f() == 2\n")
    repo.commit_all("Start")
    turns = [{"calls": [call("read", path="a.py")]}, *[{"text": INVENTED["a tag"]}] * 4]
    ended = run("run", prompt, "--model", script(tmp_path, turns), cwd=repo.root)
    assert ended.code == Exit.NOT_ACHIEVED, ended.err
    assert "no tests were run" in ended.err
