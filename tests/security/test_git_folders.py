"""Whole runs of ours in repositories whose git folder is another's, or whose files hold programs up."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pickle
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from sandbox.backends.selection import choose_sandbox
from sandbox.helpers.helper_confinement import find_confinement
from sandbox.helpers.own_programs import drop_planted_libraries
from sandbox.process.command import Command
from tests.sandbox.boxes import bwrap
from tests.support.cli import call, run, script
from tests.support.repo import Repo
from tools.code.index import worker_pool
from tools.code.index.file_listing import compute_text_key
from tools.code.index.parse_worker import LENGTH
from tools.code.index.parsing.file_facts import get_language


@pytest.fixture
def victim(tmp_path: Path) -> Repo:
    other = Repo(tmp_path / "victim")
    other.write("theirs.py", "x = 1\n")
    other.commit_all("Begin")
    return other


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("run", "fix it", "--model", "scripted:none.json"), ("commit",), ("review",), ("init", "--print")],
    ids=lambda each: each[0],
)
def test_no_command_works_in_a_redirected_folder(
    tmp_path: Path, victim: Repo, command: tuple[str, ...]
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "cart.py").write_text("x = 2\n")
    (shop / ".git").write_text(f"gitdir: {victim.root}/.git\n")
    before = victim.head()
    done = run(*command, cwd=shop)
    assert done.code == Exit.CONFIGURATION, (done.out, done.err)
    assert f"uses another one's folder: .git leads to '{victim.root}/.git'" in done.err
    assert "patchwright trust" in done.err
    assert victim.head() == before


@pytest.mark.slow
def test_a_separate_git_folder_is_used_once_it_is_trusted(tmp_path: Path, isolated: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={tmp_path}/kept", str(shop)], check=True)
    (shop / "cart.py").write_text("x = 2\n")
    subprocess.run(["git", "add", "-A"], cwd=shop, check=True)
    assert run("commit", cwd=shop).code == Exit.CONFIGURATION
    listed = run("trust", "--list", cwd=shop)
    assert f"store .git: {tmp_path}/kept" in listed.out, listed.err
    assert run("trust", cwd=shop).code == Exit.DONE
    done = run("commit", cwd=shop)
    assert done.code == Exit.DONE, done.err
    (tmp_path / "moved").mkdir()
    shutil.copytree(tmp_path / "kept", tmp_path / "moved/kept")
    (shop / ".git").write_text(f"gitdir: {tmp_path}/moved/kept\n")
    assert run("review", cwd=shop).code == Exit.CONFIGURATION
    (shop / ".git").write_text(f"gitdir: {tmp_path}/kept\n")
    assert run("trust", "--revoke", cwd=shop).code == Exit.DONE
    assert run("review", cwd=shop).code == Exit.CONFIGURATION


@pytest.mark.slow
def test_alternates_are_used_once_they_are_trusted(tmp_path: Path, victim: Repo, isolated: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--shared", str(victim.root), str(tmp_path / "shop")], check=True)
    shop = Repo(tmp_path / "shop", init=False)
    shop.write("cart.py", "x = 2\n")
    shop.git("add", "-A")
    refused = run("commit", cwd=shop.root)
    assert refused.code == Exit.CONFIGURATION
    assert f".git/objects/info/alternates leads to '{victim.root}/.git/objects'" in refused.err
    assert run("trust", cwd=shop.root).code == Exit.DONE
    done = run("commit", cwd=shop.root)
    assert done.code == Exit.DONE, done.err


@pytest.mark.slow
def test_a_commit_runs_no_filter_of_a_repository_that_is_not_trusted(tmp_path: Path, isolated: Path) -> None:
    """git looks again at files whose time stamps changed."""
    shop = Repo(tmp_path / "shop")
    shop.write(".gitattributes", "vault* filter=evil\n")
    shop.write("vault", "one\n")
    shop.commit_all("Begin")
    shop.git("config", "filter.evil.clean", f"touch '{tmp_path}/ran'; cat")
    shop.git("config", "core.fsmonitor", f"touch '{tmp_path}/ran'; false")
    shop.write("cart.py", "x = 2\n")
    shop.git("-c", "core.fsmonitor=false", "add", "cart.py")
    (tmp_path / "ran").unlink(missing_ok=True)
    os.utime(shop.root / "vault", (1, 1))
    done = run("commit", cwd=shop.root)
    assert done.code == Exit.DONE, done.err
    assert "not trusted: setting filter.evil.clean" in done.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
def test_a_pipe_in_place_of_rules_is_named_and_holds_nothing_up(
    tmp_path: Path, isolated: Path, name: str
) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("src/cart.py", "x = 2\n")
    shop.commit_all("Begin")
    os.mkfifo(shop.root / "src" / name)
    turns = [
        {"calls": [call("search", pattern="x")]},
        {"calls": [call("symbols", query="x"), call("list")]},
        {"calls": [call("git_status")]},
        {"text": "Done."},
    ]
    began = time.monotonic()
    done = run("run", "look", "--model", script(tmp_path, turns), "--output", "stream-json", cwd=shop.root)
    assert time.monotonic() - began < 60
    texts = [event["text"] for event in done.events if event["kind"] == "observation"]
    assert any(f"'src/{name}' is a pipe in place of a file" in each for each in texts), (texts, done.err)


@pytest.mark.slow
@pytest.mark.skipif(not find_confinement(), reason="the kernel has no Landlock")
def test_a_worker_of_the_index_reads_the_workspace_only(tmp_path: Path) -> None:
    """A worker that a grammar's flaw has taken over is asked for a file elsewhere."""
    shop = Repo(tmp_path / "shop")
    shop.write("cart.py", "def total(): pass\n")
    secret = tmp_path / "secret.py"
    secret.write_text("def very_secret(): pass\n")
    process = worker_pool._start_process(str(shop.root))
    try:
        found = [
            _ask_worker(process, place, name)
            for place, name in ((shop.root, "cart.py"), (tmp_path, secret.name))
        ]
    finally:
        worker_pool._close_process(process)
    assert b"total" in found[0]
    assert b"very_secret" not in found[1]


