"""Chains and variants of tasks: the checker refuses the half-done and takes the whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packages.evaluation.mining.compose_tasks import compose_tasks
from packages.evaluation.mining.mask_functions import mask_functions
from packages.evaluation.mining.reword_prompt import reword_prompt
from packages.evaluation.mining.vary_tasks import vary_tasks
from packages.evaluation.suites.built_task import build_program_task
from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.suites.patched_files import apply_patch, move_patch, split_patch
from packages.evaluation.tasks.suite_folder import load_suite
from packages.evaluation.tasks.task_file import BaseFiles, TaskFile
from packages.evaluation.tasks.task_folder import Task
from packages.evaluation.tasks.task_writer import TaskDraft, write_task
from sandbox.errors import UserError
from tests.support.evaluation_tasks import Checkers, open_checkers, write_tree

# Each runs a few checkers in a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHOP = {
    "cart.py": 'def total(prices):\n    """Sum of the prices."""\n    start = 0\n    return sum(prices, start)\n',
    "tax.py": "def tax(price):\n    rate = 20\n    return price * rate / 100\n",
}
FAULTS = {"cart": ("start = 0", "start = 1"), "tax": ("/ 100", "/ 10")}
CHECKS = {
    "cart": "import cart\nassert cart.total([1, 2]) == 3\n",
    "tax": "import tax\nassert tax.tax(10) == 2\n",
}


@pytest.fixture(name="checkers", scope="module")
def _checkers() -> object:
    with open_checkers() as checkers:
        yield checkers


def make_commit(folder: Path) -> tuple[Path, str]:
    write_tree(folder, SHOP)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True
        )
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return folder, head.stdout.strip()


def write_faults_of_a_commit(tmp_path: Path) -> tuple[Task, ...]:
    """Write two tasks at one commit, each with a fault of its own file."""
    repository, commit = make_commit(tmp_path / "shop")
    for name, (right, wrong) in FAULTS.items():
        before = {f"{name}.py": SHOP[f"{name}.py"].encode()}
        after = {f"{name}.py": SHOP[f"{name}.py"].replace(right, wrong).encode()}
        file = TaskFile(
            base=BaseFiles(repository=str(repository), commit=commit, patch="base.patch"),
            check=f"python3 -B check_{name}.py",
            language="python",
        )
        draft = TaskDraft(
            file=file,
            prompt=f"The tests of `{name}.py` fail. Find the fault and mend it.",
            reference=render_patch(after, before),
            checker_files={f"check_{name}.py": CHECKS[name].encode()},
            other_files={"base.patch": render_patch(before, after)},
        )
        write_task(tmp_path / "suite" / name, draft)
    return load_suite(tmp_path / "suite").tasks


def write_small_projects(tmp_path: Path) -> tuple[Task, ...]:
    """Write two tasks whose bases are folders."""
    for name, (right, wrong) in FAULTS.items():
        path = f"{name}.py"
        built = build_program_task(
            name,
            prompt=f"The tests of `{path}` fail. Find the fault and mend it.",
            files={path: SHOP[path].replace(right, wrong).encode()},
            check="python3 -B check.py",
            checker_files={"check.py": CHECKS[name].encode()},
            solution={path: SHOP[path].encode()},
            language="python",
            tags=["small"],
            seconds=60,
        )
        write_task(tmp_path / "suite" / name, built.draft)
    return load_suite(tmp_path / "suite").tasks


def assert_only_the_whole_is_right(checkers: Checkers, task: Task, *, nothing: str = "score: 0") -> None:
    untouched = checkers.run(task)
    assert untouched.code == 1
    assert nothing in untouched.output
    for patch in task.failures.values():
        assert checkers.run(task, patch).code == 1
    assert task.reference is not None
    whole = checkers.run(task, task.reference)
    assert whole.code == 0, whole.output


@pytest.mark.parametrize("make", [write_faults_of_a_commit, write_small_projects])
def test_a_chain_wants_every_part(make: object, tmp_path: Path, checkers: Checkers) -> None:
    tasks = make(tmp_path)  # type: ignore[operator]
    written, kept = compose_tasks(tasks, tmp_path / "chains", length=2, limit=5)
    assert (len(written), kept) == (1, 0)
    (chain,) = load_suite(tmp_path / "chains").tasks
    assert sorted(chain.failures) == ["only-part-1.patch", "only-part-2.patch"]
    assert "score: 0.5" in checkers.run(chain, chain.failures["only-part-1.patch"]).output
    assert_only_the_whole_is_right(checkers, chain)
    assert compose_tasks(tasks, tmp_path / "chains", length=2, limit=5) == ([], 1)
    with pytest.raises(UserError, match="no 3 of 2 tasks fit together"):
        compose_tasks(tasks, tmp_path / "longer", length=3, limit=5)


@pytest.mark.parametrize("make", [write_faults_of_a_commit, write_small_projects])
def test_a_masked_function_is_to_be_written_anew(make: object, tmp_path: Path, checkers: Checkers) -> None:
    tasks = make(tmp_path)  # type: ignore[operator]
    written, _, unfit = vary_tasks(tasks, tmp_path / "masked", "masked")
    assert (len(written), unfit) == (2, 0)
    for old, task in zip(tasks, load_suite(tmp_path / "masked").tasks, strict=True):
        assert "have to be written: `" in task.prompt
        assert checkers.run(task).code == 1
        assert b"NotImplementedError" in (task.reference or b"")
        assert checkers.run(task, task.reference or b"").code == 0
        assert old.reference != task.reference


def test_users_change_their_mind_and_withhold(tmp_path: Path) -> None:
    tasks = write_small_projects(tmp_path)
    vary_tasks(tasks, tmp_path / "mind", "changed-mind")
    changed = load_suite(tmp_path / "mind").tasks[0]
    assert "change no files yet" in changed.prompt
    assert "changed my mind" in changed.file.user.follow_ups[0]
    vary_tasks(tasks, tmp_path / "withheld", "withheld", limit=1)
    (withheld,) = load_suite(tmp_path / "withheld").tasks
    assert "mend it" not in withheld.prompt
    assert withheld.file.user.answers == {"*": "Find the fault and mend it."}
    with pytest.raises(UserError, match="no kind of variants 'sung'"):
        vary_tasks(tasks, tmp_path / "sung", "sung")


def test_other_words_keep_names_and_code(tmp_path: Path) -> None:
    prompt = (
        'Fix the bug in `fix.py`: "bug" has to stay.\n\n    fix(bug)\n\nThe tests in tests/bug_test.py fail.'
    )
    texts = {reword_prompt(prompt, seed) for seed in range(8)}
    assert len(texts) > 3
    for text in texts:
        assert all(each in text for each in ("`fix.py`", '"bug"', "    fix(bug)", "tests/bug_test.py"))
        assert "Fix the bug" not in text
    assert reword_prompt(prompt, 3) == reword_prompt(prompt, 3)


def test_bodies_are_emptied_and_docstrings_stay() -> None:
    text = SHOP["cart.py"] + "\n\nclass A:\n    def f(self):\n        x = 1\n        return x\n"
    masked, names = mask_functions(text, 1, lines=[10])
    assert names == ["f"]
    assert masked == text.replace(
        "        x = 1\n        return x\n", '        raise NotImplementedError("to be written")\n'
    )
    masked, names = mask_functions(text, 5)
    assert names == ["f", "total"]
    assert '"""Sum of the prices."""\n    raise NotImplementedError' in masked


def test_patches_apply_move_and_come_apart() -> None:
    before = {"a b.txt": b"one\ntwo", "gone.txt": b"x\n", "same.txt": b"s\n"}
    after = {"a b.txt": b"one\n2\n", "new/n.txt": b"\x0cfeed\r\nmore", "same.txt": b"s\n"}
    patch = render_patch(before, after)
    assert sorted(split_patch(patch)) == ["a b.txt", "gone.txt", "new/n.txt"]
    assert apply_patch(before, patch) == {"a b.txt": b"one\n2\n", "new/n.txt": b"\x0cfeed\r\nmore"}
    moved = apply_patch({f"in/{path}": text for path, text in before.items()}, move_patch(patch, "in"))
    assert moved == {"in/a b.txt": b"one\n2\n", "in/new/n.txt": b"\x0cfeed\r\nmore"}
    with pytest.raises(UserError, match="does not apply"):
        apply_patch({}, patch)
    by_hand = b"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-c\n+d\n"
    assert list(split_patch(by_hand)) == ["x.py", "y.py"]
    contents = {"in/x.py": b"a\n", "in/y.py": b"c\n"}
    assert apply_patch(contents, move_patch(by_hand, "in")) == {"in/x.py": b"b\n", "in/y.py": b"d\n"}
