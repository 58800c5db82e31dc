"""Attacks on what acts outside the sandbox by itself: tools' settings, git's configuration and folders, hard links."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.security.conftest import SECRET, Scene

pytestmark = pytest.mark.slow


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


SELF_RUN = (
    "pkg/.vscode/tasks.json",
    "pkg/deep/.github/workflows/ci.yml",
    "pkg/.envrc",
    "web/.npmrc",
    "web/app/.claude/settings.json",
    ".claude/settings.json",
    ".claude/hooks/stop.sh",
    ".cursor/mcp.json",
    ".devcontainer/devcontainer.json",
    ".zed/settings.json",
    ".nvim.lua",
    "lefthook.yml",
    "mise.toml",
    ".travis.yml",
    ".woodpecker.yml",
    "azure-pipelines.yml",
)


def test_files_that_tools_run_by_themselves_stay_at_any_depth(scene: Scene) -> None:
    for name in SELF_RUN:
        write(scene.root / name, "mine\n")
    for name in ("pkg/code.py", "pkg/deep/code.py", "web/app/code.py", ".claude/notes.md"):
        write(scene.root / name, "code\n")
    scene.own()
    before = scene.state()
    for name in SELF_RUN:
        parent = name.rpartition("/")[0] or "."
        scene.run(
            f"echo evil > {name}; rm -rf {name}; echo evil > {name}; cp src/cart.py {name}; : > {name}\n"
            f"mv {name} src/old; echo evil > src/new; mv src/new {name}; ln -sf ../src/cart.py {name}\n"
            f"mv {parent} src/away && mkdir -p {parent} && echo evil > {name}; chmod 777 {name}"
        )
        assert scene.state() == before, name


def test_missing_files_that_tools_run_by_themselves_are_moved_away(scene: Scene) -> None:
    for folder in (".claude", ".cursor"):
        write(scene.root / folder / "notes.md", "mine\n")
    write(scene.home / ".claude" / "settings.json", "the person's\n")
    scene.own()
    before = scene.state()
    scene.run(
        "echo evil > .claude/settings.json; echo evil > .cursor/mcp.json; mkdir .devcontainer .zed",
        "echo evil > .nvim.lua",
        "echo evil > shop.code-workspace; echo evil > lefthook-local.yml; mkdir .claude/hooks; echo evil > mise.toml",
        f"ln -s {scene.home}/.claude .gemini; ln -s src .codex",
        "mkdir -p src/evil/hooks; echo evil > src/evil/settings.json; mv .claude src/mine && ln -sn src/evil .claude",
    )
    after = scene.state()
    if not (scene.root / ".claude" / "notes.md").exists():  # bubblewrap: nothing pinned it
        assert not (scene.root / ".claude").is_symlink()
        before.pop("shop/.claude")
        before.pop("shop/.claude/notes.md")
    assert after == before


def test_a_file_that_gits_configuration_includes_stays_as_it_is(scene: Scene) -> None:
    write(scene.root / ".gitconfig", "[include]\n\tpath = conf/more\n")
    write(scene.root / "conf" / "more", '[IncludeIf "onbranch:**"] Path="../deep/last"\n')
    write(scene.root / "deep" / "last", "[alias]\n\tst = status\n")
    with (scene.root / ".git" / "config").open("a") as config:
        config.write(
            "[include]\n\tpath = ../.gitconfig\n[include] path = ../conf/missing\n\tpath = ../newly/file"
        )
    scene.own()
    before = scene.state()
    evil = "printf '[core]\\n\\tfsmonitor = ./evil\\n' >"
    for name in (".gitconfig", "conf/more", "deep/last", "conf/missing"):
        folder = name.rpartition("/")[0] or "src"
        scene.run(
            f"{evil} {name}; rm -f {name}; {evil} src/x; mv src/x {name}",
            f"mv {folder} src/away && mkdir {folder} && {evil} {name}",
        )
        assert scene.state() == before, name
    scene.run(f"mkdir src/evil && {evil} src/evil/file && ln -s src/evil newly")
    assert scene.state() == before


@pytest.mark.parametrize("rule", ["conf/prod/key.txt", "pkg/way/prod/key.txt"])
def test_a_denied_file_is_not_read_by_renaming_what_is_around_it(scene: Scene, rule: str) -> None:
    key = write(scene.root / "conf" / "prod" / "key.txt", SECRET)
    (scene.root / "pkg").mkdir()
    (scene.root / "pkg" / "way").symlink_to("../conf")
    os.link(key, scene.root / "pkg" / "made-before")
    scene.own()
    answers = scene.run(
        "mv conf conf2; mv conf/prod prod2; mv conf src/conf; mv pkg/way pkg/gone; ln pkg/made-before pkg/again",
        "cat conf2/prod/key.txt prod2/key.txt src/conf/prod/key.txt conf/prod/key.txt",
        "cat pkg/made-before pkg/again; cp pkg/made-before pkg/copy; cat pkg/copy; grep -rs . .",
        "mv pkg src/pkg; cat src/pkg/*; mv src/pkg .",
        denied=[str(scene.root / rule)],
    )
    assert SECRET not in "".join(answers)
    assert key.read_text() == SECRET


def test_a_rule_by_a_link_holds_when_the_link_is_gone(scene: Scene) -> None:
    key = write(scene.root / "conf" / "prod" / "key.txt", SECRET)
    write(scene.root / "pkg" / "code.py", "")
    (scene.root / "pkg" / "way").symlink_to("../conf")
    scene.own()
    answers = scene.run(
        "rm pkg/way; ls pkg",
        "cat conf/prod/key.txt; mv conf conf2; cat conf2/prod/key.txt",
        "grep -rs . .",
        denied=[str(scene.root / "pkg" / "way" / "prod" / "key.txt")],
    )
    assert "way" not in answers[0]  # the attack does what it is meant to do
    assert SECRET not in "".join(answers)
    assert key.read_text() == SECRET


def test_a_guard_shows_nothing_of_what_is_closed(scene: Scene) -> None:
    """Guarded names, rules and repositories in a folder that commands must not read; links of guarded names to one."""
    for name in ("private/.envrc", "private/deep/.vscode/key", "private/deep/sub/key.pem", "pkg/.npmrc"):
        write(scene.root / name, SECRET)
    (scene.root / "pkg" / ".vscode").symlink_to(scene.home / ".ssh")
    (scene.root / ".envrc").symlink_to(scene.home / ".ssh" / "id_ed25519")
    subprocess.run(["git", "init", "-q", str(scene.root / "private" / "repo")], check=True)
    write(scene.root / "private" / "repo" / ".git" / "description", SECRET)
    fake = scene.root / "store"
    write(fake / "HEAD", "ref: refs/heads/main\n")
    write(fake / "commondir", f"{scene.home}/.ssh/id_ed25519\n")
    write(scene.root / "lib" / ".git", "gitdir: ../store\n")
    scene.own()
    denied = ["private", "private/deep/sub/key.pem", "private/deep", "pkg/.npmrc"]
    answers = scene.run(
        "cat private/.envrc private/deep/.vscode/key private/deep/sub/key.pem private/repo/.git/description",
        "cat .envrc pkg/.vscode/* pkg/.npmrc ~/.ssh/id_ed25519; find private; echo evil > private/deep/new",
        "mv private open; cat open/.envrc; grep -rs . . ~",
        denied=[str(scene.root / each) for each in denied],
    )
    assert SECRET not in "".join(answers)
    assert not (scene.root / "private" / "deep" / "new").exists()


MAKE_BARE = (
    "mkdir -p {0}/objects {0}/refs; printf 'ref: refs/heads/main\\n' > {0}/HEAD; (echo '[core]'; "
    "echo 'repositoryformatversion = 0'; echo 'bare = false'; echo 'worktree = .'; echo 'fsmonitor = {1}') > {0}/config"
)
REPOSITORIES = {
    "a plain folder": ("pkg", MAKE_BARE.format("pkg", "{trap}")),
    "a new folder": ("pkg/new", MAKE_BARE.format("pkg/new", "{trap}")),
    "a nested .git": ("pkg", MAKE_BARE.format("pkg/.git", "{trap}")),
    "in a folder of packages": ("node_modules/x", MAKE_BARE.format("node_modules/x/.git", "{trap}")),
    "git init": ("pkg", "git init -q pkg; git -C pkg config core.fsmonitor {trap}"),
    "made elsewhere and moved": (
        "pkg/sub",
        MAKE_BARE.format("src/.git", "{trap}") + "; mkdir pkg/sub; mv src/.git pkg/sub",
    ),
    "a .git file": ("pkg", MAKE_BARE.format("store/x", "{trap}") + "; echo 'gitdir: ../store/x' > pkg/.git"),
    "a .git link": ("pkg", MAKE_BARE.format("store/x", "{trap}") + "; ln -s ../store/x pkg/.git"),
    "two folders": (
        "pkg",
        MAKE_BARE.format("store", "{trap}")
        + "; printf 'ref: refs/heads/main\\n' > pkg/HEAD; echo ../store > pkg/commondir; rm store/HEAD",
    ),
    "the last part later": (
        "pkg",
        MAKE_BARE.format("pkg", "{trap}") + "; mv pkg/refs pkg/r\nmv pkg/r pkg/refs",
    ),
}
"""The folder in which git is run afterwards, and commands, one a line."""


@pytest.mark.parametrize("attack", REPOSITORIES)
def test_no_git_folder_comes_to_be(scene: Scene, attack: str) -> None:
    """Whoever runs git in a folder that a command made a repository's runs its fsmonitor."""
    folder, script = REPOSITORIES[attack]
    for name in ("pkg/code.py", "store/note", "node_modules/x/index.js"):
        write(scene.root / name, "code\n")
    (scene.root / "objects").mkdir()
    scene.own()
    mark = scene.base / "mark"
    trap = write(scene.base / "trap", f"#!/bin/sh\ntouch {mark}\n", 0o755)
    answers = scene.run(*script.format(trap=trap).split("\n"))
    subprocess.run(
        ["git", "-c", "safe.directory=*", "status"], cwd=scene.root / folder, capture_output=True, check=False
    )
    assert not mark.exists()
    if scene.box == "bubblewrap":  # Landlock lets nothing be made beside `.git`, so some do not get that far
        assert "became" in answers[-1]
        assert list((scene.base / "spill" / "refused").iterdir())
    assert (scene.root / "pkg" / "code.py").read_text() == "code\n"


