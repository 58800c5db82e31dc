"""What commands see, with the reason for each place; what the settings may add to it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from sandbox.backends.constraints import Constraints
from sandbox.backends.selection import choose_sandbox
from sandbox.errors import Fault, UserError
from sandbox.process.command import Command, Sandbox
from sandbox.secrets.child_environment import build_child_environment
from sandbox.view.machine_view import MachineView
from sandbox.view.visible_paths import resolve_visible_paths
from tests.sandbox.boxes import CONFINED, make, run, sh

KINDS = ("bubblewrap", "landlock")


def view_of(root: Path, *visible: Path) -> MachineView:
    bounds = Constraints(root, visible=visible)
    return bounds.get_view(build_child_environment({}, bounds.root), bounds.collect_secret_paths())


def kinds(view: MachineView) -> dict[str, str]:
    return {str(each.path): each.kind for each in view.places}


def test_each_place_has_a_kind_and_a_reason(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".cargo/bin", ".rustup", ".ssh", "notes", "go", "tool/bin", "tool/lib", "java"):
        (home / name).mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{home}/tool/bin:/usr/bin")
    monkeypatch.setenv("JAVA_HOME", f"{home}/java")
    found = kinds(view_of(workspace))
    assert found["/usr"] == "system"
    assert found[f"{home}/.cargo"] == "cache"
    assert f"{home}/.cargo/bin" not in found, "it is inside the other"
    assert found[f"{home}/.rustup"] == "toolchain"
    assert found[f"{home}/tool"] == "toolchain"
    assert found[f"{home}/java"] == "toolchain"
    assert not {str(home), f"{home}/.ssh", f"{home}/notes", "/home", "/root", "/srv", "/mnt"} & set(found)
    assert all(each.reason for each in view_of(workspace).places)
    assert home in view_of(workspace).emptied


@pytest.mark.slow
@pytest.mark.parametrize("name", ["JAVA_HOME", "PYTHONPATH", "GOPATH"])
def test_a_variable_shows_no_folder_with_more_than_a_toolchain(
    name: str, workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (home, home.parent, Path("/"), Path("/home"), Path("/tmp"), Path("/var"), Path("relative")):
        monkeypatch.setenv(name, str(value))
        found = kinds(view_of(workspace))
        assert str(value) not in found
        assert str(home) not in found


def test_a_toolchain_that_is_installed_later_is_seen_by_the_next_command(workspace: Path, home: Path) -> None:
    bounds = Constraints(workspace)
    env = build_child_environment({}, workspace)
    assert f"{home}/.nvm" not in kinds(bounds.get_view(env, []))
    (home / ".nvm").mkdir()
    assert f"{home}/.nvm" in kinds(bounds.get_view(env, []))


def test_links_on_the_way_to_a_place_are_there(
    workspace: Path, home: Path, tmp_path: Path, bubble: Sandbox
) -> None:
    disk = tmp_path / "disk"
    (disk / "pip").mkdir(parents=True)
    (disk / "pip/word").write_text("found")
    (disk / "private").write_text("private")
    (home / ".cache").symlink_to(disk)
    done = sh(bubble, workspace, f"cat {home}/.cache/pip/word {home}/.cache/private {disk}/private")
    assert done.stdout.text().startswith("found")
    assert "'private'" not in done.stdout.text()
    assert done.stdout.text().count("No such file") == 2


def box_with(name: str, root: Path, *visible: Path, hidden: tuple[Path, ...] = ()) -> Sandbox:
    make(name, root)  # skips where it does not work
    return choose_sandbox(root, name, visible=visible, hidden=hidden)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_the_user_may_show_folders_and_files(name: str, workspace: Path, home: Path) -> None:
    for each in ("data/model", "data/.env", "beside", "one-file"):
        (home / each).parent.mkdir(exist_ok=True)
        (home / each).write_text(f"content of {each}\n")
    box = box_with(name, workspace, home / "data", home / "one-file")
    done = sh(
        box, workspace, f"cat {home}/data/model {home}/one-file {home}/beside; echo x > {home}/data/model"
    )
    assert done.stdout.text().startswith("content of data/model\ncontent of one-file\n")
    assert "content of beside" not in done.stdout.text()
    assert done.returncode != 0
    assert (home / "data/model").read_text() == "content of data/model\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_the_whole_home_may_be_shown_but_for_keys(name: str, workspace: Path, home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("very-secret")
    (home / ".netrc").write_text("very-secret")
    (home / "notes").write_text("harmless")
    answer = sh(box_with(name, workspace, home), workspace, f"grep -rs . {home}").stdout.text()
    assert "harmless" in answer
    assert "very-secret" not in answer


def test_a_place_of_keys_is_never_shown(workspace: Path, home: Path, tmp_path: Path) -> None:
    (home / ".ssh/sub").mkdir(parents=True)
    (home / "way").symlink_to(home / ".ssh")
    ours = tmp_path / "ours"
    ours.mkdir()
    for path in (home / ".ssh", home / ".ssh/sub", home / "way", ours, Path("/etc/shadow")):
        if path == Path("/etc/shadow") and not os.access(path, os.R_OK):
            continue
        with pytest.raises(UserError, match="may never read") as caught:
            choose_sandbox(workspace, visible=[path], hidden=[ours])
        assert caught.value.fault is Fault.CONFIGURATION


@pytest.mark.parametrize("name", ["relative", "./here", "", "/", "/tmp/.."])
def test_a_visible_path_is_absolute_and_not_the_whole_machine(name: str) -> None:
    with pytest.raises(UserError, match="visible_paths"):
        resolve_visible_paths([name])


@pytest.mark.slow
def test_a_socket_that_the_user_shows_is_reached(workspace: Path, home: Path) -> None:
    """As of an ssh-agent. One beside it is not."""
    box = box_with("bubblewrap", workspace, home / "agent.sock")
    knock = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b'hello')"
    with socket.socket(socket.AF_UNIX) as agent, socket.socket(socket.AF_UNIX) as other:
        for server, path in ((agent, home / "agent.sock"), (other, home / "other.sock")):
            server.bind(str(path))
            server.listen()
        assert run(box, workspace, "python3", "-c", knock, str(home / "agent.sock")).returncode == 0
        agent.settimeout(5)
        with agent.accept()[0] as caller:
            assert caller.recv(10) == b"hello"
        assert run(box, workspace, "python3", "-c", knock, str(home / "other.sock")).returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFINED)
def test_the_git_folders_of_a_linked_work_tree_are_seen(name: str, workspace: Path, tmp_path: Path) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(
        ["git", "-C", str(workspace), *who, "commit", "-q", "--allow-empty", "-m", "begin"], check=True
    )
    second = tmp_path / "second"
    subprocess.run(["git", "-C", str(workspace), "worktree", "add", "-q", str(second)], check=True)
    done = sh(
        make(name, second), second, f"git -c safe.directory=* log --format=%s; cat {workspace}/src/cart.py"
    )
    assert done.stdout.text().startswith("begin\n")
    assert "total" not in done.stdout.text()


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFINED)
def test_the_git_folder_of_a_submodule_is_seen(name: str, workspace: Path, tmp_path: Path) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(
        ["git", "-C", str(workspace), *who, "commit", "-q", "--allow-empty", "-m", "begin"], check=True
    )
    outer = tmp_path / "outer"
    subprocess.run(["git", "init", "-q", str(outer)], check=True)
    subprocess.run(
        ["git", "-C", str(outer), *who, "submodule", "--quiet", "add", str(workspace), "sub"], check=True
    )
    done = sh(make(name, outer / "sub"), outer / "sub", "git -c safe.directory=* log --format=%s")
    assert done.stdout.text() == "begin\n"


def test_bubblewrap_works_without_overlays(workspace: Path, home: Path) -> None:
    """As with an older bwrap or kernel: caches are read-only, keys in them masked."""
    from sandbox.backends.bubblewrap import Bubblewrap
    from tests.sandbox.boxes import bwrap, privilege

    (home / ".cargo").mkdir()
    (home / ".cargo/word").write_text("found\n")
    (home / ".cargo/credentials.toml").write_text("very-secret")
    box = Bubblewrap(Constraints(workspace), program=bwrap(), privilege=privilege(), overlays=False)
    done = sh(box, workspace, "cat ~/.cargo/word ~/.cargo/credentials.toml; echo x > ~/.cargo/word")
    assert done.stdout.text().startswith("found\n")
    assert "very-secret" not in done.stdout.text()
    assert "Read-only file system" in done.stdout.text()


def test_a_folder_that_cannot_be_a_layer_of_an_overlay_is_shown_plainly(
    workspace: Path, home: Path, tmp_path: Path
) -> None:
    """A bwrap that refuses overlays after the probe: the command runs all the same."""
    from sandbox.backends.bubblewrap import Bubblewrap
    from tests.sandbox.boxes import bwrap, privilege

    wrapper = tmp_path / "bwrap"
    wrapper.write_text(
        '#!/bin/sh\ncase " $* " in *--tmp-overlay*) echo "bwrap: Can\'t make overlay mount" >&2; exit 1;; esac\n'
        f'exec {bwrap()} "$@"\n'
    )
    wrapper.chmod(0o755)
    (home / ".cargo").mkdir()
    (home / ".cargo/word").write_text("found\n")
    box = Bubblewrap(Constraints(workspace), program=wrapper, privilege=privilege(), overlays=True)
    assert run(box, workspace, "cat", f"{home}/.cargo/word").stdout.text() == "found\n"
    assert not box.overlays


def test_only_what_is_bound_counts_as_the_memory_of_a_command(bubble: Sandbox, workspace: Path) -> None:
    """The root, and folders between it and what is shown, cannot be filled."""
    outside = [
        each for each in ("/new", "/var/new", "/var/lib/new", "/mnt", "/home/new") if not Path(each).exists()
    ]
    done = sh(bubble, workspace, "; ".join(f"mkdir {each} && echo MADE" for each in outside))
    assert "MADE" not in done.stdout.text()


def test_a_resident_command_sees_the_same(workspace: Path, home: Path, bubble: Sandbox) -> None:
    (home / "notes").write_text("private")
    command = Command(argv=("cat", f"{home}/notes"), cwd=workspace, resident=True)
    import asyncio

    assert "private" not in asyncio.run(bubble.run(command)).stdout.text()


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFINED)
def test_a_workspace_inside_a_cache_or_toolchain_can_be_written(name: str, home: Path) -> None:
    """As in `~/go/src`, or a plugin that is worked on below `~/.pyenv`."""
    for place in ("go/src/shop", ".pyenv/plugins/shop"):
        root = home / place
        (root / "src").mkdir(parents=True)
        (root.parent / "beside").write_text("beside\n")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        done = sh(make(name, root), root, "cat ../beside; echo new > src/file; echo x > ../beside; ls ..")
        assert done.stdout.text().startswith("beside\n"), done.stdout.text()
        assert (root / "src/file").read_text() == "new\n"
        assert (root.parent / "beside").read_text() == "beside\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFINED)
@pytest.mark.parametrize("odd", ["a:b", "a,b", "a\\b", "a b", "ä'\"$x", "a%b\nc"])
def test_a_home_with_an_odd_name_works(
    name: str, odd: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / odd
    (folder / ".cargo").mkdir(parents=True)
    (folder / ".cargo/word").write_text("found\n")
    (folder / ".cargo/credentials").write_text("very-secret")
    monkeypatch.setenv("HOME", str(folder))
    done = sh(
        make(name, workspace), workspace, 'cat "$HOME/.cargo/word" "$HOME/.cargo/credentials"; ls -A "$HOME"'
    )
    assert done.stdout.text().startswith("found\n"), done.stdout.text()
    assert "very-secret" not in done.stdout.text()


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFINED)
def test_a_home_that_is_a_link_works(
    name: str, workspace: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".rustup").mkdir()
    (home / ".rustup/word").write_text("found\n")
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert sh(make(name, workspace), workspace, "cat ~/.rustup/word").stdout.text() == "found\n"
