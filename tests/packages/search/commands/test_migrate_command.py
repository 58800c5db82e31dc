"""`patchwright migrate` in real processes, its voters behind a real server."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from tests.packages.search.microsteps.voting_server import VotingServer
from tests.support.cli import CHECKOUT, PATCHWRIGHT, environment, git, run
from tests.support.confined import needs_confinement

DROP = "<<<<<<< SEARCH\nimport six\n=======\n>>>>>>> REPLACE\n"
BREAK = "<<<<<<< SEARCH\nimport six\n=======\nimport seven\n>>>>>>> REPLACE\n"
INSTRUCTION = "Remove the import of six"
CHECK = "! grep -q 'six\\|seven' {file}"
KEY = {"OPENAI_API_KEY": "test"}


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A repository of four small modules that import six, and one that does not."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(1, 5):
        (folder / f"m{number}.py").write_text(f"import six\nimport os\n\n\ndef f{number}():\n    return os\n")
    (folder / "plain.py").write_text("import os\n\nos.getcwd()\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def arguments(server: VotingServer, *more: str) -> list[str]:
    return [
        "migrate", INSTRUCTION, "--files", "*.py", "--model", "openai/voter", "--api-base", server.url, "--json", *more
    ]  # fmt: skip


def migrate(folder: Path, server: VotingServer, *more: str) -> tuple[int, dict[str, Any]]:
    done = run(*arguments(server, *more), cwd=folder, env=KEY)
    assert done.out, done.err
    return done.code, json.loads(done.out)


def vote(path: str, before: int, prompt: str) -> str:
    """Voters of whom each fourth is wrong, and each fifth answers in no form."""
    if path in ("", "plain.py"):
        return "NO" if not path else "UNCHANGED"
    if before % 5 == 4:
        return "I think that the import could go."
    return BREAK if before % 4 == 1 else DROP


@pytest.mark.slow
def test_votes_decide_and_the_check_stops_what_they_get_wrong(modules: Path) -> None:
    def answer(path: str, before: int, prompt: str) -> str:
        return BREAK if path == "m3.py" else vote(path, before, prompt)

    with VotingServer(answer) as server:
        code, found = migrate(modules, server, "--check", CHECK, "--k", "2", "--yes")
    assert (code, found["outcome"]) == (Exit.NOT_ACHIEVED, "not-achieved")
    assert found["changed"] == ["m1.py", "m2.py", "m4.py"]
    assert found["unchanged"] == 1
    assert [each["path"] for each in found["failed"]] == ["m3.py"]
    assert found["failed"][0]["reason"].startswith("the check fails: exit 1")
    assert found["malformed"] == 0 or found["votes"] > 5 * 2
    assert found["usage"]["output"] == 30 * (found["votes"] + server.asked[""])
    assert found["estimate"]["k"] == 2
    assert (modules / "m3.py").read_text().startswith("import six\n"), "what the check stops is taken back"
    assert (modules / "m1.py").read_text() == "import os\n\n\ndef f1():\n    return os\n"
    assert max(len(each) for each in server.systems) < 2_000, "each voter has a tiny context"
    assert git(modules, "status", "--short") == ""
    assert set(git(modules, "show", "--name-only", "--format=", "HEAD").split()) == set(found["changed"])
    assert "worktree" not in git(modules, "worktree", "list").partition("\n")[2]


@pytest.mark.slow
def test_a_kill_loses_no_step_and_no_vote(modules: Path) -> None:
    with VotingServer(vote) as server:
        command = [*PATCHWRIGHT, *arguments(server, "--k", "2", "--yes", "--check", CHECK, "--no-script")]
        process = subprocess.Popen(command, cwd=modules, env=environment(KEY), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 100
        while "import six" in (modules / "m3.py").read_text():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        asked = dict(server.asked)
        code, found = migrate(modules, server, "--k", "2", "--yes", "--check", CHECK, "--no-script")
        assert (code, found["failed"]) == (Exit.DONE, [])
        assert found["changed"] == [f"m{number}.py" for number in range(1, 5)]
        for path in ("m1.py", "m2.py"):
            assert server.asked[path] == asked[path], "what is decided is not asked again"
        assert found["votes"] <= sum(server.asked.values()), "an answer of the moment of the kill may be lost"
        again, nothing = migrate(modules, server, "--k", "2", "--yes", "--check", CHECK, "--no-script")
        assert (again, nothing["changed"]) == (Exit.NOTHING_TO_DO, found["changed"])
        (modules / "m7.py").write_text("import six\n")
        git(modules, "add", "m7.py")
        git(modules, "commit", "-qm", "More")
        code, found = migrate(modules, server, "--k", "2", "--yes", "--check", CHECK, "--no-script")
        assert (code, found["changed"][-1]) == (Exit.DONE, "m7.py"), "a new file is a new step"
    assert git(modules, "show", "--name-only", "--format=", "HEAD").split() == ["m7.py"]
    assert len(git(modules, "show", "--name-only", "--format=", "HEAD~2").split()) == 4
    assert git(modules, "status", "--short") == ""


@pytest.mark.slow
def test_the_estimate_is_shown_and_nothing_begins_without_consent(modules: Path) -> None:
    with VotingServer(vote) as server:
        more = [each for each in arguments(server) if each != "--json"]
        refused = run(*more, cwd=modules, env=KEY)
        assert refused.code == Exit.DENIED
        assert "5 files, 3 sampled: voters agree in" in refused.err
        assert "calls in all" in refused.err
        assert git(modules, "status", "--short") == ""
        sampled = sum(server.asked.values())
        assert sampled == 12
        limited = run(*more, "--yes", "--max-tokens", "6000", "--no-commit", cwd=modules, env=KEY)
        assert limited.code == Exit.LIMIT, limited.err
        assert "Run the same command again to go on" in limited.out
        done = run(*more, "--yes", "--no-commit", cwd=modules, env=KEY)
        assert done.code == Exit.NO_TEST_RUNNER, "nothing checks these files"
        assert "4 changed, 1 unchanged, 0 failed" in done.out
    assert len(git(modules, "status", "--short").splitlines()) == 4


@pytest.mark.slow
def test_a_program_does_what_the_votes_do_where_the_check_accepts_it(modules: Path) -> None:
    needs_confinement(modules)
    program = "```python\ndef transform(text, path):\n    return text.replace('import six\\n', '')\n```"

    def answer(path: str, before: int, prompt: str) -> str:
        return program if not path else vote(path, before, prompt)

    with VotingServer(answer) as server:
        code, found = migrate(modules, server, "--check", CHECK, "--k", "2", "--yes", "--no-commit")
    assert (code, len(found["changed"]), found["failed"]) == (Exit.DONE, 4, [])
    assert found["by_script"] == 2
    assert server.asked[""] == 1
    assert len([path for path in server.asked if path]) == 3, "the others were shown to no voter"


@pytest.mark.slow
def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs/migrate.md").read_text("utf-8")
    git(tmp_path, "init", "-q")
    make, line = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    [votes] = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    [result] = re.findall(r"^```\n(\d.*?\n)```", page, re.MULTILINE)
    subprocess.run(["bash", "-ec", make], cwd=tmp_path, check=True)
    (tmp_path / "votes.yaml").write_text(votes)
    done = run(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.code == Exit.DONE, done.err
    assert done.out.startswith(result)
    assert "6 files, 3 sampled: voters agree in" in done.err
    assert git(tmp_path, "log", "--format=%s").splitlines() == ["Remove the import of six", "Add six parts"]


@pytest.mark.slow
def test_what_it_needs_is_said_in_one_line(modules: Path) -> None:
    bare = run("migrate", INSTRUCTION, "--files", "*.py", cwd=modules)
    assert bare.code == Exit.CONFIGURATION
    assert len(bare.err.strip().splitlines()) == 1
    assert "migrate needs a model to vote: name one with --model" in bare.err
    model = ("--model", "scripted:none.yaml")
    missing = run("migrate", INSTRUCTION, "--files", "*.rs", *model, cwd=modules)
    assert missing.code in (Exit.USAGE, Exit.CONFIGURATION)
