"""Start of the worker: read the configuration, reserve the reply channel, start both modes."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from .frameworks.framework_runners import Framework
from .live_code.code_patching import Overlay
from .process.json_lines import Channel
from .serving.baseline import Baseline
from .serving.request_server import RequestServer
from .serving.trial_modes import Cold, Warm

if TYPE_CHECKING:
    from .process.json_lines import Json

# Flag from this process to its re-execution: start without the framework's imports for every session.
UNPREPARED = "unprepared"


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        config: Json = json.load(file)
    channel = _claim_stdout()
    sys.dont_write_bytecode = True
    # The worker's folder must not be importable; the project's is, as with `python -m pytest`.
    sys.path[0] = config["root"]
    for extra in reversed(config["python_path"]):
        sys.path.insert(0, extra)
    Overlay.texts.update(config["overlay"])
    sys.meta_path.insert(0, Overlay())
    framework = Framework.choose_framework(config["arguments"])
    if UNPREPARED not in sys.argv:
        framework.prepare()
        if _has_imported_project(config["root"]):
            # The project itself is a plugin of the framework: it must be imported again with each change.
            os.dup2(channel, 1)
            os.execv(sys.executable, [sys.executable, *sys.argv, UNPREPARED])
    lock = os.open(config["lock"], os.O_RDWR | os.O_CREAT, 0o600)
    requests = {mode: os.open(pipe, os.O_RDONLY) for mode, pipe in config["pipes"].items()}
    alive = _start_cold(framework, requests["cold"], Channel(channel, lock, "cold"), config)
    send = Channel(channel, lock, "warm").send
    send({"kind": "hello", "framework": framework.name, "python": sys.version.split()[0]})
    warm = Warm(config["root"])
    framework.run_session(
        lambda suite: warm.take_over(
            suite,
            RequestServer(requests["warm"], send, config, warm, alive),
            lambda: Baseline(warm, suite, config).run(),
        )
    )
    if not warm.served:
        send({"kind": "failed", "message": framework.problem or "the test session ended before it began"})


def _start_cold(framework: Framework, requests: int, channel: Channel, config: Json) -> int:
    """Fork the cold mode's server, before any import of the project; return a pipe that closes when it ends."""
    alive, held = os.pipe()
    if os.fork():
        os.close(held)
        return alive
    os.close(alive)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when its pipe does
    try:
        RequestServer(requests, channel.send, config, Cold(framework)).serve()
    finally:
        os._exit(0)


def _has_imported_project(root: str) -> bool:
    """Return whether a module of the project is imported already; installed packages below its root do not count."""
    files = (str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values()))
    return any(file.startswith(root + os.sep) and "-packages" + os.sep not in file for file in files)


def _claim_stdout() -> int:
    """Reserve the reply channel: output of the tests must not reach it."""
    channel = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return channel
