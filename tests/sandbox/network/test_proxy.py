"""The proxy reaches what is listed, at public addresses; it reads requests one way only."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import ssl
from email.parser import BytesParser
from pathlib import Path

import pytest

from sandbox.errors import Fault, UserError
from sandbox.network.client_hello import NotTls, is_retry_request, parse_client_hello
from sandbox.network.hosts import Target, is_public, parse_host_rules, parse_target
from sandbox.network.proxy import TrafficLimits, connect_to_address
from sandbox.network.proxy_request import Refused, parse_request
from sandbox.network.tunnel import Tunnel
from tests.sandbox.internet import PUBLIC, Internet, ask, certified
from tests.support.stress import count_cases


@pytest.mark.parametrize(
    ("entry", "host", "port", "fits"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 80, True),
        ("PyPI.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 22, False),
        ("pypi.org", "evil.pypi.org", 443, False),
        ("pypi.org", "pypi.org.evil.example", 443, False),
        ("pypi.org", "evilpypi.org", 443, False),
        ("*.npmjs.org:443", "registry.npmjs.org", 443, True),
        ("*.npmjs.org:443", "a.b.npmjs.org", 443, True),
        ("*.npmjs.org:443", "npmjs.org", 443, False),
        ("*.npmjs.org:443", "evilnpmjs.org", 443, False),
        ("*.npmjs.org:443", "registry.npmjs.org", 80, False),
    ],
)
def test_an_entry_means_one_host_or_those_below_it(entry: str, host: str, port: int, fits: bool) -> None:
    (rule,) = parse_host_rules([entry])
    assert rule.matches(Target(host=host, port=port)) is fits


@pytest.mark.parametrize(
    "entry", ["", "*", "*.org", "*.*.org", "pypi.*", "localhost", "10.0.0.1", "[::1]", "https://pypi.org", "a.b:0",
              "a.b:70000", "a b.org", "pypi.org/simple", "bücher.example", "a..b", "0x7f.1", "a.org\n"]
)  # fmt: skip
def test_an_entry_that_names_no_host_is_quoted(entry: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_host_rules([entry])
    assert caught.value.fault is Fault.CONFIGURATION
    assert repr(entry) in caught.value.message


ADDRESSES = ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "[::1]", "::1",
             "[::ffff:127.0.0.1]", "169.254.169.254", "0xa9.254.169.254", "a.0x7f", "1.2.3.4.", "127。0。0。1",
             "①②⑦.0.0.1")  # fmt: skip


@pytest.mark.parametrize("host", ADDRESSES)
def test_an_address_is_no_name_in_any_spelling(host: str) -> None:
    assert parse_target(f"{host}:443") is None


@pytest.mark.parametrize("authority", ["user@shop.example:80", "shop.example:", "shop.example:0", "shop.example:65536",
                                       "shop.example:8 0", "shop.example", ":80", "shop.example:٤٤٣", "a" * 64 + ".b:1",
                                       "shop.example..:80", "shop.example:80:80"])  # fmt: skip
def test_an_authority_that_could_be_read_twice_is_none(authority: str) -> None:
    assert parse_target(authority) is None


def test_case_and_a_dot_at_the_end_do_not_make_another_host() -> None:
    assert parse_target("Shop.Example.:443") == Target(host="shop.example", port=443)


PRIVATE = ("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
           "224.0.0.1",
           "255.255.255.255", "240.0.0.1", "168.63.129.16", "100.100.100.200", "192.88.99.1", "::", "::1", "fe80::1",
           "fe80::1%lo", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1",
           "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1",
           "fec0::1", "shop.example", "")  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_of_the_public_internet_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:2800:220:1::1", "64:ff9b::808:808"])
def test_an_address_of_the_public_internet_is_public(address: str) -> None:
    assert is_public(address)


def test_a_listed_host_is_served_and_told_the_name_we_understood() -> None:
    internet = Internet()
    (answer,), noticed = ask(
        internet,
        b"GET http://Shop.Example/a?b HTTP/1.1\r\nHost: shop.example:80\r\nX-One: 1\r\n"
        b"Connection: keep-alive, x-two\r\nX-Two: 2\r\nProxy-Authorization: Basic eDp5\r\n\r\n",
    )
    assert answer.endswith(b"hello")
    assert internet.served == [
        b"GET /a?b HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\nX-One: 1\r\n\r\n"
    ]
    assert internet.dialled == [(PUBLIC, 80)]
    assert noticed == []


def test_a_tunnel_passes_bytes_on_unread_after_the_greeting() -> None:
    internet = Internet()
    said = greeting("a.b.CDN.example") + b"anything\r\n\r\n"
    (answer,), _ = ask(internet, b"CONNECT a.b.cdn.example:443 HTTP/1.1\r\n\r\n" + said)
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + internet.answer
    assert internet.served == [said]
    assert internet.dialled == [("2606:2800:220:1::1", 443)]


def test_a_greeting_that_asks_for_another_server_goes_nowhere() -> None:
    tunnel, hello = b"CONNECT shop.example:443 HTTP/1.1\r\n\r\n", greeting("shop.example")
    others = [
        greeting("other.example"),
        greeting("evil.shop.example"),
        greeting(""),
        b"GET / HTTP/1.1\r\n\r\n",
    ]
    others += [
        in_records(greeting("other.example"), 7),
        hello[:5] + b"\x02" + hello[6:],  # another message than a greeting
    ]
    internet = Internet()
    _, told = ask(internet, *(tunnel + each for each in others))
    ask(internet, tunnel + greeting("shop.example")[:40], bounds=TrafficLimits(idle=0.2))
    assert all(not served for served in internet.served)
    assert "network: refused: shop.example:443: its TLS greeting asks for 'other.example'" in told
    assert "network: refused: shop.example:443: its TLS greeting asks for no server" in told


def test_a_greeting_is_read_however_it_is_cut_into_records() -> None:
    whole = greeting("shop.example")
    for size in (1, 5, 100):
        cut = in_records(whole, size)
        hello = parse_client_hello(cut)
        assert hello is not None
        assert (hello.name, hello.hides, hello.size) == ("shop.example", False, len(cut))
        assert all(parse_client_hello(cut[:end]) is None for end in range(0, len(cut), 31))


def test_a_greeting_in_thousands_of_pieces_is_refused() -> None:
    whole = greeting("shop.example")
    message = b"\x01" + (4000).to_bytes(3, "big") + whole[9:] + bytes(4000)
    tunnel = Tunnel(Target(host="shop.example", port=443))
    with pytest.raises(Refused, match="too many pieces"):
        tunnel.receive_from_client(in_records(whole[:5] + message, 1))


def test_no_broken_greeting_is_read_as_anything_but_refused() -> None:
    draw = random.Random(int(os.environ.get("PATCHWRIGHT_SEED", "1")))
    whole = greeting("shop.example")
    for _ in range(count_cases(2000)):
        at = draw.randrange(len(whole))
        broken = whole[:at] + bytes([draw.randrange(256)]) + whole[at + 1 :]
        with contextlib.suppress(NotTls):
            hello = parse_client_hello(broken)
            assert hello is None or 0 < hello.size <= len(broken)


def greeting(name: str) -> bytes:
    """What a TLS client of Python's says first."""
    return Talking(name).says()


