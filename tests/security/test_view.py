"""Attacks on what lies outside the workspace: homes, keys, sockets and pipes; and the honest work beside them."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.security.conftest import SECRET, Scene

pytestmark = pytest.mark.slow

KEYS = """
.ssh/id_ed25519 .gnupg/private-keys-v1.d/k.key .aws/credentials .azure/msal_token_cache.json .kube/config
.docker/config.json .config/gcloud/credentials.db .config/gh/hosts.yml .config/glab-cli/config.yml .netrc
.git-credentials .config/git/credentials .gitconfig .config/git/config .npmrc .yarnrc.yml .pypirc
.config/pip/pip.conf .cargo/credentials.toml .cargo/credentials .gem/credentials .m2/settings.xml
.m2/settings-security.xml .gradle/gradle.properties .composer/auth.json .config/composer/auth.json
.nuget/NuGet/NuGet.Config .terraformrc .terraform.d/credentials.tfrc.json .vault-token .pgpass .my.cnf .s3cfg
.codex/auth.json .claude/.credentials.json .claude.json .config/github-copilot/hosts.json .copilot/config.json
.gemini/oauth_creds.json .config/opencode/auth.json .local/share/opencode/auth.json .aider.conf.yml
.cursor/mcp.json .continue/config.json .config/io.datasette.llm/keys.json .huggingface/token
.cache/huggingface/token .kaggle/kaggle.json .wandb/settings .bitcoin/wallet.dat .ethereum/keystore/k
.electrum/wallets/default .config/solana/id.json .foundry/keystores/k .near-credentials/k.json
.bashrc .profile .zshrc .bash_history .python_history .psql_history .env .envrc .curlrc .wgetrc
.config/fish/config.fish .config/filezilla/sitemanager.xml .mozilla/firefox/p/logins.json
.config/google-chrome/Default/Cookies .config/Slack/Cookies .thunderbird/p/logins.json
.local/share/keyrings/login.keyring .config/rclone/rclone.conf .config/doctl/config.yaml .pulumi/credentials.json
.android/adbkey .hex/hex.config .local/share/uv/credentials/c.toml .sbt/.credentials .config/pypoetry/auth.toml
notes/passwords.txt work/other-project/.env Documents/taxes.ods .unknown-tool/token
"""


def test_no_key_of_the_home_folder_can_be_read(scene: Scene) -> None:
    """Of agents, clouds, forges, package managers, wallets and shells; known places and ones that nobody listed."""
    for name in KEYS.split():
        path = scene.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{SECRET} {name}\n")
    scene.own()
    named = "; ".join(f"cat {scene.home}/{name}" for name in KEYS.split())
    found = scene.run(f"{named}; grep -rs . ~; find ~ -type f -exec cat {{}} + 2>/dev/null; echo tried")[0]
    assert found.rstrip().endswith("tried")
    assert [line for line in found.splitlines() if line.startswith(SECRET)] == []
    assert SECRET not in found


@contextmanager
def _folder_of_another_account(parent: str) -> Iterator[Path]:
    """A folder beside the homes, readable for everyone: only the sandbox is in the way."""
    if not os.access(parent, os.W_OK):
        pytest.skip("only root can make another account's home folder")
    folder = Path(tempfile.mkdtemp(prefix="patchwright-test-", dir=parent))
    try:
        (folder / ".ssh").mkdir()
        (folder / ".ssh/id_ed25519").write_text(SECRET)
        for path in (folder, folder / ".ssh"):
            path.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def test_the_homes_of_other_accounts_cannot_be_read(scene: Scene) -> None:
    """Also disks and folders of services, where other people's data lie."""
    with ExitStack() as stack:
        homes = [
            stack.enter_context(_folder_of_another_account(each))
            for each in ("/home", "/srv", "/mnt", "/var/lib", "/var/log")
        ]
        answers = scene.run(*(f"cat {each}/.ssh/id_ed25519; grep -r . {each}; echo tried" for each in homes))
    for answer in answers:
        assert answer.rstrip().endswith("tried")
        assert SECRET not in answer


