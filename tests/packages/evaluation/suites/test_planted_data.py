"""Data sets with links and paths that lead out of their folders."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from packages.evaluation.suites.ending_checks import build_tests_check, read_tests_judge
from packages.evaluation.suites.patched_files import apply_patch
from packages.evaluation.suites.programs.program_answers import CHECK, ProgramCases
from packages.evaluation.suites.projects.swebench import read_instances
from packages.evaluation.tasks.folder_files import list_folder_files
from sandbox.errors import UserError
from tests.support.evaluation_tasks import build, write_tree


def make_harbor_task(folder: Path, dockerfile: str, about: str = "") -> Path:
    return write_tree(folder, {
        "task.toml": about,
        "instruction.md": "Do it.",
        "environment/Dockerfile": f"FROM x\nWORKDIR /app\n{dockerfile}\n",
        "environment/payload": "payload",
        "tests/test.sh": "true\n",
        "solution/solve.sh": "echo 1 > solved\n",
    })  # fmt: skip


def test_a_harbor_task_neither_writes_nor_reads_through_links(tmp_path: Path) -> None:
    victim = write_tree(tmp_path / "victim", {"rc": "mine"})
    source = tmp_path / "tasks"
    make_harbor_task(source / "write", f"RUN ln -s {victim}/rc rc\nCOPY payload rc")
    make_harbor_task(source / "below", f"RUN ln -s {victim} sub\nCOPY payload sub/rc")
    read = make_harbor_task(source / "read", "COPY conf conf")
    (read / "environment/conf").symlink_to(victim / "rc")
    prompt = make_harbor_task(source / "prompt", "COPY payload payload")
    (prompt / "instruction.md").unlink()
    (prompt / "instruction.md").symlink_to(victim / "rc")
    own = make_harbor_task(source / "own", f"RUN mkdir .harbor && ln -s {victim} .harbor/solution")
    (own / "solution/rc").write_text("planted")
    make_harbor_task(source / "broken-toml", "COPY payload payload", about="[agent]\ntimeout_sec = [1]\n")
    make_harbor_task(source / "broken-dockerfile", 'COPY "payload payload')
    summary, tasks = build("harbor", source, tmp_path / "suite")
    assert (victim / "rc").read_text() == "mine"
    assert [each.name for each in tasks] == ["own"]
    assert summary.missing == {
        "it copies through a link": 3,
        "its instruction.md is no plain file": 1,
        "its task.toml or task.yaml cannot be read": 1,
        "its Dockerfile cannot be read": 1,
    }


@pytest.mark.parametrize("planted", ["copy.py", "json.py", "unittest.py", "answer.py"])
def test_no_planted_module_passes_for_an_answer(planted: str, tmp_path: Path) -> None:
    (tmp_path / planted).write_text("import os\nos._exit(0)\n")
    files = {
        "answer.py": b"def twice(x):\n    return x\n",
        "test_answer.py": b"from answer import *\n\n\ndef test_1():\n    assert twice(2) == 4\n",
        **read_tests_judge(),
    }
    published = build_tests_check("functions", ["test_answer"])
    cases = ProgramCases(
        target="answer.py", entry="twice", inputs=[[2]], expected=[{"value": 4}], margins=[0]
    )
    for path, content in {**files, **cases.build_checker()}.items():
        if path != planted:
            (tmp_path / path).write_bytes(content)
    for check in (CHECK, published):
        done = subprocess.run(check.split(), cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 1, (check, done.stdout)
    (tmp_path / planted).unlink()
    (tmp_path / "answer.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "patchwright_cases.json").write_bytes(cases.build_checker()["patchwright_cases.json"])
    for check in (CHECK, published):
        subprocess.run(check.split(), cwd=tmp_path, capture_output=True, check=True)


def test_a_patch_that_adds_a_link_shows_no_file_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    head = "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n"
    patch = f"{head}+{tmp_path}/key\n\\ No newline at end of file\n"
    with pytest.raises(UserError, match="link that leads outside"):
        apply_patch({}, patch.encode())


def test_links_of_a_data_set_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "key.py").write_text("hush hush")
    exercise = write_tree(tmp_path / "set/python/exercises/practice/one", {
        ".docs/instructions.md": "Answer.",
        ".meta/config.json": json.dumps({"files": {
            "solution": ["one.py"], "test": ["one_test.py"], "example": ["../../../../../key.py", ".meta/link.py"]}}),
        "one.py": "", "one_test.py": "",
    })  # fmt: skip
    (exercise / "notes").symlink_to(tmp_path / "key.py")
    (exercise / ".meta/link.py").symlink_to(tmp_path / "key.py")
    _, (task,) = build("polyglot", tmp_path / "set", tmp_path / "suite")
    assert not task.reference
    held = [each.read() for each in list_folder_files(task.folder)]
    assert b"hush hush" not in b"".join(held)


@pytest.mark.parametrize(
    ("suite", "path"),
    [
        ("humanevalfix", "evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"),
        ("debugbench", "benchmark/python3_condition error.json"),
        ("refactorbench", "scripts/base_mapping.py"),
    ],
)
def test_a_data_file_that_is_a_link_out_of_its_folder_is_none(suite: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")  # reading it as data would fail in another way
    place = tmp_path / "set" / path
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "key")
    with pytest.raises(UserError, match=f"no task of {suite} could be made"):
        build(suite, tmp_path / "set", tmp_path / "suite")


def test_instances_are_not_read_through_a_link_or_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text("[]")
    for name in ("linked", "pipe"):
        (tmp_path / name).mkdir()
    (tmp_path / "linked/test.jsonl").symlink_to(tmp_path / "key.json")
    os.mkfifo(tmp_path / "pipe/test.jsonl")
    for name, reason in (("linked", "leads outside"), ("pipe", "it is a pipe")):
        with pytest.raises(UserError, match=reason):
            read_instances(tmp_path / name)
    assert read_instances(tmp_path / "key.json") == []
