"""The process of a bridge: a driver of Ray, which starts an actor for each child and passes its lines on."""

from __future__ import annotations

import asyncio
import os


def main() -> None:
    """Serve one session. Standard input and output are kept from everything else that runs here."""
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as the launcher does
    read_end, write_end = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    asyncio.run(_serve(read_end, write_end))


async def _serve(read_end: int, write_end: int) -> None:
    from agent.children.process.wire import LONGEST, decode_message, encode_message
    from packages.scale.children.cluster_end import ClusterEnd
    from sandbox.errors import UserError

    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=LONGEST + 32)
    protocol = asyncio.StreamReaderProtocol(lines)
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(read_end, "rb", buffering=0))

    def send(number: int, line: bytes) -> None:
        view = memoryview(b"%d %s" % (number, line))
        while view:
            view = view[os.write(write_end, view) :]

    order = decode_message((await lines.readline()).partition(b" ")[2])
    if order is None:
        return
    try:
        bridge = await ClusterEnd.connect(order, send)
    except UserError as error:
        fields = {"fault": error.fault, "text": error.message, "hint": error.hint}
        send(0, encode_message("refused", **fields))
        return
    try:
        send(0, encode_message("connected", slots=bridge.slots))
        while line := await lines.readline():
            number, _, content = line.partition(b" ")
            if int(number) == 0:
                break
            bridge.take_line(int(number), content)
    finally:
        transport.close()
        await bridge.close()