KNOCK = """
import socket, sys, time
for path in sys.argv[1:]:
    until = time.monotonic() + (3 if path.endswith("late.sock") else 0)
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                s.send(b"evil")
                print("REACHED", path)
                break
        except OSError:
            if time.monotonic() > until:
                break
            time.sleep(0.05)
print("tried")
"""


def _bind(path: Path, *, relative: bool = False) -> socket.socket:
    """A server at a path, from a process of its own kind: it is bound by a relative name if asked."""
    server = socket.socket(socket.AF_UNIX)
    if relative:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)
    else:
        server.bind(str(path))
    path.chmod(0o777)
    server.listen()
    server.setblocking(False)
    return server


def test_no_socket_of_another_program_is_reached_however_it_was_bound(scene: Scene) -> None:
    """By a relative name, renamed, made after the command has started; in the home, in caches, in the workspace."""
    cache = scene.home / ".cargo"
    cache.mkdir()
    scene.own()
    src = scene.root / "src"
    with ExitStack() as stack:
        servers: list[socket.socket] = []

        def serve(path: Path, *, relative: bool = False, then: Path | None = None) -> str:
            server = stack.enter_context(_bind(path, relative=relative))
            servers.append(server)
            if then:
                path.rename(then)
            return str(then or path)

        paths = [
            serve(scene.home / "relative.sock", relative=True),
            serve(cache / "relative.sock", relative=True),
            serve(cache / "old.sock", then=cache / "renamed.sock"),
            serve(scene.root / "named.sock"),
            serve(src / "relative.sock", relative=True),
            serve(src / "old.sock", then=src / "renamed.sock"),
        ]
        late = [scene.home / "late.sock", cache / "late.sock"]
        timers = [threading.Timer(0.7, serve, [each]) for each in late]
        for timer in timers:
            timer.start()
        answer = scene.run(scene.python_script(KNOCK, *paths, *map(str, late)))[0]
        for timer in timers:
            timer.join()
        assert answer.strip() == "tried"
        assert len(servers) == len(paths) + len(late)
        for server in servers:
            with pytest.raises(BlockingIOError):
                server.accept()


def test_a_pipe_outside_is_not_written(scene: Scene) -> None:
    """A named pipe needs no writable mount: in the home, in a cache that commands see, beside the workspace."""
    (scene.home / ".cargo").mkdir()
    pipes = [scene.home / "pipe", scene.home / ".cargo/pipe", scene.base / "pipe"]
    readers = []
    for pipe in pipes:
        os.mkfifo(pipe)
    scene.own()
    try:
        readers = [os.open(pipe, os.O_RDWR | os.O_NONBLOCK) for pipe in pipes]
        for pipe in pipes:
            pipe.chmod(0o666)
        script = "; ".join(f"timeout 1 sh -c 'echo evil > {pipe}'" for pipe in pipes)
        assert scene.run(f"{script}; echo tried")[0].rstrip().endswith("tried")
        for reader in readers:
            with pytest.raises(BlockingIOError):
                os.read(reader, 10)
    finally:
        for reader in readers:
            os.close(reader)


def test_a_device_outside_is_not_written(scene: Scene) -> None:
    """A device node in a visible folder: here the machine's /dev/full, which would answer "no space"."""
    if os.geteuid() != 0:
        pytest.skip("only root makes device nodes")
    (scene.home / ".cargo").mkdir()
    scene.own()
    node = scene.home / ".cargo/full"
    os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    node.chmod(0o666)
    answer = scene.run(f"echo x > {node}; echo tried")[0]
    assert "No space" not in answer
    assert answer.rstrip().endswith("tried")


