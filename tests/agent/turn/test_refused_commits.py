"""A commit that was due and was not made: the end says so, and a hook's output goes to the model once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.test_faults import needs_namespaces
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

EDIT = {"calls": [call("edit", path="cart.py", old="total = 1", new="total = 2")]}
DONE = {"text": "Set the total to two."}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "total = 1\n")
    repo.write("kept.py", "x = 1\n")
    repo.commit_all("Begin")
    return repo


def work(repo: Repo, turns: list[dict[str, object]], *options: str) -> Result:
    model = script(repo.root.parent, turns)
    return run(
        "run",
        "set the total",
        "--model",
        model,
        "--tests",
        "true",
        "--output",
        "json",
        *options,
        cwd=repo.root,
    )


def trust_hooks(repo: Repo) -> None:
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0


def _remove_identity(repo: Repo) -> None:
    repo.git("config", "user.name", "")


def _lock_index(repo: Repo) -> None:
    repo.write(".git/index.lock", "")


def _begin_merge(repo: Repo) -> None:
    repo.git("switch", "-qc", "other")
    repo.write("kept.py", "x = 2\n")
    repo.commit_all()
    repo.git("switch", "-q", "main")
    repo.write("more.py", "y = 1\n")
    repo.commit_all()
    repo.git("merge", "-q", "--no-commit", "other")


def _begin_bisect(repo: Repo) -> None:
    first = repo.head()
    for number in range(4):
        repo.write("kept.py", f"x = {number + 2}\n")
        repo.commit_all()
    repo.git("bisect", "start", "HEAD", first)


def _sign_by_nobody(repo: Repo) -> None:
    repo.git("config", "--global", "commit.gpgsign", "true")
    repo.git("config", "--global", "gpg.program", "false")


def _sign_by_untrusted(repo: Repo) -> None:
    repo.git("config", "commit.gpgsign", "true")
    repo.git("config", "gpg.program", str(repo.hook("signer", "exit 0")))


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (_remove_identity, "user"),
        (_sign_by_untrusted, "To see and trust it: patchwright trust"),
        (_lock_index, "index.lock"),
        (_begin_merge, "a merge is in progress"),
        (_begin_bisect, "a bisect is in progress"),
        (_sign_by_nobody, "sign"),
    ],
)
def test_a_commit_that_fails_makes_the_end_not_achieved(
    repo: Repo, prepare: Callable[[Repo], None], reason: str
) -> None:
    prepare(repo)
    head = repo.head()
    result = work(repo, [EDIT, DONE])
    end = json.loads(result.out)
    assert (result.code, end["outcome"], end["commit"]) == (13, "not-achieved", ""), result.err
    assert reason in end["not_committed"]
    assert end["summary"].endswith(end["not_committed"])
    assert repo.head() == head
    assert repo.read("cart.py") == "total = 2\n"


def test_the_last_line_says_that_nothing_was_committed(repo: Repo) -> None:
    _begin_bisect(repo)
    result = run(
        "run", "set it", "--model", script(repo.root.parent, [EDIT, DONE]), "--tests", "true", cwd=repo.root
    )
    assert "not achieved: the commit failed" in result.err.strip().splitlines()[-1]
    assert "Not committed: " in result.out


def test_a_commit_that_the_model_tried_counts_where_none_is_due(repo: Repo, isolated: Path) -> None:
    _begin_merge(repo)
    tried = {"calls": [call("git_commit", message="Set the total")]}
    assert work(repo, [EDIT, tried, DONE], "--no-commit").code == 0  # the tool is not offered
    repo.write("cart.py", "total = 1\n")
    settings = isolated / "patchwright/config/settings.toml"
    settings.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    settings.write_text('commit = "never"\n')
    result = work(repo, [EDIT, tried, DONE])
    assert (result.code, json.loads(result.out)["outcome"]) == (13, "not-achieved")


def test_without_a_commit_due_an_unfinished_merge_is_no_failure(repo: Repo) -> None:
    _begin_merge(repo)
    assert work(repo, [EDIT, DONE], "--no-commit").code == 0


def test_the_model_gets_the_output_of_a_hook_once_and_may_fix_it(repo: Repo) -> None:
    repo.hook("pre-commit", "git diff --cached | grep -q twice && exit 0; echo 'say twice, not 2'; exit 1")
    trust_hooks(repo)
    fix = {
        "calls": [call("edit", path="cart.py", old="total = 2", new="total = 2  # twice")],
        "expect": ["say twice"],
    }
    result = work(repo, [EDIT, DONE, fix, DONE])
    assert result.code == 0, result.err
    assert repo.show("cart.py") == "total = 2  # twice\n"


@pytest.mark.parametrize("last", [[DONE], []])
def test_a_hook_that_refuses_again_ends_the_turn(repo: Repo, last: list[dict[str, object]]) -> None:
    """Also where the model cannot be asked again."""
    repo.hook("pre-commit", "echo never; exit 1")
    trust_hooks(repo)
    result = work(repo, [EDIT, DONE, *last])
    end = json.loads(result.out)
    assert (result.code, end["outcome"]) == (13, "not-achieved"), result.err
    assert "never" in end["not_committed"]


def test_a_formatter_that_changes_files_of_the_commit_is_followed(repo: Repo) -> None:
    """As pre-commit and prek do: the hook changes the file, and refuses until there is nothing to change."""
    repo.hook(
        "pre-commit",
        "names=$(git diff --cached --name-only); grep -q '; # ok' $names && exit 0;"
        " sed -i 's/$/; # ok/' $names; echo files were modified; exit 1",
    )
    trust_hooks(repo)
    result = work(repo, [EDIT, DONE])
    assert (result.code, repo.show("cart.py")) == (0, "total = 2; # ok\n"), result.err
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("change", "code", "is_committed"),
    [
        ("sed -i 's/total = 2/total = 3/' $F; git add $F", 1, True),
        ("sed -i 's/total = 2/total = 3/' $F; git diff --quiet || exit 1", 1, True),
        ("rm $F; git add $F", 1, True),
        ("sed -i 's/total = 2/total = 1/' $F; git add $F", 13, False),
        ("echo '# formatted' >> $F; git add $F", 0, True),
    ],
)
def test_the_tests_judge_what_a_hook_made_of_the_files(
    repo: Repo, change: str, code: int, is_committed: bool
) -> None:
    repo.hook("pre-commit", f"F=$(git diff --cached --name-only)\n{change}")
    trust_hooks(repo)
    done = work(
        repo, [EDIT, DONE, {"text": "I can do no more.", "repeat": 3}], "--tests", "grep -q '= 2' cart.py"
    )
    assert done.code == code, done.out + done.err
    assert (len(repo.git("log", "--oneline").splitlines()) == 2) is is_committed


def test_a_formatter_that_changes_the_users_files_is_not_followed(repo: Repo) -> None:
    repo.hook(
        "pre-commit", "echo '# seen' >> $(git ls-files -m | tail -n 1); echo files were modified; exit 1"
    )
    trust_hooks(repo)
    repo.write("kept.py", "x = 2\n")
    result = work(repo, [EDIT, DONE, DONE])
    assert result.code == 13
    assert repo.git("log", "--format=%s") == "Begin\n"


@pytest.mark.parametrize("hook", ["pre-commit", "prepare-commit-msg", "commit-msg"])
def test_in_a_hook_of_the_users_commit_nothing_is_committed_under_it(repo: Repo, hook: str) -> None:
    model = script(repo.root.parent, [EDIT, {"calls": [call("git_commit", message="Set it")]}, DONE])
    auto = script(repo.root.parent, [EDIT, DONE], "auto.json")
    repo.write("kept.py", "x = 2\n")
    for name in (model, auto):
        command = f"python -m patchwright run 'set it' --model {name} --tests true >&2 </dev/null"
        repo.hook(hook, f"unset GIT_DIR; {command}; echo $? > .git/code")
        repo.write("cart.py", "total = 1\n")
        repo.write("kept.py", f"x = {name!r}\n")
        head = repo.head()
        done = run_git_commit(repo)
        assert done == 0
        assert repo.git("rev-parse", "HEAD~1").strip() == head
        assert repo.committed() == ["kept.py"]
        assert repo.read("cart.py") == "total = 2\n"
        assert repo.read(".git/code") == ("0\n" if name == auto else "13\n")


def run_git_commit(repo: Repo) -> int:
    import subprocess
    import sys

    from tests.support.cli import environment

    variables = environment()
    variables["PATH"] = f"{Path(sys.executable).parent}:{variables['PATH']}"
    repo.git("add", "kept.py")
    who = ("-c", "user.name=u", "-c", "user.email=u@example.org")
    command = ("git", *who, "commit", "-qm", "mine", "--", "kept.py")
    return subprocess.run(command, cwd=repo.root, env=variables, check=False).returncode


@needs_namespaces
@pytest.mark.parametrize("pages", [0, 1, 3])
def test_a_disk_that_fills_at_the_commit_has_its_own_code(tmp_path: Path, pages: int) -> None:
    small = tmp_path / "small"
    small.mkdir()
    prepare = (
        f"mount -t tmpfs -o size=2m none {small} && cd {small} && git init -q shop && cd shop && "
        "git config user.name u && git config user.email u@example.org && "
        "echo 'total = 1' > cart.py && echo fill > .gitignore && git add -A && git commit -qm Begin && "
        '"$@"; code=$?; rm -f fill; git log --format=%s; git status --porcelain; ls .git; exit $code'
    )
    tests = f"cat /dev/zero > fill; truncate -s -{pages * 4096} fill; true"
    words = (
        "run",
        "set it",
        "--model",
        script(tmp_path, [EDIT, DONE]),
        "--tests",
        tests,
        "-C",
        f"{small}/shop",
    )
    result = run(*words, cwd=tmp_path, wrap=["unshare", "-rm", "sh", "-c", prepare, "sh"])
    assert result.code == 11, result.err
    assert "Begin\n M cart.py\n" in result.out
    assert "index.lock" not in result.out
