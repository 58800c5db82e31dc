"""Git commands that write git's data: done once they are allowed, undone by undo, and not asked for in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.policy.shell import judge_command_line
from sandbox.policy.shell.git_lines import explain_hopeless_line, read_git_line
from tests.support.cli import Result, call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.txt", "one\n")
    made.write("b.txt", "one\n")
    made.commit_all("start")
    made.git("branch", "side")
    needs_confinement(made.root)
    return made


def run_lines(repo: Repo, *lines: str, mode: str = "full") -> Result:
    turns = [{"calls": [call("shell", command=line)]} for line in lines]
    model = script(repo.root.parent, [*turns, {"text": "There you are."}])
    return run(
        "run",
        "show me",
        "--model",
        model,
        "--mode",
        mode,
        "--output",
        "stream-json",
        "--no-commit",
        cwd=repo.root,
    )


def list_texts(result: Result) -> list[str]:
    return [each["text"] for each in result.events if each["kind"] == "observation"]


def read_all(repo: Repo) -> dict[str, object]:
    """HEAD, references, stash, index and files."""
    return {
        "head": (repo.root / ".git/HEAD").read_text(),
        "refs": repo.git("for-each-ref", "--format=%(refname) %(objectname)"),
        "stash": repo.git("stash", "list", "--format=%H %gs"),
        "index": repo.git("ls-files", "-s"),
        "staged": repo.git("diff", "--cached"),
        "files": {path.name: path.read_text() for path in sorted(repo.root.glob("*.txt"))},
    }


SIDE = "git switch side"

COVERED = {
    "a new branch": ("git checkout -b topic",),
    "a switch": (SIDE,),
    "a tag": ("git tag -m 'a release' v1 && git tag v2",),
    "a stash": ("git stash",),
    "a stash that is taken back": ("git stash", "git stash pop"),
    "a dropped stash": ("git stash drop",),
    "an add": ("git add -A",),
    "an add of a part and a restore": ("git add b.txt && git restore --staged b.txt && git add b.txt",),
    "a merge": ("git stash", "git merge --no-edit other"),
    "a merge with a conflict": ("git stash", "git merge --no-edit clash"),
    "a cherry-pick": ("git cherry-pick other",),
    "a revert": ("git stash", "git revert --no-edit HEAD"),
    "a rebase": ("git stash", "git rebase other"),
    "a hard reset": ("git reset --hard HEAD~1",),
    "a deleted branch": ("git branch -D side",),
    "a removal": ("git rm --cached a.txt", "git mv b.txt c.txt"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERED)
def test_undo_puts_back_what_a_git_command_changed(repo: Repo, name: str) -> None:
    repo.git("switch", "-q", "-c", "other", "main")
    repo.write("new.txt", "new\n")
    repo.commit_all("other")
    repo.git("switch", "-q", "-c", "clash", "main")
    repo.write("a.txt", "clash\n")
    repo.commit_all("clash")
    repo.git("switch", "-q", "main")
    repo.write("a.txt", "two\n")
    repo.commit_all("second")
    repo.write("b.txt", "stashed\n")
    repo.git("stash")
    repo.write("b.txt", "mine\n")
    repo.write("draft.txt", "mine\n")
    before = read_all(repo)
    run_lines(repo, *COVERED[name])
    if name != "a stash that is taken back":
        assert read_all(repo) != before, "it was done"
    undone = run("undo", cwd=repo.root)
    assert (undone.code, undone.err) == (0, ""), undone.out
    assert read_all(repo) == before
    assert not (repo.root / ".git/MERGE_HEAD").exists()
    if name in ("a new branch", "a tag", "a hard reset"):
        run("redo", cwd=repo.root)
        assert read_all(repo) != before
        run("undo", cwd=repo.root)
        assert read_all(repo) == before


@pytest.mark.slow
@pytest.mark.parametrize("line", ["git switch side", "git add b.txt", "git reset --hard HEAD~1"])
def test_an_undo_waits_as_a_whole_for_a_git_command_that_holds_the_index(repo: Repo, line: str) -> None:
    repo.write("a.txt", "two\n")
    repo.commit_all("second")
    repo.write("b.txt", "mine\n" if "add" in line else "one\n")
    before = read_all(repo)
    run_lines(repo, line)
    after = read_all(repo)
    lock = repo.root / ".git/index.lock"
    lock.write_text("")
    undone = run("undo", cwd=repo.root)
    assert undone.code == 13
    assert "nothing was undone" in undone.err
    assert "index.lock' exists" in undone.err
    assert not {"Traceback", "git_commit"} & set(undone.err.replace(":", " ").split())
    assert read_all(repo) == after
    lock.unlink()
    assert run("undo", cwd=repo.root).code == 0
    assert read_all(repo) == before


@pytest.mark.slow
def test_an_undo_that_git_refuses_names_the_rest_and_keeps_the_files(repo: Repo) -> None:
    run_lines(repo, "git tag v1 && git add b.txt && git switch -c topic")
    (repo.root / ".git/HEAD.lock").write_text("")
    undone = run("undo", cwd=repo.root)
    assert undone.code == 13
    assert "  refs/heads/topic: git update-ref failed" in undone.err
    assert "  HEAD: a branch is not as it was left" in undone.err
    assert "Traceback" not in undone.err
    assert repo.git("tag") == ""
    (repo.root / ".git/HEAD.lock").unlink()
    run("redo", cwd=repo.root)
    assert run("undo", cwd=repo.root).code == 0
    assert repo.git("branch", "--show-current") == "main\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["cd deep && git add .", "git -C deep add c.txt", "cd deep && git status && git add c.txt"]
)
def test_a_folder_of_the_repository_is_named_as_in_a_shell(repo: Repo, line: str) -> None:
    repo.write("deep/c.txt", "new\n")
    repo.write("d.txt", "new\n")
    run_lines(repo, line)
    assert repo.git("diff", "--cached", "--name-only") == "deep/c.txt\n"
    assert run("undo", cwd=repo.root).code == 0
    assert repo.git("diff", "--cached", "--name-only") == ""


@pytest.mark.slow
def test_a_move_in_a_folder_is_judged_from_there(repo: Repo) -> None:
    repo.write("deep/c.txt", "new\n")
    repo.commit_all("deep")
    [text] = list_texts(run_lines(repo, "cd deep && git mv c.txt ../.envrc"))
    assert ".envrc" in text
    assert "not run" in text
    assert (repo.root / "deep/c.txt").exists()


@pytest.mark.slow
def test_a_line_that_cannot_be_run_says_how_to_write_it_in_mode_full(repo: Repo) -> None:
    [text] = list_texts(run_lines(repo, "git add -A | cat; false"))
    assert "alone or joined by &&" in text


@pytest.mark.slow
def test_undo_leaves_what_was_moved_since(repo: Repo) -> None:
    run_lines(repo, "git checkout -b topic && git tag v1")
    repo.write("a.txt", "mine\n")
    mine = repo.commit_all("mine")
    undone = run("undo", cwd=repo.root)
    assert undone.code == 13
    assert "refs/heads/topic: it has been moved since" in undone.err
    assert (repo.head(), repo.git("tag")) == (mine, "")
    assert repo.git("branch", "--show-current") == "topic\n"


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_undo_takes_no_branch_from_a_work_tree(repo: Repo, tmp_path: Path, where: str) -> None:
    run_lines(repo, "git branch topic && git tag v1")
    place = repo if where == "here" else Repo(tmp_path / "other", init=False)
    if where == "here":
        repo.git("switch", "-q", "topic")
    else:
        repo.git("worktree", "add", "-q", str(place.root), "topic")
    undone = run("undo", cwd=repo.root)
    assert undone.code == 13
    assert "refs/heads/topic: it is checked out in" in undone.err
    assert (place.git("branch", "--show-current"), repo.git("tag")) == ("topic\n", "")
    assert place.head() == repo.git("rev-parse", "main").strip()


@pytest.mark.slow
def test_what_was_pushed_stays_and_is_named(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", "--bare", str(tmp_path / "there.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "there.git"))
    [text] = list_texts(run_lines(repo, "git push origin main && git fetch origin"))
    assert text.startswith("exit 0")
    assert repo.git("ls-remote", "origin", "main").startswith(repo.head())
    undone = run("undo", cwd=repo.root)
    assert undone.code == 13
    assert "git push origin main: what was sent to another repository stays there" in undone.err


@pytest.mark.slow
def test_a_failing_command_ends_the_line_and_its_output_is_shown(repo: Repo) -> None:
    [text] = list_texts(run_lines(repo, "git checkout nowhere && git tag v1"))
    assert text.startswith("exit 1\nerror: pathspec 'nowhere' did not match")
    assert repo.git("tag") == ""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["workspace", "read-only"])
def test_where_nobody_can_be_asked_nothing_is_done(repo: Repo, mode: str) -> None:
    before = read_all(repo)
    [text] = list_texts(run_lines(repo, "git checkout -b topic", mode=mode))
    assert read_all(repo) == before
    assert "denied" in text or "Read-only" in text


@pytest.mark.slow
def test_a_program_that_the_repository_names_is_not_run(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "merge.own.driver", f"touch {tmp_path}/ran")
    [text] = list_texts(run_lines(repo, "git tag v1"))
    assert "this repository's own settings name programs or servers (merge.own.driver)" in text
    assert repo.git("tag") == ""


@pytest.mark.slow
def test_hooks_that_trust_does_not_cover_do_not_run(repo: Repo, tmp_path: Path) -> None:
    repo.hook("post-checkout", f"touch {tmp_path}/ran")
    [text] = list_texts(run_lines(repo, "git switch side"))
    assert "hooks that did not run: post-checkout" in text
    assert repo.git("branch", "--show-current") == "side\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_a_hook_that_may_refuse_the_command_is_not_passed_by(repo: Repo) -> None:
    repo.hook("pre-rebase", "exit 1")
    [text] = list_texts(run_lines(repo, "git rebase side"))
    assert "the hook pre-rebase may refuse it" in text


@pytest.mark.slow
def test_commit_hooks_of_a_repository_that_is_not_trusted_do_not_run(repo: Repo, tmp_path: Path) -> None:
    repo.git("switch", "-q", "side")
    repo.write("new.txt", "new\n")
    repo.commit_all("side")
    repo.git("switch", "-q", "main")
    repo.hook("commit-msg", f"touch {tmp_path}/ran; exit 1")
    [text] = list_texts(run_lines(repo, "git cherry-pick side"))
    assert "not run, since this repository is not trusted: hook commit-msg" in text
    assert repo.read("new.txt") == "new\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["git cherry-pick side", "git merge --no-edit side", "git revert --no-edit HEAD"]
)
def test_commit_hooks_in_which_trust_is_lost_are_not_passed_by(repo: Repo, line: str) -> None:
    repo.write("check.sh", "exit 1\n")
    repo.commit_all("a check")
    repo.hook("commit-msg", "sh ./check.sh")
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0
    repo.write("check.sh", "exit 0\n")
    before = repo.head()
    text = list_texts(run_lines(repo, line))[-1]
    assert "changed after the user trusted it; the user runs this command" in text
    assert repo.head() == before


@pytest.mark.slow
def test_a_switch_is_no_change_of_the_session(repo: Repo) -> None:
    repo.git("switch", "-q", "side")
    repo.write("a.txt", "side\n")
    repo.commit_all("side")
    repo.git("switch", "-q", "main")
    result = run_lines(repo, SIDE)
    assert result.events[-1]["files"] == []
    assert repo.read("a.txt") == "side\n"


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("git checkout -b x", 1),
        ("git add -A && git status && git stash", 3),
        ("git tag 'v1 x'", 1),
        ("git push --force origin main", 1),
        ("git rebase --continue", 1),
        ("git status", 0),
        ("git add *.py", 0),
        ("git add a && make", 0),
        ("git add a; git tag x", 0),
        ("git add a || git tag x", 0),
        ("git add $(cat names)", 0),
        ("A=1 git add a", 0),
        ("git add a > out", 0),
        ("git tag x &", 0),
        ("( git tag x )", 0),
        ("! git tag x", 0),
        ("git -c core.pager=x tag x", 0),
        ("git rebase -x 'make' main", 0),
        ("git fetch ext::sh", 0),
        ("git commit -m x", 0),
        ("cd a && git add .", 1),
        ("git -C a add . && git --no-pager tag x", 2),
        ("cd a && git add . && git -C b stash", 2),
        ("cd missing && git add .", 0),
        ("cd .. && git add .", 0),
        ("cd - && git add .", 0),
        ("cd && git add .", 0),
        ("cd a; git add .", 0),
        ("git -C /etc add .", 0),
        ("cd inside && git add .", 0),
        ("cd link && git add .", 0),
        ("if git tag x; then :; fi", 0),
        ("git add a | cat", 0),
        ("git add a\ngit tag b", 0),
        ("sudo git tag x", 0),
        ("for i in 1 2; do git tag v; done", 0),
    ],
)
def test_only_lines_of_plain_git_commands_are_run(line: str, commands: int, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/etc")
    Repo(tmp_path / "inside")
    judgement = judge_command_line(line, root=tmp_path)
    found = read_git_line(line, judgement, tmp_path)
    assert len(found) == commands
    assert all(each[0] == "git" for each in found)


def test_a_hopeless_line_says_what_to_write_instead(tmp_path: Path) -> None:
    def explain(line: str) -> str:
        return explain_hopeless_line(judge_command_line(line, root=tmp_path))

    assert "use git_commit" in explain("git commit -m x")
    assert "as a line of its own" in explain("git add a && make")
    assert "the user's to run" in explain("git worktree add ../x")
    assert explain("git log | head") == explain("make") == ""


@pytest.mark.slow
def test_policy_check_names_every_reason(repo: Repo) -> None:
    result = run("policy", "check", "git push --force origin main", cwd=repo.root)
    reason = next(line for line in result.out.splitlines() if line.strip().startswith("ask:"))
    assert "network" in reason
    assert "--force may lose work" in reason


def test_a_filter_of_the_user_runs_as_in_their_own_commands(
    repo: Repo, tmp_path: Path, isolated: Path
) -> None:
    """Such as that of Git LFS, which has the network and folders beside the repository."""
    kept = tmp_path / "kept"
    with (isolated / "gitconfig").open("a") as file:
        file.write(f'[filter "kept"]\n\tsmudge = tee {kept}\n\tclean = cat\n\trequired = true\n')
    repo.git("switch", "-q", "side")
    repo.write(".gitattributes", "big.txt filter=kept\n")
    repo.write("big.txt", "large\n")
    repo.commit_all("large files")
    repo.git("switch", "-q", "main")
    [text] = list_texts(run_lines(repo, SIDE))
    assert "exit 0" in text
    assert (repo.read("big.txt"), kept.read_text()) == ("large\n", "large\n")
