"""What programs build on: schemas of events and results, answers of a given shape, a session driven by lines."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent.app_dirs import Home
from cli.output.json_schemas import SCHEMAS
from tests.support.cli import PATCHWRIGHT, call, environment, git, run, script

SHAPE = {
    "type": "object",
    "properties": {
        "files": {"type": "array", "items": {"type": "string"}},
        "risk": {"enum": ["low", "high"]},
    },
    "required": ["files", "risk"],
    "additionalProperties": False,
}
GOOD = {"files": ["cart.py"], "risk": "low"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    (root / "cart.py").write_text("x = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    (tmp_path / "shape.json").write_text(json.dumps(SHAPE))
    return root


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCHEMAS))
def test_schemas_are_printed_and_have_a_version(name: str, repo: Path) -> None:
    schema = json.loads(run("schema", name, cwd=repo).out)
    Draft202012Validator.check_schema(schema)
    assert re.fullmatch(rf"urn:patchwright:{name}:\d+", schema["$id"])


@pytest.mark.slow
def test_the_events_and_the_result_of_a_run_fit_their_schemas(repo: Path) -> None:
    turns = [
        {
            "text": "I look.",
            "reasoning": "hm",
            "calls": [call("read", path="cart.py"), call("nonsense", x=1)],
        },
        {"calls": [call("plan", items=[{"text": "one", "status": "done"}]), call("shell", command="exit 3")]},
        {"text": "Done.", "usage": {"input": 10, "output": 2, "cost": 0.5}},
    ]
    model = script(repo.parent, turns)
    streamed = run("run", "go", "--model", model, "--output", "stream-json", cwd=repo)
    events = Draft202012Validator(SCHEMAS["events"]())
    assert {event["kind"] for event in streamed.events} >= {
        "session",
        "prompt",
        "message",
        "observation",
        "end",
    }
    for event in streamed.events:
        events.validate(event)
    result = run("run", "go", "--model", model, "--output", "json", cwd=repo)
    Draft202012Validator(SCHEMAS["result"]()).validate(json.loads(result.out))
    assert not events.is_valid({"kind": "prompt"}), "a schema that everything fits says nothing"


def structured(repo: Path, *answers: str, output: str = "text", schema: str = "shape.json") -> Any:
    model = script(repo.parent, [{"text": answer} for answer in answers])
    return run(
        "run", "what is risky?", "--model", model, "--output-schema", repo.parent / schema,
        "--output", output, cwd=repo,
    )  # fmt: skip


@pytest.mark.slow
def test_an_answer_that_fits_is_printed_as_json(repo: Path) -> None:
    for answer in (json.dumps(GOOD), f"```json\n{json.dumps(GOOD)}\n```"):
        result = structured(repo, answer)
        assert (result.code, json.loads(result.out)) == (0, GOOD)
    assert json.loads(structured(repo, json.dumps(GOOD), output="json").out)["structured"] == GOOD


@pytest.mark.slow
def test_an_answer_that_does_not_fit_is_asked_for_once_more(repo: Path) -> None:
    result = structured(repo, "It is cart.py.", json.dumps(GOOD))
    assert (result.code, json.loads(result.out)) == (0, GOOD)
    result = structured(repo, '{"files": "cart.py"}', '{"files": [], "risk": "none"}', output="json")
    assert result.code == 13
    assert json.loads(result.out)["outcome"] == "not-achieved"
    assert "asked twice: at risk: 'none' is not one of ['low', 'high']" in result.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ('{"type": "objekt"}', "is not a JSON schema: at type"),
        ("null", "is not a JSON schema: at the top"),
        ('{"$schema": 5}', "is not a JSON schema: at the top"),
        ('{"$ref": "#"}', "refers to itself without end"),
        ('{"$ref": "https://example.org/schema.json"}', "refers to what is not in it"),
        (None, "cannot read the schema"),
    ],
)
def test_a_wrong_schema_is_told_and_nothing_is_fetched(repo: Path, text: str | None, said: str) -> None:
    if text is not None:
        (repo.parent / "wrong.json").write_text(text)
    result = structured(repo, "{}", "{}", schema="wrong.json")
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err


class Driven:
    """A session that a program drives."""

    def __init__(self, repo: Path, turns: Sequence[dict[str, Any]], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*PATCHWRIGHT, "run", "--input", "stream-json", "--output", "stream-json",
             "--model", script(repo.parent, turns), *arguments],
            cwd=repo, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def say(self, **fields: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(fields).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        """The next line of a kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            fields: dict[str, Any] = json.loads(line)
            if fields["kind"] == kind:
                return fields
        raise AssertionError(f"the output ended without {kind!r}")

    def end(self) -> int:
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.mark.slow
def test_a_program_drives_a_session_through_several_turns(repo: Path) -> None:
    folder = Home.from_environment().config / "commands"
    folder.mkdir(parents=True)
    (folder / "ship.md").write_text("Ship $1 now.")
    turns = [
        {"calls": [call("shell", command="bash ./go one")]},
        {"calls": [call("shell", command="bash ./go two")], "expect": ["not that one"]},
        {"text": "First."},
        {"text": "Second.", "expect": ["and then?"]},
        {"text": "Third.", "expect": ["Ship it now."]},
    ]
    driven = Driven(repo, turns, "--sandbox", "unconfined")
    driven.say(kind="prompt", text="go")
    question = driven.until("question")
    assert question["argv"] == ["bash", "-c", "bash ./go one"]
    driven.say(kind="decision", id="q9", verdict="allow")
    assert "no question 'q9'" in driven.until("input-error")["message"]
    driven.say(kind="decision", id=question["id"], verdict="deny", reason="not that one")
    assert driven.until("decision")["reason"] == "not that one"
    driven.say(kind="decision", id=driven.until("question")["id"], verdict="allow")
    assert driven.until("end")["summary"] == "First."
    driven.say(kind="nonsense")
    assert "one of prompt, steer" in driven.until("input-error")["message"]
    driven.say(kind="prompt", text="and then?")
    assert driven.until("end")["summary"] == "Second."
    driven.say(kind="prompt", text="/ship it")
    assert driven.until("end")["summary"] == "Third."
    assert driven.end() == 0