class Talking:
    """A TLS client of Python's, or a server that takes only a curve for which no client has made a key yet."""

    def __init__(self, name: str = "", *, serves: Path | None = None) -> None:
        kind = ssl.PROTOCOL_TLS_SERVER if serves else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(kind)
        if serves:
            context.load_cert_chain(serves / "cert.pem", serves / "key.pem")
            context.set_ecdh_curve("secp384r1")
        else:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._side = context.wrap_bio(
            self._incoming, self._outgoing, server_side=bool(serves), server_hostname=name or None
        )

    def says(self, heard: bytes = b"") -> bytes:
        self._incoming.write(heard)
        with contextlib.suppress(ssl.SSLWantReadError):
            self._side.do_handshake()
        return self._outgoing.read()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("tls"))


def asked_again(folder: Path) -> tuple[bytes, bytes, bytes]:
    """A client's first greeting, the answer of a server that wants another, and that."""
    client, server = Talking("shop.example"), Talking(serves=folder)
    first = client.says()
    again = server.says(first)
    assert is_retry_request(again)
    return first, again, client.says(again)


@pytest.mark.slow
def test_a_second_greeting_has_to_ask_for_the_same_server(certificate: Path) -> None:
    first, again, second = asked_again(certificate)
    early = b"\x17\x03\x03\x00\x05early"
    for between in (b"", early):
        tunnel = Tunnel(Target(host="shop.example", port=443))
        assert tunnel.receive_from_client(first + between + second) == first
        assert not tunnel.goes_on.is_set()
        assert tunnel.receive_from_server(again[:20]) == b""
        assert tunnel.receive_from_server(again[20:]) == between + second
        assert tunnel.is_open
    other = second.replace(b"shop.example", b"evil.example")
    for said in (other, early + other, second.replace(b"shop.example", b"\0\0\0\0.example")):
        tunnel = Tunnel(Target(host="shop.example", port=443))
        assert tunnel.receive_from_client(first) == first
        assert tunnel.receive_from_server(again) == b""
        with pytest.raises(Refused, match="its TLS greeting asks for"):
            tunnel.receive_from_client(said)


