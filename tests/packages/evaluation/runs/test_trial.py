"""One trial: fresh files, a session, a checker that the agent never sees, and a result for every end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import ObservationEvent, SessionStart, UsageRecord
from agent.session.log import read_events
from packages.evaluation.runs.trial import run_trial
from packages.evaluation.runs.trial_result import TrialResult, decode_result
from packages.evaluation.tasks.task_folder import Task
from sandbox.backends import selection
from tests.support.cli import git
from tests.support.evaluation_trials import EDIT, make_order, make_task, write_script

pytestmark = pytest.mark.slow


def run(task: Task, folder: Path, *turns: dict[str, Any], **fields: Any) -> TrialResult:
    model = write_script(folder / "script.json", turns)
    return asyncio.run(run_trial(make_order(task, model, folder, **fields)))


def shell(command: str) -> dict[str, Any]:
    return {"calls": [{"tool": "shell", "arguments": {"command": command}}]}


def test_a_trial_records_its_change_its_costs_and_its_session(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", language="python", tags=["small"])
    spent: list[UsageRecord] = []
    usage = {"input": 100, "cached": 40, "output": 7, "cost": 0.25}
    miss = {"tool": "edit", "arguments": {"path": "add.py", "old": "no such text", "new": "x"}}
    model = write_script(
        tmp_path / "script.json", [{"calls": [miss], "usage": usage}, {"calls": [EDIT]}, {"text": "Done."}]
    )
    order = make_order(task, model, tmp_path, instructions="Be brief.")
    result = asyncio.run(run_trial(order, spent.append))
    assert (result.solved, result.score, result.failure) == (True, 1.0, "")
    assert (result.tool_calls, result.tool_failures, result.steps) == (2, 1, 3)
    assert (result.tokens_in, result.tokens_cached, result.cost) == (100, 40, 0.25)
    assert sum(each.input for each in spent) == 100
    assert result.patch.startswith("diff --git a/add.py b/add.py")
    assert (result.language, result.tags) == ("python", ("small",))
    assert decode_result(result.encode()) == result
    log = read_events(order.folders.sessions / result.session)
    start = next(each for each in log if isinstance(each, SessionStart))
    assert "Be brief." in start.system
    assert not list((order.folders.scratch / "trials").iterdir())
    assert not list((order.folders.home.data / "projects").glob("*"))


def test_the_checker_and_the_reference_are_out_of_the_agents_sight(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add")
    look = f"ls; cat check.py {task.folder}/check/check.py {task.folder}/reference.patch; git log --oneline | wc -l"
    result = run(task, tmp_path, shell(look), {"text": "Nothing found."})
    log = list(read_events(tmp_path / "data/sessions" / result.session))
    seen = next(each.text for each in log if isinstance(each, ObservationEvent))
    assert "assert add" not in seen
    assert "a + b" not in seen
    assert seen.count("No such file") == 3
    assert "\n1" in seen  # the base is the only commit
    assert (result.solved, result.failure, result.outcome) == (False, "no-change", "not-achieved")


@pytest.mark.parametrize(
    ("fields", "failure", "detail"),
    [
        ({"setup": ["echo lacking; exit 3"]}, "set-up", "exit code 3: lacking"),
        ({"check": "echo 'score: 0.5'; exit 1"}, "wrong", "score: 0.5"),
        ({"check": "sleep 30", "limits": {"check_seconds": 0.5}}, "checker-time", "no end after 0.5 s"),
        (
            {"base": {"bundle": "x.bundle", "commit": "0" * 40}, "other_files": {"x.bundle": b"no"}},
            "configuration",
            "",
        ),
    ],
)
def test_each_failure_has_its_class(
    tmp_path: Path, fields: dict[str, Any], failure: str, detail: str
) -> None:
    task = make_task(tmp_path / "suite/add", **fields)
    result = run(task, tmp_path, {"calls": [EDIT]}, {"text": "Done."})
    assert (result.solved, result.failure) == (False, failure)
    assert detail in result.detail
    assert result.score == (0.5 if failure == "wrong" else 0.0)


def test_an_agent_that_takes_too_long_is_stopped_and_still_judged(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", limits={"seconds": 3})
    result = run(task, tmp_path, {"calls": [EDIT]}, {"text": "Done.", "delay": 60})
    assert (result.solved, result.failure, result.outcome) == (True, "", "limit")
    assert result.seconds < 30


def test_what_the_set_up_makes_is_no_part_of_the_change(tmp_path: Path) -> None:
    task = make_task(
        tmp_path / "suite/add", setup=["echo 3 >three", "echo 4 >>three"], check='test "$(wc -l <three)" = 2'
    )
    result = run(task, tmp_path, {"calls": [EDIT]}, {"text": "Done."})
    assert result.solved
    assert "add.py" in result.patch
    assert "three" not in result.patch


def test_a_commit_of_a_bundle_or_repository_is_the_base_without_its_future(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    git(origin, "config", "user.email", "a@b")
    git(origin, "config", "user.name", "a")
    (origin / ".gitignore").write_text("kept.log\n")
    (origin / "kept.log").write_text("tracked although ignored\n")
    (origin / "add.py").write_text("def add(a, b):\n    return a / b\n")
    git(origin, "add", "--force", ".")
    git(origin, "commit", "-qm", "begin")
    base = git(origin, "rev-parse", "HEAD").strip()
    (origin / "add.py").write_text("def add(a, b):\n    return a + b\n")
    git(origin, "commit", "-qam", "secret fix")
    git(origin, "bundle", "create", "-q", str(tmp_path / "x.bundle"), "main")
    inject = FIX_TO_BASE
    for name, source in (
        ("bundle", {"bundle": "../x.bundle"}),
        ("repository", {"repository": str(origin)}),
    ):
        (tmp_path / "suite").mkdir(exist_ok=True)
        (tmp_path / "suite/x.bundle").write_bytes((tmp_path / "x.bundle").read_bytes())
        task = make_task(
            tmp_path / "suite" / name,
            base={**source, "commit": base, "patch": "inject.patch"},
            other_files={"inject.patch": inject},
        )
        look = shell(
            "cat kept.log; git log --all --oneline | wc -l; git cat-file --batch-all-objects --batch-check"
        )
        result = run(task, tmp_path / name, look, {"calls": [EDIT]}, {"text": "Done."})
        assert result.solved, result.detail
        log = list(read_events(tmp_path / name / "data/sessions" / result.session))
        seen = next(each.text for each in log if isinstance(each, ObservationEvent))
        assert "tracked although ignored\n1\n" in seen
        assert seen.count(" commit ") == 1


FIX_TO_BASE = b"""--- a/add.py
+++ b/add.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a / b
+    return a - b
"""


def test_a_refusal_changes_nothing_and_says_why(tmp_path: Path) -> None:
    judge = 'grep -q ambiguous "$PATCHWRIGHT_ANSWER"'
    task = make_task(tmp_path / "suite/add", expect="refuse", check=judge, reference=None, failures={})
    assert run(task, tmp_path / "a", {"text": "The task is ambiguous."}).solved
    silent = run(task, tmp_path / "b", {"text": "No."})
    assert (silent.solved, silent.failure) == (False, "no-change")
    acting = run(task, tmp_path / "c", {"calls": [EDIT]}, {"text": "ambiguous"})
    assert (acting.solved, acting.detail) == (False, "files were changed where a refusal was expected")


def test_a_claim_of_success_is_no_refusal(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", expect="refuse", check="", reference=None, failures={})
    miss = {"tool": "edit", "arguments": {"path": "add.py", "old": "no such text", "new": "x"}}
    claim = {"text": "I fixed it, all tests pass."}
    for name, turns in (("a", [claim]), ("b", [{"calls": [miss]}, claim])):
        false = run(task, tmp_path / name, *turns)
        assert (false.solved, false.outcome) == (False, "not-achieved")
        assert false.detail == "a claim of success where a refusal was expected"
    admit = {"tool": "finish", "arguments": {"summary": "It is ambiguous.", "status": "not achieved"}}
    honest = run(task, tmp_path / "c", {"calls": [admit]})
    assert (honest.solved, honest.outcome) == (True, "not-achieved")


def test_whether_an_agent_gave_up_or_claimed_its_work_is_in_the_class(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add")
    miss = {"tool": "edit", "arguments": {"path": "add.py", "old": "no such text", "new": "x"}}
    admit = {"tool": "finish", "arguments": {"summary": "I cannot.", "status": "not achieved"}}
    claims = [{"text": "Done."}], [{"calls": [miss]}, {"text": "Done."}]
    found = [
        run(task, tmp_path / str(number), *turns).failure
        for number, turns in enumerate(
            [*claims, [{"calls": [admit]}], [{"calls": [miss]}, {"calls": [admit]}]]
        )
    ]
    assert found == ["no-change", "no-change", "gave-up", "gave-up"]


def test_a_change_that_cannot_be_read_is_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> bytes:
        raise OSError("unreadable")

    monkeypatch.setattr("packages.evaluation.runs.trial_place.TrialPlace.build_patch", fail)
    task = make_task(tmp_path / "suite/add", expect="refuse", check="true", reference=None, failures={})
    result = run(task, tmp_path, {"text": "This is ambiguous."})
    assert (result.solved, result.detail) == (False, "files were changed where a refusal was expected")


def test_a_change_that_is_too_large_to_keep_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packages.evaluation.runs.trial.MOST_PATCH", 10)
    result = run(make_task(tmp_path / "suite/add"), tmp_path, {"calls": [EDIT]}, {"text": "Done."})
    assert (result.solved, result.patch, result.detail) == (True, "", "its change of 0 MB is not kept")


def test_a_scripted_user_answers_and_changes_their_mind(tmp_path: Path) -> None:
    task = make_task(
        tmp_path / "suite/add",
        user={"answers": {"sign": "plus"}, "follow_ups": ["Name it total instead."]},
        check='python3 -c "from add import total; assert total(1, 2) == 3"',
    )
    ask = {"tool": "ask_user", "arguments": {"question": "Which sign?"}}
    rename = {"tool": "edit", "arguments": {"path": "add.py", "old": "def add", "new": "def total"}}
    result = run(
        task,
        tmp_path,
        {"calls": [ask]},
        {"expect": ["plus"], "calls": [EDIT]},
        {"text": "Done."},
        {"expect": ["Name it total instead."], "calls": [rename]},
        {"text": "Renamed."},
    )
    assert result.solved, result.detail
    assert result.tool_calls == 3


def test_follow_ups_have_what_earlier_turns_left_of_the_limits(tmp_path: Path) -> None:
    priced = {"usage": {"input": 10, "output": 1, "cost": 0.25}}
    many = {"user": {"follow_ups": ["Again."] * 4}}
    turns = [{"text": "Done.", **priced}] * 5
    for name, limits, cost in (
        ("a", {"cost": 0.5}, 0.5),
        ("b", {"steps": 3}, 0.75),
        ("c", {"tokens": 11}, 0.25),
    ):
        result = run(make_task(tmp_path / name / "add", limits=limits, **many), tmp_path, *turns)
        assert (result.cost, result.outcome, result.failure) == (cost, "limit", "limit")


def test_a_checker_cannot_be_fooled_by_files_that_the_agent_left(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", check="python3 check.py || exit 1", score_file="score.json")
    plant = shell("echo 'raise SystemExit(0)' >check.py; echo '{\"score\": 1}' >score.json; echo 'score: 1'")
    result = run(task, tmp_path, plant, {"text": "Done."})
    assert (result.solved, result.score, result.failure) == (False, 0.0, "wrong")


def test_a_folder_in_the_place_of_a_checkers_file_is_removed(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add")
    result = run(
        task, tmp_path, shell("mkdir check.py; touch check.py/x"), {"calls": [EDIT]}, {"text": "Done."}
    )
    assert (result.solved, result.detail) == (True, "")


def test_what_an_agent_leaves_under_the_score_files_name_costs_nobody_a_file(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keys").write_text("mine")
    task = make_task(tmp_path / "a/add", score_file="out/keys")
    assert run(task, tmp_path, {"calls": [EDIT]}, shell(f"ln -s {outside} out"), {"text": "Done."}).solved
    assert (outside / "keys").read_text() == "mine"
    task = make_task(tmp_path / "b/add", score_file="score.json")
    assert run(task, tmp_path, {"calls": [EDIT]}, shell("mkdir -p score.json/x"), {"text": "Done."}).solved


def test_errors_of_files_end_in_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task(tmp_path / "suite/add")

    def fail(*_: object, **__: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patching:
        patching.setattr("packages.evaluation.runs.trial_place.shutil.copytree", fail)
        before = run(task, tmp_path, {"text": "Done."})
    monkeypatch.setattr("packages.evaluation.runs.trial_place.write_files", fail)
    after = run(task, tmp_path, {"calls": [EDIT], "usage": {"input": 1, "cost": 0.5}}, {"text": "Done."})
    assert (before.failure, before.detail) == ("storage", "no room")
    assert (after.failure, after.cost, after.detail) == ("wrong", 0.5, "the checker cannot run: no room")


def test_commands_of_a_task_do_not_run_unconfined_unless_the_user_wants_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task(tmp_path / "suite/add", setup=["touch made"])
    monkeypatch.setattr(selection, "BACKENDS", ("unconfined",))
    order = make_order(task, write_script(tmp_path / "script.json", [{"text": "x"}]), tmp_path)
    refused = asyncio.run(run_trial(order))
    assert (refused.solved, refused.is_valid) == (False, False)
    assert refused.detail.startswith("no sandbox works here")
    wanted = replace(order.settings, access=replace(order.settings.access, sandbox="unconfined"))
    result = asyncio.run(run_trial(replace(order, settings=wanted)))
    assert (result.failure, result.sandbox) == ("no-change", "unconfined")


def test_a_changed_task_and_a_missing_model_are_no_failures_of_the_agent(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add")
    other = run(task, tmp_path, {"text": "x"}, digest="0" * 64)
    assert (other.failure, other.is_valid) == ("configuration", False)
    lost = asyncio.run(run_trial(make_order(task, f"scripted:{tmp_path}/none.json", tmp_path)))
    assert (lost.failure, lost.is_valid) == ("configuration", False)
    assert "none.json" in lost.detail
