"""Attacks from inside a kernel: it can do what a command and a tool call can, and nothing else; nothing survives it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from sandbox.policy.rules import Rules, parse_rule
from tests.security.conftest import SECRET, Scene
from tests.tools.kernel.kernels import Kernel

pytestmark = pytest.mark.slow

RAW = """\
import json, os
from patchwright_kernel import entry
import gc
channel = next(each for each in gc.get_objects() if type(each).__name__ == "Channel")
control = channel._descriptor
def raw(data):
    os.write(control, len(data).to_bytes(4, "big") + data)
def ask(tool, **arguments):
    raw(json.dumps({"kind": "call", "id": 1, "tool": tool, "arguments": arguments}).encode())
    return channel.receive()
"""
"""Speaks to the host without the driver's functions, as any code in a kernel can."""


@pytest.fixture
def kernel(scene: Scene) -> Iterator[Kernel]:
    rules = Rules(rules=(parse_rule("read(private.txt)", "deny"),))
    (scene.root / "private.txt").write_text("not for models")
    before = scene.state()
    with Kernel(scene.root, box=scene.box, rules=rules) as kernel:
        yield kernel
    after = {name: what for name, what in scene.state().items() if not name.startswith("shop-session")}
    assert after == before, "something outside src/ changed"


def tries(kernel: Kernel, *attempts: str) -> list[str]:
    """The outcome of each attempt: "refused" with the error's name, or what it came to."""
    lines = ["results = []"]
    for attempt in attempts:
        lines += ["try:", f"    results.append(repr({attempt}))"]
        lines += ["except BaseException as error:", "    results.append('refused ' + type(error).__name__)"]
    lines.append("for each in results: print(each[:300])")
    return kernel.text("\n".join(lines)).splitlines()


def test_files_outside_are_out_of_reach_by_every_way(scene: Scene, kernel: Kernel) -> None:
    neighbour, key = scene.base / "neighbour", scene.home / ".ssh" / "id_ed25519"
    kernel.text(
        "import ctypes, os, shutil, subprocess\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def forked(path):\n"
        "    if os.fork() == 0:\n"
        "        try: open(path, 'w').write('x')\n"
        "        finally: os._exit(0)\n"
        "    os.wait()\n"
        "    raise PermissionError\n"
    )
    tries(  # where /var/tmp is a private one, they do work there, and leave nothing behind
        kernel,
        f"open({str(neighbour)!r}, 'w')",
        f"os.remove({str(neighbour)!r})",
        f"forked({str(neighbour)!r})",
        f"subprocess.run(['sh', '-c', 'echo x > {neighbour}'], check=True, stderr=-1)",
        f"open('/proc/self/root{neighbour}', 'w')",
        f"os.link({str(neighbour)!r}, 'src/linked')",
        f"os.makedirs({str(scene.home / '.config' / 'autostart')!r})",
        f"libc.open({str(neighbour).encode()!r}, os.O_WRONLY | os.O_TRUNC)",
    )
    assert neighbour.read_text() == "precious"
    outcomes = tries(
        kernel,
        f"open({str(key)!r}).read() or 1 / 0",
        f"shutil.copy({str(key)!r}, 'src/stolen')",
        "open('.git/hooks/pre-commit', 'w')",
        "open('.git/config', 'a')",
        "os.rename('.git', 'src/git')",
    )
    assert [each for each in outcomes if not each.startswith("refused")] == []
    assert SECRET not in kernel.run(f"print(read({str(key)!r}))").text


def test_other_processes_and_the_kernel_are_out_of_reach(scene: Scene, kernel: Kernel) -> None:
    kernel.text("import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)")
    outcomes = tries(
        kernel,
        f"open('/proc/{os.getpid()}/mem', 'r+b').read(1)",
        f"open('/proc/{os.getpid()}/environ', 'rb').read()[0]",
        f"1 / (libc.ptrace(16, {os.getpid()}, 0, 0) + 1)",
        "1 / (libc.unshare(0x10000000) + 1)",
        "1 / (libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) + 1)",
        "1 / (libc.setns(0, 0) + 1)",
        "1 / (libc.syscall(101, 0, 0, 0, 0) + 1)" if os.uname().machine == "x86_64" else "1 / 0",
        "os.setuid(0) or open('/etc/passwd', 'a')",
        "open('/proc/sys/kernel/core_pattern', 'w').write('|x') and 1",
        "open('/proc/self/oom_score_adj', 'w').write('-1000') and 1 / 0",
    )
    assert [each for each in outcomes if not each.startswith("refused")] == []
    if scene.box == "bubblewrap":
        assert tries(kernel, f"os.kill({os.getpid()}, 0) or os.listdir('/proc').index('{os.getpid()}')")[
            0
        ].startswith("refused")


def test_no_socket_leads_out(kernel: Kernel) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        kernel.text("import socket, urllib.request")
        outcomes = tries(
            kernel,
            f"socket.create_connection(('127.0.0.1', {port}), timeout=5)",
            f"urllib.request.urlopen('http://127.0.0.1:{port}/', timeout=5)",
            "socket.create_connection(('192.0.2.1', 80), timeout=1)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
            "socket.socket(socket.AF_UNIX).connect('/run/docker.sock')",
        )
    assert [each for each in outcomes if not each.startswith("refused")] == []