def test_nothing_in_the_workspace_widens_the_view(scene: Scene) -> None:
    """A forged environment, a link for an interpreter, a git file that names another repository."""
    other = scene.home / "other"
    subprocess.run(["git", "init", "--quiet", str(other)], check=True)
    (other / ".git/secret").write_text(SECRET)
    (other / "bin").mkdir()
    (other / "lib").mkdir()
    (other / "lib/secret").write_text(SECRET)
    shutil.copy("/bin/true", other / "bin/python")
    venv = scene.root / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {other}/bin\n")
    (venv / "bin/python").symlink_to(other / "bin/python")
    (scene.root / "sub").mkdir()
    (scene.root / "sub/.git").write_text(f"gitdir: {other}/.git\n")
    scene.own()
    script = f".venv/bin/python && echo RAN; cat {other}/.git/secret {other}/lib/secret; grep -rs . {other}; echo tried"
    answer = scene.run(script)[0]
    assert answer.rstrip().endswith("tried")
    assert SECRET not in answer
    assert "RAN" not in answer


MANAGER = """
import multiprocessing as mp

def double(number):
    return 2 * number

if __name__ == "__main__":
    mp.set_start_method("forkserver")
    with mp.Manager() as manager, mp.Pool(2) as pool:
        shared = manager.dict(total=sum(pool.map(double, [1, 2, 3])))
        print("total", shared["total"])
"""


def test_sockets_between_a_commands_own_processes_work_in_bubblewrap(scene: Scene) -> None:
    """multiprocessing's managers and its fork server; in Landlock no socket can be opened, and that is said."""
    if scene.box != "bubblewrap":
        pytest.skip("Landlock allows no sockets")
    (scene.root / "src/manager.py").write_text(MANAGER)
    scene.own()
    assert scene.run([scene.python, "src/manager.py"])[0].strip() == "total 12"


POSTGRES = """
set -e
bin=$(dirname "$(readlink -f "$(command -v postgres)")")
"$bin/initdb" -D data -A trust -U me >/dev/null
"$bin/pg_ctl" -D data -w -o "-k $PWD/data -c listen_addresses=''" -l log start >/dev/null
"$bin/psql" -h "$PWD/data" -U me -At -c 'select 40 + 2' postgres
"$bin/pg_ctl" -D data -m immediate stop >/dev/null
"""


def test_a_database_server_of_a_test_works_in_bubblewrap(scene: Scene) -> None:
    if scene.box != "bubblewrap" or scene.user == 0 or not shutil.which("postgres"):
        pytest.skip("needs Postgres, an ordinary user, and sockets")
    assert "42" in scene.run(POSTGRES, timeout=60)[0].split()


def test_git_knows_the_user_and_nothing_else_of_their_settings(scene: Scene) -> None:
    settings = '[user]\n\tname = "A \\"B\\" C"  ; me\n\temail = a@example.org\n[core]\n\tsshCommand = evil\n'
    settings += (
        f'[http "https://x"]\n\textraHeader = {SECRET}\n[url "https://{SECRET}@x/"]\n\tinsteadOf = x:\n'
    )
    settings += f"[include]\n\tpath = {scene.home}/more\n[credential]\n\thelper = store --file={SECRET}\n"
    (scene.home / ".gitconfig").write_text(settings)
    (scene.home / "more").write_text("[user]\n\tsigningKey = " + SECRET + "\n")
    scene.own()
    shown = scene.run(
        "cd src; git init -q new; cd new; git commit -q --allow-empty -m x; git log --format=%an/%ae"
    )[0]
    assert shown.splitlines()[0] == 'A "B" C/a@example.org'
    everything = scene.run("git -c safe.directory=* config --list --global")[0]
    assert SECRET not in everything
    assert "evil" not in everything


def test_what_is_written_in_the_home_folder_is_thrown_away(scene: Scene) -> None:
    """Locks and downloads of package managers, and a start-up file that the next shell of the user would run."""
    (scene.home / ".cargo/registry").mkdir(parents=True)
    (scene.home / ".cargo/registry/index").write_text("cached")
    scene.own()
    before = scene.state()
    script = "cat ~/.cargo/registry/index; flock ~/.cargo/.lock echo locked; echo x > ~/.cargo/registry/index"
    script += (
        "; echo evil > ~/.bashrc; rm -rf ~/.cargo/registry; mkdir ~/.config; echo evil > ~/.config/autostart"
    )
    answer = scene.run(script)[0]
    assert "cached" in answer
    assert ("locked" in answer) is (scene.box == "bubblewrap")
    assert scene.state() == before
