"""The receiver of the browser's redirect: other pages' requests neither end the sign-in nor break it."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from tools.mcp.oauth.redirect_listener import listen_for_redirect


def test_only_the_answer_with_the_state_ends_the_wait() -> None:
    async def send(address: str, query: str, head: str = "") -> str:
        place = urlsplit(address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        request = f"GET {place.path}?{query} HTTP/1.1\r\nHost: {place.netloc}\r\n{head}\r\n"
        try:
            writer.write(request.encode())
            await writer.drain()
            return (await reader.read()).decode().partition("\r\n")[0]
        except ConnectionError:
            return ""
        finally:
            writer.close()

    async def story() -> None:
        async with asyncio.timeout(20), listen_for_redirect() as listener:
            assert await send(listener.address, "error=early&state=") == "HTTP/1.1 400 Bad Request"
            listener.state = "s1"
            for query in ("error=access_denied", "code=c&state=other", "code=c&state=s1&state=s2"):
                assert await send(listener.address, query) == "HTTP/1.1 400 Bad Request"
            assert await send(listener.address, "code=c&state=s1", f"X: {'x' * (40 << 10)}\r\n") == ""
            assert await send(listener.address, "code=c&state=s1") == "HTTP/1.1 200 OK"
            assert await listener.wait() == {"code": "c", "state": "s1"}

    asyncio.run(story())
