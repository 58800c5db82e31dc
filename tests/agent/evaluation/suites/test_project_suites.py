"""SWE-bench and Harbor: tasks of whole projects, and the official harness's reports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agent.evaluation.suites.projects.dockerfile import Obstacle, parse_dockerfile
from agent.evaluation.suites.projects.swebench import read_instances
from agent.evaluation.suites.projects.swebench_report import read_report
from sandbox.errors import UserError
from tests.support.evaluation_tasks import build, open_checkers, write_tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def make_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return a file of five instances and the folder with their project's clone; uv is on the PATH."""
    clone = write_tree(
        tmp_path / "clones/shop", {"shop.py": "".join(f"def f{n}():\n    return 0\n\n\n" for n in range(5))}
    )
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "Begin")
    base = git(clone, "rev-parse", "HEAD")
    rows = []
    for number in range(5):
        (clone / "shop.py").write_text((clone / "shop.py").read_text().replace(
            f"def f{number}():\n    return 0", f"def f{number}():\n    return {number + 1}"))  # fmt: skip
        patch = git(clone, "diff") + "\n"
        test = f"from shop import f{number}\n\n\ndef test_it():\n    assert f{number}() == {number + 1}\n"
        (clone / f"test_f{number}.py").write_text(test)
        git(clone, "add", "-N", f"test_f{number}.py")
        test_patch = git(clone, "diff", "--", f"test_f{number}.py") + "\n"
        git(clone, "reset", "-q", "--hard")
        (clone / f"test_f{number}.py").unlink(missing_ok=True)
        rows.append({
            "instance_id": f"acme__shop-{number}", "repo": "acme/shop", "base_commit": base,
            "problem_statement": f"f{number} is wrong", "patch": patch, "test_patch": test_patch,
            "FAIL_TO_PASS": json.dumps([f"test_f{number}.py::test_it"]), "PASS_TO_PASS": "[]",
        })  # fmt: skip
    file = tmp_path / "instances.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "uv").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{programs}:{__import__('os').environ['PATH']}")
    return file, clone.parent


def test_swebench_tasks_have_the_fixs_tests_in_their_checker_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, clones = make_instances(tmp_path, monkeypatch)
    summary, tasks = build("swebench", file, tmp_path / "suite", repositories=clones)
    assert summary.written == 5
    task = tasks[2]
    assert task.name == "acme__shop-2"
    assert task.prompt == "f2 is wrong"
    assert [each.path for each in task.list_checker_files()] == ["test_f2.py"]
    assert task.file.check.endswith("-m pytest -q -p no:cacheprovider test_f2.py::test_it")
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


DOCKERFILE = """\
FROM python:3.12-slim
# a comment
RUN apt-get update && apt-get install -y --no-install-recommends \\
    git && rm -rf /var/lib/apt/lists/*
ENV A=1
WORKDIR /app
COPY . /app
RUN echo start > /app/state.txt
"""
VERIFY = "#!/bin/bash\nif grep -q done{n} /app/state.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


def test_harbor_tasks_run_without_their_container(tmp_path: Path) -> None:
    source = tmp_path / "tasks"
    for number in range(4):
        write_tree(source / f"state-{number}", {
            "task.toml": '[metadata]\ntags = ["files"]\n[agent]\ntimeout_sec = 77.0\n',
            "instruction.md": f"Append done{number} to `/app/state.txt`.",
            "environment/Dockerfile": DOCKERFILE,
            "environment/notes.txt": "see /app/state.txt",
            "tests/test.sh": VERIFY.replace("{n}", str(number)),
            "solution/solve.sh": f"echo done{number} >> /app/state.txt\n",
        })  # fmt: skip
    write_tree(source / "old-style", {
        "task.yaml": "instruction: |-\n  Write 5 into /app/five.txt\ntags: [files]\n",
        "Dockerfile": "FROM ubuntu\nWORKDIR /app\n",
        "solution.sh": "echo 5 > five.txt\n",
        "run-tests.sh": "curl https://example.invalid\n",
        "tests/test_outputs.py": "from pathlib import Path\n\n\ndef test_five():\n"
        "    assert Path('/app/five.txt').read_text() == '5\\n'\n",
    })  # fmt: skip
    write_tree(source / "image-only", {"task.toml": "", "instruction.md": "Do it.", "tests/test.sh": "true"})
    summary, tasks = build("harbor", source, tmp_path / "suite")
    assert (summary.written, list(summary.missing)) == (
        5,
        ["it has no Dockerfile: its image has to be pulled"],
    )
    named = {each.name: each for each in tasks}
    assert named["state-1"].prompt == "Append done1 to `./state.txt`."
    assert named["state-1"].file.limits.seconds == 77
    assert (named["state-1"].base_folder / "state.txt").read_text() == "start\n"
    with open_checkers() as checkers:
        for task in tasks:
            assert checkers.run(task).code != 0, task.name
            assert task.reference is not None, task.name
            solved = checkers.run(task, task.reference)
            assert solved.code == 0, (task.name, solved.output)


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