def test_forged_calls_are_judged_like_honest_ones(scene: Scene, kernel: Kernel) -> None:
    kernel.text(RAW + "private = ask('read', path='private.txt')")
    assert "denied" in kernel.text("private['error']")
    forged = (
        "ask('write', path='../neighbour', content='x')",
        f"ask('write', path={str(scene.base / 'neighbour')!r}, content='x')",
        "ask('write', path='.git/hooks/pre-commit', content='x')",
        f"ask('read', path={str(scene.home / '.ssh/id_ed25519')!r})",
        "ask('no_such_tool', path='x')",
        "ask('read', path=['a'], other={})",
        "ask('python', code='1')",
        "ask('__class__')",
        "ask('')",
        '(raw(b\'{"kind": "call", "tool": [1], "arguments": 5}\'), channel.receive())[1]',
    )
    for each in tries(kernel, *forged):
        assert each.startswith("{'error': "), each
    actions = [entry for entry in kernel.log if entry[0] == "action" and entry[2] == "write"]
    assert all("/" in entry[1] for entry in actions)  # each in the log, under the block that asked
    kernel.text("import os\nos.symlink('/', 'src/top')")
    assert "ToolError" in kernel.run(f"write('src/top{scene.base}/neighbour', 'x')").text
    kernel.text("os.remove('src/top')")


@pytest.mark.parametrize(
    "frame",
    [
        "os.write(control, (1 << 31).to_bytes(4, 'big') + b'x' * 1000)",
        "raw(b'no json')",
        "raw(b'[' * 100_000)",
        "raw(b'5')",
        "raw(b'\\xff\\xfe')",
    ],
    ids=["huge", "no-json", "deep", "no-object", "no-text"],
)
def test_a_broken_message_costs_the_kernel_and_nothing_else(kernel: Kernel, frame: str) -> None:
    observation = kernel.run(f"{RAW}{frame}\nimport time; time.sleep(300)")
    assert observation.data["ended"] == "died"
    assert "it sent a message" in observation.text
    assert kernel.text("6 * 7") == "=> 42"


def test_a_forged_end_of_a_block_changes_only_what_that_block_says(kernel: Kernel) -> None:
    done = "{'kind': 'done', 'number': channel.number, 'value': 'forged', 'left': 5, 'names': 7}"
    observation = kernel.run(f"{RAW}raw(json.dumps({done}).encode())")
    assert "forged" in observation.text
    assert "=> 42" in kernel.run("6 * 7").text
    assert "=> 43" in kernel.run("6 * 7 + 1").text


def test_nothing_of_the_host_is_in_a_kernel_and_nothing_is_unpickled(scene: Scene, kernel: Kernel) -> None:
    code = (
        "import gc, sys\n"
        "names = {type(each).__name__ for each in gc.get_objects()}\n"
        "sorted(names & {'Gateway', 'Workspace', 'KernelSession', 'Policy', 'Session'}), "
        "[name for name in sys.modules if name.split('.')[0] in ('sandbox', 'agent', 'tools', 'cli')]"
    )
    assert kernel.text(code) == "=> ([], [])"
    evil = (
        "class Evil:\n"
        "    def __reduce__(self):\n"
        f"        return (open, ({str(scene.base / 'neighbour')!r}, 'w'))\n"
        "    def __str__(self):\n"
        "        return 'as text'\n"
    )
    assert "as text" in kernel.run(f"{evil}read(Evil())").text


def test_a_driver_that_was_changed_gains_nothing(scene: Scene, kernel: Kernel) -> None:
    kernel.run(
        "import patchwright_tools, builtins, json, os\n"
        "from patchwright_kernel import blocks, channel, functions\n"
        "functions._to_plain_value = lambda value: value\n"
        "blocks.Blocks._record_error = lambda *_: None\n"
        "json.dumps = lambda *_, **__: '{}'\n"
        "builtins.len = lambda _: 0"
    )
    observation = kernel.run(f"write({str(scene.base / 'neighbour')!r}, 'x')", timeout=1)
    assert observation.failed
    assert (scene.base / "neighbour").read_text() == "precious"
    assert "=> 42" in kernel.run("6 * 7").text


def test_what_a_block_makes_under_a_guarded_name_is_moved_away_and_told(scene: Scene, kernel: Kernel) -> None:
    observation = kernel.run(
        "import os\n"
        "for name in ('.husky', '.github'):\n"
        "    try:\n"
        "        os.mkdir(name)\n"
        "        open(name + '/run', 'w').write('x')\n"
        "    except OSError: pass"
    )
    assert not (scene.root / ".husky").exists()
    assert not (scene.root / ".github").exists()
    if scene.box == "bubblewrap":  # Landlock lets nothing be made there in the first place
        assert "'.husky' was made, and moved to" in observation.text
