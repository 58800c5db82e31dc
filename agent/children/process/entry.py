"""The process of a child session: lines on standard input and output, like `agent.children.process.wire`."""

from __future__ import annotations

import gc
import os


def main() -> None:
    """Serve one session. Standard input and output are kept from everything else that this process runs."""
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as the launcher does
    read_end, write_end = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    import asyncio

    from agent.children.process.served_session import serve_session

    asyncio.run(serve_session(read_end, write_end))
