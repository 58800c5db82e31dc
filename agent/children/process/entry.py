"""The process of a child session: lines on standard input and output, like `agent.children.process.wire`."""

from __future__ import annotations

from agent.children.process.process_start import take_pipes


def main() -> None:
    """Serve one session. Standard input and output are kept from everything else that this process runs."""
    read_end, write_end = take_pipes()
    import asyncio

    from agent.children.process.served_session import serve_session

    asyncio.run(serve_session(read_end, write_end))