def test_a_workspace_without_git_does_not_become_a_git_folder_itself(scene: Scene) -> None:
    shutil.rmtree(scene.root / ".git")
    mark = scene.base / "mark"
    trap = write(scene.base / "trap", f"#!/bin/sh\ntouch {mark}\n", 0o755)
    for script in (MAKE_BARE.format(".", trap), "git init -q .; git config core.fsmonitor " + str(trap)):
        scene.own()
        scene.run(script)
        done = ["git", "-c", "safe.directory=*", "status"]
        subprocess.run(done, cwd=scene.root, capture_output=True, check=False)
        assert not mark.exists()
        assert not (scene.root / "HEAD").exists()


def test_work_with_repositories_of_its_own_goes_on(scene: Scene) -> None:
    """Tests that make repositories do so in the command's private folder, or for as long as the command runs."""
    work = (
        "git init -q {0} && cd {0} && git config user.email a@b && git config user.name n && echo x > x && "
        "git add x && git commit -qm x && git log --oneline | wc -l && cd - >/dev/null"
    )
    scene_tmp, inside = scene.run(work.format("$TMPDIR/repo"), work.format("src/repo") + " && ls -a src/repo")
    assert scene_tmp.split() == ["1"]
    assert inside.split()[0] == "1"
    assert "'src/repo/.git' became a git folder" in inside
    assert (scene.root / "src" / "repo" / "x").read_text() == "x\n"


