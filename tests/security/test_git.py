"""git loses no work at a model's hands, and runs nothing of a repository that the user does not trust."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.policy.shell import judge_command_line
from sandbox.policy.trust import Definition, TrustStore
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.sandbox import boxes
from tests.support import cli
from tests.support.cli import call, script
from tests.support.judging import is_harmless
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.commits.session_commit import CommitResult, commit_session
from tools.git.git_tools import git_diff, git_status

pytestmark = pytest.mark.slow


DESTRUCTIVE = (
    "git reset --hard",
    "git reset --hard HEAD~1",
    "git clean -fd",
    "git clean -fdx",
    "git checkout -- .",
    "git checkout -f other",
    "git restore .",
    "git switch -f other",
    "git stash drop",
    "git stash clear",
    "git branch -D other",
    "git push --force origin main",
    "git filter-branch --tree-filter true HEAD",
    "git gc --prune=now",
    "git reflog expire --expire=now --all",
    "git update-ref -d refs/heads/other",
    "git worktree remove --force .",
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "first\n")
    made.commit_all("first")
    made.git("branch", "other")
    made.write("a.py", "a\n")
    made.write("b.py", "b\n")
    made.commit_all("second")
    return made


@pytest.mark.parametrize("command", DESTRUCTIVE)
def test_a_command_that_can_lose_work_is_known_as_such(command: str, tmp_path: Path) -> None:
    assert not is_harmless(judge_command_line(command, root=tmp_path))


@pytest.mark.parametrize("box", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("command", [*DESTRUCTIVE, "rm -rf .git *", "git add -A; git commit -m x"])
def test_no_work_is_lost_to_a_command(box: str, command: str, repo: Repo, tmp_path: Path) -> None:
    sandbox = boxes.make(box, repo.root, tmp_path / "spill")
    repo.write("b.py", "stashed\n")
    repo.git("stash", "-q")
    repo.write("a.py", "not staged\n")
    repo.write("b.py", "staged\n")
    repo.git("add", "b.py")
    repo.write("new/untracked.txt", "precious\n")
    snapshots = Snapshots(repo.root, tmp_path / "store")
    git, tree = state(repo.root / ".git"), state(repo.root)
    before = snapshots.take()
    boxes.run(sandbox, repo.root, "bash", "-c", command)
    assert state(repo.root / ".git") == git
    snapshots.revert_unchanged([(before, snapshots.take())])
    assert state(repo.root) == tree
    snapshots.close()


@pytest.mark.parametrize("change", ["", "echo more", "config"])
def test_hooks_run_once_they_are_trusted_and_no_more_when_they_change(
    repo: Repo, tmp_path: Path, change: str
) -> None:
    repo.hook("pre-commit", "echo ran >> .git/ran")
    at, store = strange(repo, tmp_path)
    agent_writes(at, "a.py", "one\n")
    assert "hook pre-commit" in make(at).untrusted
    assert not (repo.root / ".git/ran").exists()
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "two\n")
    assert make(at).untrusted == ""
    assert repo.read(".git/ran") == "ran\n"
    if change == "config":
        repo.write(".pre-commit-config.yaml", "repos: []\n")
    elif change:
        repo.hook("pre-commit", f"echo ran >> .git/ran; {change}")
    agent_writes(at, "a.py", "three\n")
    if change:
        with pytest.raises(ToolFailure, match="changed after the user trusted it"):
            make(at)
    else:
        assert make(at).untrusted == ""
    assert repo.read(".git/ran") == ("ran\n" if change else "ran\nran\n")


def test_hooks_of_the_user_for_all_repositories_need_no_trust(
    repo: Repo, tmp_path: Path, isolated: Path
) -> None:
    repo.hook("pre-commit", "echo theirs >> .git/ran")
    own = Repo(tmp_path / "own", init=False)
    own.hook("pre-commit", f"echo mine >> {repo.root}/.git/ran", folder="hooks")
    with (isolated / "gitconfig").open("a") as file:
        file.write(f"[core]\n\thooksPath = {own.root}/hooks\n")
    at, _ = strange(repo, tmp_path)
    agent_writes(at, "a.py", "one\n")
    assert make(at).untrusted == ""
    assert repo.read(".git/ran") == "mine\n"


def test_an_untrusted_filter_never_runs_and_never_lets_plain_text_into_a_commit(
    repo: Repo, tmp_path: Path
) -> None:
    repo.git("config", "filter.crypt.clean", f"touch {tmp_path}/ran; rot13() {{ tr a-z n-za-m; }}; rot13")
    repo.git("config", "filter.crypt.smudge", "tr a-z n-za-m")
    repo.write(".gitattributes", "vault* filter=crypt\na.py filter=crypt\n")
    repo.write("vault", "hidden\n")
    repo.commit_all()
    assert repo.show("vault") == "uvqqra\n"
    (tmp_path / "ran").unlink()
    at, store = strange(repo, tmp_path)
    agent_writes(at, "vault", "changed\n")
    agent_writes(at, "vault2", "new\n")
    agent_writes(at, "b.py", "agent\n")
    asyncio.run(look(at))
    made = make(at)
    assert not (tmp_path / "ran").exists()
    assert [file.path for file in made.files] == ["b.py"]
    assert set(made.left_out) == {"vault", "vault2"}
    assert "patchwright trust" in made.left_out["vault"]
    store.grant(repo.root, defined(at))
    assert sorted(file.path for file in make(at).files) == ["vault", "vault2"]
    assert repo.show("vault") == "punatrq\n"


def test_a_filter_of_the_user_runs_in_place_of_the_one_by_which_a_repository_replaces_it(
    repo: Repo, tmp_path: Path, isolated: Path
) -> None:
    with (isolated / "gitconfig").open("a") as file:
        file.write('[filter "up"]\n\tclean = tr a-z A-Z\n')
    repo.write(".gitattributes", "a.py filter=up\n")
    repo.git("config", "filter.up.clean", f"touch {tmp_path}/ran; cat")
    at, _ = strange(repo, tmp_path)
    agent_writes(at, "a.py", "agent\n")
    asyncio.run(look(at))
    make(at)
    assert not (tmp_path / "ran").exists()
    assert repo.show("a.py") == "AGENT\n"


def test_a_promised_object_is_not_fetched_by_a_command_of_the_repository(repo: Repo, tmp_path: Path) -> None:
    blob = repo.git("rev-parse", "HEAD:a.py").strip()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {tmp_path}/ran",
        "protocol.ext.allow": "always",
    }.items():
        repo.git("config", key, value)
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    at, _ = strange(repo, tmp_path)
    agent_writes(at, "a.py", "agent\n")
    with pytest.raises(ToolFailure):
        asyncio.run(look(at))
    assert not (tmp_path / "ran").exists()
    repo.git("cat-file", "-p", blob, check=False)
    assert (tmp_path / "ran").exists(), "the trap was set"


def test_a_repository_that_names_another_work_tree_is_refused(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    repo.git("config", "core.worktree", str(tmp_path / "home"))
    at, _ = strange(repo, tmp_path)
    agent_writes(at, "a.py", "agent\n")
    with pytest.raises(UserError, match="names another work tree"):
        make(at)


def test_trust_is_shown_given_and_taken_back_on_the_command_line(repo: Repo, tmp_path: Path) -> None:
    repo.hook("pre-commit", "echo ran >> .git/ran")
    repo.git("config", "filter.x.clean", "cat\x1b]0;evil\x07\ntrusted: /")
    shown = cli.run("trust", "--list", cwd=repo.root)
    assert (
        f"{repo.root}: not trusted\n  setting filter.x.clean: cat\\x1b]0;evil\\x07\\ntrusted: /\n"
        in shown.out
    )
    assert f"  hook pre-commit: {repo.root}/.git/hooks/pre-commit\n" in shown.out
    assert cli.run("trust", cwd=repo.root).out.startswith(f"trusted: {repo.root}\n")
    assert cli.run("trust", "--list", cwd=repo.root).out.startswith(f"{repo.root}: trusted\n")
    repo.git("config", "--unset", "filter.x.clean")
    assert cli.run("trust", "--list", cwd=repo.root).out.startswith(
        f"{repo.root}: changed since it was trusted\n"
    )
    assert cli.run("trust", cwd=repo.root).code == 0
    model = script(
        tmp_path,
        [
            {"calls": [call("write", path="c.py", content="x = 1\n"), call("git_commit", message="x")]},
            {"text": "Done."},
        ],
    )
    done = cli.run("run", "do it", "--model", model, cwd=repo.root)
    assert repo.read(".git/ran") == "ran\n", done.err
    assert "not trusted" not in done.err
    assert cli.run("trust", "--revoke", cwd=repo.root).out == f"trusted no more: {repo.root}\n"
    assert cli.run("trust", "--list", "--revoke", cwd=repo.root).code == 2


def strange(repo: Repo, tmp_path: Path) -> tuple[Workspace, TrustStore]:
    """A workspace that trusts what the user trusts: nothing yet."""
    at, store = repo.workspace(), TrustStore(tmp_path / "config")
    at.trusts = store.create_check(repo.root)
    return at, store


async def look(at: Workspace) -> None:
    """At status and differences, as a model does."""
    await git_status.run(at=at)
    await git_diff.run(at=at)


def make(at: Workspace) -> CommitResult:
    return asyncio.run(commit_session(at, "Change it"))


def defined(at: Workspace) -> tuple[Definition, ...]:
    return Broker(at.root).program_definitions


def state(root: Path) -> dict[str, str]:
    """Every file's content and mode; of a work tree without its `.git`."""
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root)
        if path.is_file() and name.parts[0] != ".git":
            found[str(name)] = f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found
