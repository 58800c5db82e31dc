"""Task folders: read with one-line errors, hashed, and written back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from packages.evaluation.mining.compose_tasks import compose_tasks
from packages.evaluation.mining.vary_tasks import vary_tasks
from packages.evaluation.tasks.suite_folder import load_suite, select_tasks
from packages.evaluation.tasks.task_file import SuiteFile, TaskFile
from packages.evaluation.tasks.task_folder import load_task
from packages.evaluation.tasks.task_writer import TaskDraft, write_suite_file, write_task
from sandbox.errors import UserError

MINIMAL = 'prompt = "Fix add."\ncheck = "python3 check.py"\n[base]\nfolder = "repo"\n'


def make_task(folder: Path, text: str = MINIMAL) -> Path:
    (folder / "repo").mkdir(parents=True)
    (folder / "repo/add.py").write_text("def add(a, b): return a - b\n")
    (folder / "task.toml").write_text(text)
    return folder


def test_a_task_has_its_patches_checker_files_and_limits(tmp_path: Path) -> None:
    folder = make_task(tmp_path / "add")
    text = MINIMAL.replace("[base]", 'setup = ["true"]\ntags = ["small"]\n[limits]\nseconds = 30\n[base]')
    (folder / "task.toml").write_text(text)
    (folder / "check/tests").mkdir(parents=True)
    (folder / "check/tests/check.py").write_text("print(1)\n")
    (folder / "reference.patch").write_bytes(b"diff")
    (folder / "failures").mkdir()
    (folder / "failures/empty.patch").write_bytes(b"")
    task = load_task(folder)
    assert (task.name, task.prompt, task.reference) == ("add", "Fix add.", b"diff")
    assert dict(task.failures) == {"empty.patch": b""}
    assert [each.path for each in task.list_checker_files()] == ["tests/check.py"]
    assert (task.file.limits.seconds, task.file.limits.total_seconds) == (30.0, 450.0)
    assert task.file.setup == ("true",)


def test_the_digest_follows_every_byte_name_and_mode(tmp_path: Path) -> None:
    folder = make_task(tmp_path / "add")
    seen = [load_task(folder).digest, load_task(folder).digest]
    (folder / "repo/add.py").chmod(0o755)
    seen.append(load_task(folder).digest)
    (folder / "repo/add.py").write_text("def add(a, b): return a * b\n")
    seen.append(load_task(folder).digest)
    (folder / "repo/add.py").rename(folder / "repo/sum.py")
    seen.append(load_task(folder).digest)
    assert seen[0] == seen[1]
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt = ", "no TOML: Invalid value"),
        (MINIMAL + 'ref = "x"\n', "base.ref: unknown field"),
        (MINIMAL.replace("prompt", "promt"), "promt: unknown field"),
        (MINIMAL + 'bundle = "x.bundle"\n', "base: exactly one of folder, bundle and repository is needed"),
        (MINIMAL.replace('"repo"', '"../repo"'), "base.folder: '../repo' is no path inside the folder"),
        (MINIMAL.replace('"repo"', '"other"'), "base.folder: there is no folder 'other'"),
        (MINIMAL.replace('folder = "repo"', 'repository = "."'), "base: repository needs commit"),
        (MINIMAL + 'commit = "main"\n', "base.commit: String should match pattern"),
        (MINIMAL.replace('"python3 check.py"', "3"), "check: Input should be a valid string (got 3)"),
        (MINIMAL.replace('check = "python3 check.py"', ""), "check is needed"),
        (MINIMAL.replace("Fix add.", ""), "prompt: no prompt, and no prompt.md"),
        (MINIMAL + "[limits]\nseconds = 0\n", "limits.seconds: Input should be greater than 0"),
        (MINIMAL + "[user]\nfollow_ups = [3]\n", "user.follow_ups.0: Input should be a valid string"),
    ],
)
def test_an_error_is_one_line_with_the_path_and_the_field(tmp_path: Path, text: str, message: str) -> None:
    folder = make_task(tmp_path / "add", text)
    with pytest.raises(UserError) as caught:
        load_task(folder)
    assert caught.value.message.startswith(f"{folder.resolve()}/task.toml: ")
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_files_of_strangers_neither_block_nor_lead_outside(tmp_path: Path) -> None:
    folder = make_task(tmp_path / "add")
    os.mkfifo(folder / "reference.patch")
    with pytest.raises(UserError, match="neither a file"):
        load_task(folder)
    (folder / "reference.patch").unlink()
    (folder / "reference.patch").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match="leads outside"):
        load_task(folder)


def test_a_suite_is_filtered_by_tag_language_and_name(tmp_path: Path) -> None:
    for name, more in (("add", 'tags = ["small"]\n'), ("sub", 'language = "go"\n'), ("mul", "")):
        make_task(tmp_path / name, more + MINIMAL)
    write_suite_file(tmp_path, SuiteFile(name="arithmetic", licence="MIT"))
    (tmp_path / "shared").mkdir()
    suite = load_suite(tmp_path)
    assert (suite.name, [each.name for each in suite.tasks]) == ("arithmetic", ["add", "mul", "sub"])
    assert [each.name for each in select_tasks(suite.tasks, ["small"])] == ["add"]
    assert [each.name for each in select_tasks(suite.tasks, ["!go"], limit=1)] == ["add"]
    assert [each.name for each in select_tasks(suite.tasks, ["?u*"])] == ["mul", "sub"]
    with pytest.raises(UserError, match="no task fits 'rust'"):
        select_tasks(suite.tasks, ["rust"])
    with pytest.raises(UserError, match="no tasks in"):
        load_suite(tmp_path / "shared")


def test_a_written_task_is_read_back_and_a_wrong_one_leaves_no_folder(tmp_path: Path) -> None:
    file = TaskFile.model_validate(
        {
            "base": {"folder": "repo"},
            "check": 'python3 -c "import add"',
            "tags": ["a", "b"],
            "limits": {"seconds": 5, "cost": 0.5},
            "user": {"answers": {"*": "yes"}, "follow_ups": ["now in caps"]},
        }
    )
    draft = TaskDraft(
        file=file,
        prompt='Say "hello"\nto all.',
        reference=b"--- a\n",
        failures={"wrong.patch": b"--- b\n"},
        checker_files={"t/check.py": b"pass\n"},
        base_files={"src/add.py": b"x = 1\n"},
    )
    task = write_task(tmp_path / "new", draft)
    assert task.file == file
    assert task.prompt == 'Say "hello"\nto all.'
    assert (task.folder / "repo/src/add.py").read_bytes() == b"x = 1\n"
    with pytest.raises(UserError, match="exists already"):
        write_task(tmp_path / "new", draft)
    lacking = TaskDraft(file=file, prompt="", base_files={"a": b""})
    with pytest.raises(UserError, match="the prompt is empty"):
        write_task(tmp_path / "lacking", lacking)
    assert not (tmp_path / "lacking").exists()


def test_tasks_are_not_written_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    for place in (tmp_path / "out", tmp_path / "out/below"):
        with pytest.raises(UserError, match="is no folder"):
            write_suite_file(place, SuiteFile(name="a"))
        with pytest.raises(UserError, match="is no folder"):
            compose_tasks([], place, length=2, limit=1, seed=0)
        with pytest.raises(UserError, match="is no folder"):
            vary_tasks([], place, "reworded", level=1, seed=0, limit=None)
