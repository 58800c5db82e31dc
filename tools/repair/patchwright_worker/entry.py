"""Reads the configuration, keeps the reply channel to itself, and starts both modes from what they share."""

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

# Said by ourselves to ourselves: start without what the framework imports for every session.
UNPREPARED = "unprepared"


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        config: Json = json.load(file)
    channel = _claim_stdout()
    sys.dont_write_bytecode = True
    # Our own folder must not be importable; theirs is, as with `python -m pytest`.
    sys.path[0] = config["root"]
    for extra in reversed(config["python_path"]):
        sys.path.insert(0, extra)
    Overlay.texts.update(config["overlay"])
    sys.meta_path.insert(0, Overlay())
    framework = Framework.choose_framework(config["arguments"])
    if UNPREPARED not in sys.argv:
        framework.prepare()
        if _has_imported_project(config["root"]):
            # A plugin of the framework that the project itself is: it must be imported with each change anew.
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
    """Fork the cold mode's server, before anything of the project is imported; a pipe that ends when it does."""
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
    """Whether a module of the project is imported already; what is installed below it is not the project's own."""
    files = (str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values()))
    return any(file.startswith(root + os.sep) and "-packages" + os.sep not in file for file in files)


def _claim_stdout() -> int:
    """Keep the reply channel to ourselves: whatever the tests print must not reach it."""
    channel = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return channel