def test_a_hard_link_leads_no_write_outside(scene: Scene) -> None:
    outside = write(scene.base / "outside.cfg", "precious\n", 0o640)
    tool = write(scene.base / "tool", "#!/bin/sh\necho mine\n", 0o755)
    os.utime(outside, ns=(1_000_000_000, 1_000_000_000))
    for name, source in (
        ("src/config", outside),
        ("node_modules/.pnpm/a/config", outside),
        (".venv/lib/tool", tool),
        ("deep/er/tool", tool),
    ):
        (scene.root / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(source, scene.root / name)
    write(scene.root / "src" / "one", "1")
    os.link(scene.root / "src" / "one", scene.root / "src" / "two")
    scene.own()
    answers = scene.run(
        "echo evil > src/config; echo evil >> node_modules/.pnpm/a/config; truncate -s 0 .venv/lib/tool; "
        "chmod 777 deep/er/tool; echo 2 > src/two; cat src/one",
        "echo evil > src/config; stat -c %a deep/er/tool",
    )
    assert outside.read_text() == "precious\n"
    assert tool.read_text() == "#!/bin/sh\necho mine\n"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o640
    assert "4 hard links to files outside the workspace were replaced by copies" in answers[0]
    assert answers[0].startswith("2\n")  # links between files inside stay
    assert "hard link" not in answers[1]
    assert (scene.root / "src" / "config").read_text() == "evil\n"


def test_a_hard_link_that_comes_later_leads_no_write_outside_either(scene: Scene) -> None:
    outside = write(scene.base / "outside.cfg", "precious\n")
    os.link(outside, scene.root / "src" / "first")
    scene.own()
    assert "1 hard link" in scene.run("echo evil > src/first")[0]
    os.link(outside, scene.root / "src" / "second")
    os.link(scene.root / ".git" / "config", scene.root / "src" / "third")
    config = (scene.root / ".git" / "config").read_text()
    assert "2 hard links" in scene.run("echo evil > src/second; echo evil > src/third")[0]
    assert outside.read_text() == "precious\n"
    assert (scene.root / ".git" / "config").read_text() == config
