"""Reads the configuration, keeps the reply channel to itself, and starts the mode that is asked for."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from .frameworks import Framework
from .modes import Cold, Warm
from .patching import Overlay
from .trials import Server
from .wire import write_all

if TYPE_CHECKING:
    from .wire import Json, Send


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        config: Json = json.load(file)
    send = _claim_stdout()
    sys.dont_write_bytecode = True
    # Our own folder must not be importable; theirs is, as with `python -m pytest`.
    sys.path[0] = config["root"]
    for extra in reversed(config["python_path"]):
        sys.path.insert(0, extra)
    Overlay.texts.update(config["overlay"])
    sys.meta_path.insert(0, Overlay())
    framework = Framework.choose(config["arguments"])
    requests = os.open(config["pipe"], os.O_RDONLY)
    send({"kind": "hello", "framework": framework.name, "python": sys.version.split()[0]})
    if config["mode"] == "cold":
        framework.prepare()
        Server(requests, send, config, Cold(framework)).serve()
        return
    warm = Warm(config["root"])
    framework.session(lambda suite: warm.take_over(suite, requests, send, config))
    if not warm.served:
        send({"kind": "failed", "message": framework.problem or "the test session ended before it began"})


def _claim_stdout() -> Send:
    """Keep the reply channel to ourselves: whatever the tests print must not reach it."""
    channel = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)

    def send(message: Json) -> None:
        write_all(channel, json.dumps(message).encode() + b"\n")

    return send