def _ask_worker(process: subprocess.Popen[bytes], root: Path, name: str) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    key = compute_text_key(get_language("python"), (root / name).read_bytes())
    process.stdin.write(json.dumps([str(root), [(1, "python", key, name)]]).encode() + b"\n")
    process.stdin.flush()
    [length] = LENGTH.unpack(process.stdout.read(LENGTH.size))
    return process.stdout.read(length)


def test_a_reply_of_a_worker_that_was_taken_over_runs_nothing(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    for reply in (pickle.dumps(Trap()), pickle.dumps([Path()]), pickle.dumps("text")):
        with pytest.raises(pickle.UnpicklingError, match="a worker's reply"):
            worker_pool._SegmentReader(io.BytesIO(reply)).read_segment()
    assert not (tmp_path / "ran").exists()


def test_no_library_of_a_workspace_is_loaded_into_our_programs(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop").root
    given = {
        "LD_PRELOAD": f"{shop}/evil.so",
        "LD_LIBRARY_PATH": f"/usr/lib:{shop}/lib",
        "GIT_EXEC_PATH": "relative/git-core",
        "OPENSSL_CONF": "/etc/ssl/openssl.cnf",
        "HOME": str(shop),
    }
    assert drop_planted_libraries(given, shop) == {"OPENSSL_CONF": "/etc/ssl/openssl.cnf", "HOME": str(shop)}


@pytest.mark.slow
def test_no_library_of_a_workspace_is_loaded_into_bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user passes a library's folder in the workspace on to commands; a command puts one for bwrap there."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    bwrap()
    shop = Repo(tmp_path / "shop").root
    source = tmp_path / "evil.c"
    source.write_text(
        "#include <fcntl.h>\n__attribute__((constructor)) static void begin(void) "
        f'{{ open("{tmp_path}/ran", O_CREAT | O_WRONLY, 0600); }}\n'
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shop / "evil.so"), str(source)], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(shop / "evil.so"))
    monkeypatch.setenv("PATCHWRIGHT_PASS_ON", "LD_PRELOAD")
    box = choose_sandbox(shop, "bubblewrap")
    done = asyncio.run(box.run(Command(argv=("/bin/sh", "-c", 'echo "$LD_PRELOAD"'), cwd=shop)))
    assert done.stdout.text().strip() == str(shop / "evil.so")
    assert not (tmp_path / "ran").exists()