@pytest.mark.slow
def test_a_second_greeting_is_seen_however_the_bytes_come(certificate: Path) -> None:
    first, again, second = asked_again(certificate)
    tunnel = Tunnel(Target(host="shop.example", port=443))
    passed = b"".join(tunnel.receive_from_client(first[at : at + 1]) for at in range(len(first)))
    passed += b"".join(tunnel.receive_from_server(again[at : at + 1]) for at in range(len(again)))
    passed += b"".join(tunnel.receive_from_client(second[at : at + 1]) for at in range(len(second)))
    assert passed == first + second
    assert tunnel.is_open


def test_a_server_that_does_not_ask_again_opens_the_tunnel() -> None:
    for answer in (b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26" + b"\x03" * 38):
        tunnel = Tunnel(Target(host="shop.example", port=443))
        tunnel.receive_from_client(greeting("shop.example") + b"more")
        assert tunnel.receive_from_server(answer) == b"more"
        assert tunnel.is_open


def test_a_warning_before_the_answer_does_not_open_the_tunnel(certificate: Path) -> None:
    first, again, second = asked_again(certificate)
    warning = b"\x15\x03\x03\x00\x02\x01\x70"  # unrecognized_name
    other = second.replace(b"shop.example", b"evil.example")
    for cut in range(len(warning) + 2):
        tunnel = Tunnel(Target(host="shop.example", port=443))
        tunnel.receive_from_client(first)
        passed = tunnel.receive_from_server((warning + again)[:cut]) + tunnel.receive_from_server(
            (warning + again)[cut:]
        )
        assert passed == b""
        with pytest.raises(Refused, match="its TLS greeting asks for"):
            tunnel.receive_from_client(other)


def test_a_server_that_hangs_up_on_a_greeting_holds_no_connection() -> None:
    """Else some dozens of failed greetings would be all that a command may have open at once."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        writer.close()

    async def story() -> int:
        proxy = internet.proxy(bounds=TrafficLimits(idle=600, connections=1))
        listener = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.create_task(proxy.serve(listener, noticed))
        for _ in range(3):
            reader, writer = await connect_to_address(*listener.getsockname()[:2])
            writer.write(b"CONNECT shop.example:443 HTTP/1.1\r\n\r\n" + greeting("shop.example"))
            assert await reader.read() == b"HTTP/1.1 200 Connection established\r\n\r\n"
            writer.close()
            while any("_handle_connection" in repr(task) for task in asyncio.all_tasks()):
                await asyncio.sleep(0)
        serving.cancel()
        await asyncio.wait([serving])
        return len(internet.dialled)

    noticed: list[str] = []
    internet = Internet(serve=hang_up)
    assert internet.run(story) == 3
    assert noticed == []


def test_a_greeting_with_another_one_in_its_record_is_refused() -> None:
    hello, other = greeting("shop.example"), greeting("other.example")
    both = hello[5:] + other[5:]
    tunnel = Tunnel(Target(host="shop.example", port=443))
    with pytest.raises(Refused, match="something follows the greeting"):
        tunnel.receive_from_client(hello[:3] + len(both).to_bytes(2, "big") + both)


def test_a_greeting_that_hides_a_server_is_refused() -> None:
    hello = greeting("shop.example")
    kind = b"\xfe\x0d\x00\x01\x00"  # encrypted_client_hello
    start = 5 + 4 + 2 + 32
    start += 1 + hello[start]
    start += 2 + int.from_bytes(hello[start : start + 2], "big")
    start += 1 + hello[start]
    size = int.from_bytes(hello[start : start + 2], "big") + len(kind)
    message = hello[9:start] + size.to_bytes(2, "big") + hello[start + 2 :] + kind
    body = b"\x01" + len(message).to_bytes(3, "big") + message
    tunnel = Tunnel(Target(host="shop.example", port=443))
    with pytest.raises(Refused, match="hides the server"):
        tunnel.receive_from_client(hello[:3] + len(body).to_bytes(2, "big") + body)


def test_plain_http_does_not_hide_in_a_tunnel() -> None:
    internet = Internet()
    said = b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"
    _, told = ask(internet, b"CONNECT shop.example:80 HTTP/1.1\r\n\r\n" + said)
    assert internet.served == [b""]
    assert told == ["network: refused: shop.example:80: no TLS greeting"]


def in_records(hello: bytes, size: int) -> bytes:
    """The same first message in records of so many bytes."""
    message = hello[5:]
    parts = [message[start : start + size] for start in range(0, len(message), size)]
    return b"".join(hello[:3] + len(part).to_bytes(2, "big") + part for part in parts)


@pytest.mark.parametrize(
    ("body", "arrives"),
    [
        (b"Content-Length: 4\r\n\r\nbody", b"Content-Length: 4\r\n\r\nbody"),
        (
            b"Transfer-Encoding: Chunked\r\n\r\n04;x=y\r\nbody\r\n0\r\nTrailer: x\r\n\r\n",
            b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ),
    ],
)
def test_a_body_arrives_and_what_follows_it_does_not(body: bytes, arrives: bytes) -> None:
    internet = Internet()
    second = b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n"
    (answer,), _ = ask(internet, b"POST http://shop.example/ HTTP/1.1\r\n" + body + second)
    assert b"hello" in answer
    (served,) = internet.served
    assert served.endswith(arrives)


MALFORMED = (
    b"GET / HTTP/1.1\r\nHost: shop.example",
    b"GET https://shop.example/ HTTP/1.1",
    b"GET ftp://shop.example/ HTTP/1.1",
    b"GET http://shop.example@other.example/ HTTP/1.1",
    b"GET http://shop.example\\@other.example/ HTTP/1.1",
    b"GET http://shop.example#@other.example/ HTTP/1.1",
    b"GET http://shop.example/ HTTP/2.0",
    b"GET http://shop.example/ a HTTP/1.1",
    b"GET  http://shop.example/ HTTP/1.1",
    b"GET http://shop.example/\x00 HTTP/1.1",
    b"GET http://shop.example/ HTTP/1.1\r\nHost: other.example",
    b"GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\nHost: other.example",
    b"GET http://shop.example/ HTTP/1.1\r\nHost : shop.example",
    b"GET http://shop.example/ HTTP/1.1\r\nX: 1\r\n folded: 2",
    b"GET http://shop.example/ HTTP/1.1\r\nX: 1\nHost: other.example",
    b"GET http://shop.example/ HTTP/1.1\r\nX: 1\rHost: other.example",
    b"POST http://shop.example/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
    b"POST http://shop.example/ HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5",
    b"POST http://shop.example/ HTTP/1.1\r\nContent-Length: +4",
    b"POST http://shop.example/ HTTP/1.1\r\nContent-Length: 4, 5",
    b"POST http://shop.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
    b"POST http://shop.example/ HTTP/1.1\r\nTransfer-Encoding: xchunked",
    b"POST http://shop.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    b"POST http://shop.example/ HTTP/1.0\r\nTransfer-Encoding: chunked",
    b"CONNECT http://shop.example/ HTTP/1.1",
    b"CONNECT shop.example HTTP/1.1",
)


@pytest.mark.parametrize("head", MALFORMED)
def test_a_head_that_could_be_read_twice_is_refused(head: bytes) -> None:
    with pytest.raises(Refused):
        parse_request(head + b"\r\n\r\n")


PIECES = (b"\r\n", b"\n", b"\r", b"\x00", b" ", b"\t", b":", b",", b"/", b"@", b"#", b"\\", b"[", b"%0d%0a", b"\xb2",
          b"http://", b"other.example", b"127.0.0.1", b"Host: ", b"Content-Length: 5\r\n", b"Connection: host\r\n",
          b"Transfer-Encoding: chunked\r\n", b"HTTP/1.1", b"CONNECT ", b"GET ", b"chunked", b"\x85")  # fmt: skip


def test_a_head_takes_no_longer_to_read_than_it_is_long() -> None:
    """White space inside a header line that is none: with two ways to read each blank it would take hours."""
    with pytest.raises(Refused):
        parse_request(b"GET http://shop.example/ HTTP/1.1\r\nX:" + b" " * 16_000 + b"\0\r\n\r\n")


@pytest.mark.slow
def test_what_is_passed_on_says_what_was_judged_however_the_head_is_broken() -> None:
    draw = random.Random(int(os.environ.get("PATCHWRIGHT_SEED", "1")))
    good = (
        b"POST http://shop.example:80/a HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 5\r\nX: y\r\n\r\n",
        b"GET http://shop.example/ HTTP/1.1\r\nConnection: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    passed = 0
    for _ in range(count_cases(5000)):
        head = draw.choice(good)[:-4]
        for _ in range(draw.randint(1, 3)):
            at, drop = draw.randint(0, len(head)), draw.choice((0, 0, 1, 5))
            head = head[:at] + draw.choice(PIECES) + head[at + drop :]
        try:
            request = parse_request(head.split(b"\r\n\r\n")[0] + b"\r\n\r\n")
        except Refused:
            continue
        if request.method == "CONNECT":
            continue
        passed += 1
        first, rest = request.forwarded.split(b"\r\n", 1)
        fields = BytesParser().parsebytes(rest)
        framing = [*fields.get_all("content-length", []), *fields.get_all("transfer-encoding", [])]
        assert first.count(b" ") == 2, head
        assert fields.get_all("host") == [str(request.target).removesuffix(":80")], head
        assert len(framing) == (request.body != "none"), head
        assert fields.get_payload() == "", head
    assert passed > 50


@pytest.mark.parametrize("chunks", [b"-4\r\nbody\r\n0\r\n\r\n", b"0x4\r\nbody\r\n0\r\n\r\n", b"3\r\nbody\r\n0\r\n\r\n",
                                    b"\r\n", b"4_0\r\n", b"f" * 16 + b"\r\n", b"4" + b" " * 20000])  # fmt: skip
def test_chunks_that_could_be_read_twice_end_the_connection(chunks: bytes) -> None:
    internet = Internet()
    internet.answer = b""
    ask(internet, b"POST http://shop.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    assert all(b"0\r\n\r\n" not in served for served in internet.served)


@pytest.mark.slow
def test_what_is_too_much_is_refused() -> None:
    bounds = TrafficLimits(head=2048, waiting=0.5, connections=3, total=1 << 20, idle=0.5)
    internet = Internet()
    tunnel = b"CONNECT shop.example:443 HTTP/1.1\r\n\r\n"
    (long,), _ = ask(internet, b"GET http://shop.example/ HTTP/1.1\r\nX: " + b"x" * 4000, bounds=bounds)
    (slow,), _ = ask(internet, b"GET http://shop.example/ HTTP/1.1\r\nX: ", bounds=bounds)
    (idle,), _ = ask(internet, tunnel, bounds=bounds)
    many, told = ask(internet, *[tunnel] * 5, bounds=bounds)
    _, heavy = ask(internet, tunnel + greeting("shop.example") + b"x" * (3 << 20), bounds=bounds)
    assert b" 431 " in long
    assert b" 408 " in slow
    assert idle.endswith(b"established\r\n\r\n")
    assert sum(not each for each in many) == 2
    assert told == ["network: refused: more than 3 connections at once"]
    assert heavy == ["network: refused: more than 1048576 bytes in one command"]
    assert len(internet.served[-1]) <= 1 << 20
