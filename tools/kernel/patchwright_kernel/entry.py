"""Setup of the kernel, and the loop that serves the host until it closes."""

from __future__ import annotations

import os
import signal
import sys

from .block_runner import BlockRunner
from .channel import Channel, HostGone
from .tool_functions import Functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CUT_OFF = 107
"""Exit status when the connection is closed, by the host or by a block. (The number of ENOTCONN.)"""


def main(control: int, interrupts: int, output: int) -> None:
    """Serve blocks. Descriptors: a socket for frames, one for interrupts, and a pipe for all printed output."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(control)
    try:
        blocks = _prepare_blocks(channel, channel.receive())
        channel.watch_interrupts(interrupts)
        channel.send({"kind": "ready", "python": "%d.%d.%d" % sys.version_info[:3]})
        while True:
            frame = channel.receive()
            channel.send(blocks.run(frame["number"], frame["code"]))
    except HostGone:
        pass
    os._exit(CUT_OFF)  # no thread or exit handler of a block keeps the process alive


def _prepare_blocks(channel: Channel, hello: dict[str, Any]) -> BlockRunner:
    sys.path[0] = hello["root"]
    sys.path.extend(hello["paths"])
    sys.argv = [""]
    functions = Functions(channel)
    for tool in hello["tools"]:
        functions.add(tool["name"], tool["tool"], tool["parameters"], tool["doc"])
    blocks = BlockRunner(channel, functions.module)
    for kept in hello["functions"]:
        try:
            blocks.define(kept["name"], kept["source"])
        except Exception as error:  # it worked when it was saved; the others are still usable
            print("kept function %s could not be loaded: %r" % (kept["name"], error))
    return blocks