@pytest.mark.slow
def test_a_driver_interrupts_and_its_end_ends_the_session(repo: Path) -> None:
    turns = [
        {"calls": [call("shell", command="sleep 300")]},
        {"text": "Stopped.", "expect": ["I stopped that step"]},
    ]
    driven = Driven(repo, turns)
    driven.say(kind="prompt", text="wait")
    driven.until("action")
    driven.say(kind="interrupt")
    assert driven.until("end")["summary"] == "Stopped."
    assert driven.end() == 0


@pytest.mark.slow
def test_what_comes_too_late_for_a_turn_is_the_next_prompt(repo: Path) -> None:
    turns = [
        {"calls": [call("write", path="new.py", content="x = 2\n")]},
        {"text": "First."},
        {"text": "Second.", "expect": ["one thing more"]},
    ]
    driven = Driven(repo, turns, "--tests", "true", "--sandbox", "unconfined", "--no-commit")
    driven.say(kind="prompt", text="go")
    written = driven.until("question")
    assert written["tool"] == "write"
    driven.say(kind="decision", id=written["id"], verdict="allow")
    question = driven.until("question")
    assert question["tool"] == "run_tests"  # the model has ended its turn, the harness has not
    driven.say(kind="steer", text="one thing more")
    driven.say(kind="decision", id=question["id"], verdict="allow")
    assert driven.until("end")["summary"] == "First."
    assert driven.until("prompt")["text"] == "one thing more"
    assert driven.until("end")["summary"] == "Second."
    driven.end()


@pytest.mark.slow
def test_input_as_lines_wants_output_as_lines(repo: Path) -> None:
    result = run("run", "--input", "stream-json", cwd=repo)
    assert result.code == 2
    assert "needs --output stream-json" in result.err
