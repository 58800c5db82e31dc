"""SWE-bench and Harbor: tasks of whole projects, and the official harness's reports."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from packages.evaluation.suites.projects.dockerfile import Obstacle, parse_dockerfile
from packages.evaluation.suites.projects.swebench import read_instances
from packages.evaluation.suites.projects.swebench_report import read_report
from sandbox.errors import UserError
from tests.support.evaluation_tasks import build, write_tree
from tests.support.suite_sources import write_harbor, write_swebench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_swebench_tasks_have_the_fixs_tests_in_their_checker_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    written = write_swebench(tmp_path / "data")
    file, clones = written.source, written.options["repositories"]
    summary, tasks = build("swebench", file, tmp_path / "suite", repositories=clones)
    assert summary.written == 5
    task = tasks[2]
    assert task.name == "acme__shop-2"
    assert task.prompt == "f2 is wrong"
    assert [each.path for each in task.list_checker_files()] == ["patchwright_report.py", "test_f2.py"]
    assert "-m pytest -q -p no:cacheprovider test_f2.py::test_it --junitxml=" in task.file.check
    assert task.file.setup[0].startswith("uv venv")
    assert task.reference is not None
    assert b"return 3" in task.reference
    others = json.loads(file.read_text().splitlines()[0]) | {
        "repo": "acme/other",
        "instance_id": "acme__other-1",
    }
    file.write_text(file.read_text() + json.dumps(others) + "\n")
    summary, _ = build("swebench", file, tmp_path / "suite", repositories=clones)
    assert summary.missing == {"there is no clone of acme/other": 1}


def test_swebench_says_what_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "instances.jsonl"
    file.write_text('{"instance_id": "a__b-1", "repo": "a/b"}\n')
    with pytest.raises(
        UserError, match="an instance lacks base_commit, patch, problem_statement, test_patch"
    ):
        read_instances(file)
    with pytest.raises(UserError, match="swebench needs clones"):
        build("swebench", file, tmp_path / "suite")


def test_reports_of_the_official_harness_are_read(tmp_path: Path) -> None:
    run = tmp_path / "model.run.json"
    run.write_text(json.dumps({
        "submitted_ids": ["a", "b", "c", "d", "e"], "completed_ids": ["a", "b"], "resolved_ids": ["a"],
        "unresolved_ids": ["b"], "error_ids": ["c"], "empty_patch_ids": ["d"], "incomplete_ids": ["e"],
        "schema_version": 2,
    }))  # fmt: skip
    assert read_report(run) == {"a": "resolved", "b": "unresolved", "c": "error", "d": "empty", "e": "unrun"}
    write_tree(tmp_path / "logs", {
        "a/report.json": '{"a": {"resolved": true, "patch_exists": true}}',
        "b/report.json": '{"b": {"resolved": false}}',
    })  # fmt: skip
    assert read_report(tmp_path / "logs") == {"a": "resolved", "b": "unresolved"}
    (tmp_path / "else.json").write_text("[1]")
    with pytest.raises(UserError, match="no report of the SWE-bench harness"):
        read_report(tmp_path / "else.json")


@pytest.mark.parametrize(
    "named",
    ["planted.payload", "planted", "Planted.Sub[extra]>=2", "-r planted.txt", "planted.payload@file:///x"],
)
def test_a_dockerfile_imports_nothing_that_it_names(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted").mkdir()
    trace = tmp_path / "trace"
    (tmp_path / "planted" / "__init__.py").write_text(f"open({str(trace)!r}, 'w')\n")
    (tmp_path / "planted" / "payload.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Obstacle, match="is not installed"):
        parse_dockerfile(f"FROM x\nWORKDIR /app\nRUN pip install {named}\n")
    assert not trace.exists()
    assert "planted" not in sys.modules


def test_a_dockerfile_may_name_what_is_installed() -> None:
    parse_dockerfile("FROM x\nWORKDIR /app\nRUN pip install Typer 'pydantic_core[x]>=1' dataclasses\n")


def test_harbor_tasks_run_without_their_container(tmp_path: Path) -> None:
    source = write_harbor(tmp_path / "tasks").source
    summary, tasks = build("harbor", source, tmp_path / "suite")
    assert (summary.written, list(summary.missing)) == (
        5,
        ["it has no Dockerfile: its image has to be pulled"],
    )
    named = {each.name: each for each in tasks}
    assert named["state-1"].prompt == "Append done1 to `./state.txt`."
    assert named["state-1"].file.limits.seconds == 77
    assert (named["state-1"].base_folder / "state.txt").read_text() == "start\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("RUN apt-get install -y no-such-program-here", "no-such-program-here is not installed"),
        ("RUN pip install no-such-package-here", "the Python package no-such-package-here is not installed"),
        ("RUN curl -O https://example.invalid/x", "its Dockerfile downloads files"),
        ("COPY a.conf /etc/a.conf", "its Dockerfile copies files to /etc/a.conf"),
        ("COPY --from=build /x /app/x", "its Dockerfile copies from another image"),
        ("ONBUILD RUN true", "its Dockerfile has ONBUILD"),
    ],
)
def test_a_dockerfile_that_needs_more_is_refused(line: str, reason: str) -> None:
    with pytest.raises(Obstacle, match=reason):
        parse_dockerfile(f"FROM x\nWORKDIR /app\n{line}\n")
