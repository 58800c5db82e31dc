"""`verify.spec_check` in one-shot runs: a notice and a field before the work, and no outcome changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT, call, run, script
from tests.support.repo import Repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PAGE = (CHECKOUT / "docs/requirements.md").read_text("utf-8").partition("## The task itself\n")[2]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """The project of the page."""
    repo = Repo(tmp_path / "maths")
    for name, text in re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        repo.write(name, text)
    repo.commit_all()
    return repo


def test_the_example_of_the_page_runs(repo: Repo) -> None:
    [prompt] = re.findall(r'^patchwright run "(.*)"$', PAGE, re.MULTILINE)
    [shown] = re.findall(r"^```\n(! task: .*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    edit = call("edit", path="maths.py", old="x * 2", new="x * 2 + 1")
    model = script(repo.root.parent, [{"calls": [edit]}, {"text": "Done."}])
    words = ("run", prompt, "--model", model, "--tests", "true")
    done = run(*words, cwd=repo.root, env={"PATCHWRIGHT_VERIFY__SPEC_CHECK": "code", "COLUMNS": "100"})
    assert done.code == 0, done.err
    assert done.err.startswith(shown), done.err
    assert "== 4" in repo.read("test_maths.py")  # proposed, not applied


def test_json_has_the_findings_and_those_of_a_child_are_opinions(repo: Repo) -> None:
    (repo.root.parent / "judge").mkdir()
    said = [
        {"kind": "loophole", "text": "A table of\nresults would do.", "place": "test_maths.py:5"},
        {"kind": 3, "text": ["x"]},
    ]
    judge = script(
        repo.root.parent / "judge",
        [
            {"calls": [call("read", path="test_maths.py")], "expect": [{"regex": "asserts 4 for double"}]},
            {"text": json.dumps(said)},
        ],
    )
    model = script(repo.root.parent, [{"text": "Nothing to do."}])
    env = {"PATCHWRIGHT_VERIFY__SPEC_CHECK": "model", "PATCHWRIGHT_MODELS__JUDGE": judge}
    words = ("run", "double(2) must return 5", "--model", model, "-o", "json")
    done = json.loads(run(*words, cwd=repo.root, env=env).out)
    assert done["exit_code"] == 0
    first, second = done["spec_check"]
    assert (first["kind"], first["evidence"]) == ("contradiction", "static")
    assert "+    assert double(2) == 5" in first["diff"]
    assert second == {
        "kind": "loophole",
        "text": "A table of results would do.",
        "places": ["test_maths.py:5"],
        "evidence": "opinion",
        "diff": "",
    }


def test_a_sound_task_says_nothing(repo: Repo) -> None:
    model = script(repo.root.parent, [{"text": "Nothing to do."}])
    words = ("run", "double(2) must return 4", "--model", model, "-o", "json")
    done = json.loads(run(*words, cwd=repo.root, env={"PATCHWRIGHT_VERIFY__SPEC_CHECK": "code"}).out)
    assert "spec_check" not in done
