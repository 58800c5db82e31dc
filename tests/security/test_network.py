"""Attacks on the list of hosts, carried out inside the sandbox: nothing is reached but what is listed."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import socket
import ssl
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.layers import load_settings
from sandbox.backends.bubblewrap import Bubblewrap
from sandbox.backends.constraints import Constraints
from sandbox.backends.selection import choose_sandbox
from sandbox.errors import Fault, UserError
from sandbox.process.command import Command, Completed
from tests.sandbox.boxes import bwrap, privilege
from tests.sandbox.internet import PUBLIC, Internet, certified

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine"),
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """A service of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


@pytest.fixture(params=["root", "user"])
def rights(request: pytest.FixtureRequest) -> str:
    if request.param == "root" and privilege() != "root":
        pytest.skip("needs root")
    return str(request.param)


def box(root: Path, internet: Internet, rights: str = "") -> Bubblewrap:
    return Bubblewrap(
        Constraints(root), program=bwrap(), privilege=rights or privilege(), proxy=internet.proxy()
    )


def sh(
    root: Path, internet: Internet, *scripts: str, rights: str = "", tls: ssl.SSLContext | None = None
) -> list[Completed]:
    """What comes of scripts that run at the same time in one sandbox."""

    async def story() -> list[Completed]:
        at = box(root, internet, rights)
        commands = [Command(argv=("/bin/sh", "-c", each), cwd=root, timeout=30) for each in scripts]
        return await asyncio.gather(*map(at.run, commands))

    return internet.run(story, tls)


def python(source: str) -> str:
    return f"{sys.executable} -c '{source}'"


RAW = (
    'import os,socket as s; c=s.create_connection(("127.0.0.1",61080)); '
    'c.sendall(os.environ["R"].encode().decode("unicode_escape").encode()); print(c.makefile("rb").read())'
)

NOWHERE = (
    f"curl -sS -m 5 --noproxy '*' http://{PUBLIC}/",
    "curl -sS -m 5 --noproxy '*' http://shop.example/",
    "env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -sS -m 5 http://shop.example/",
    "NO_PROXY='*' no_proxy='*' curl -sS -m 5 http://shop.example/",
    f"curl -sS -m 5 --noproxy '*' --resolve shop.example:80:{PUBLIC} http://shop.example/",
    "curl -sS -m 5 --noproxy '*' http://127.0.0.1:{canary}/ http://localhost:{canary}/",
    "curl -sS -m 5 --noproxy '' http://127.0.0.1:{canary}/ http://localhost:{canary}/ http://[::1]:{canary}/",
    "curl -sS -m 5 --noproxy '' http://2130706433:{canary}/ http://0x7f.1:{canary}/ http://127.1:{canary}/",
    "curl -sS -m 5 --noproxy '' http://0177.0.0.1:{canary}/ http://[::ffff:127.0.0.1]:{canary}/",
    f"curl -sS -m 5 http://{PUBLIC}/ https://{PUBLIC}/ http://169.254.169.254/latest/ http://[fd00:ec2::254]/",
    "curl -sS -m 5 http://cloud.example/latest/meta-data/ https://cloud.example/",
    "curl -sS -m 5 http://mixed.example/",
    "curl -sS -m 5 http://other.example/ https://other.example/",
    "curl -sS -m 5 https://shop.example:22/ http://shop.example:8080/ telnet://shop.example:25/",
    "curl -sS -m 5 -p http://shop.example:6379/",
    "curl -sS -m 5 http://cdn.example/ http://a.cdn.example/ http://evilshop.example/ http://shop.example.evil.example/",
    "curl -sS -m 5 -H 'Host: other.example' http://shop.example/",
    "curl -sS -m 5 --connect-to shop.example:443:other.example:443 https://shop.example/",
    "curl -sS -m 5 --request-target http://other.example/ http://shop.example/",
    "curl -sS -m 5 -x socks5h://127.0.0.1:61080 http://shop.example/",
    r"R='GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n' " + python(RAW),
    r"R='CONNECT shop.example:25 HTTP/1.1\r\nHost: shop.example:443\r\n\r\n' " + python(RAW),
    r"R='GET http://shop.example@other.example/ HTTP/1.1\r\n\r\n' " + python(RAW),
    python('import socket; print(socket.getaddrinfo("shop.example", 80))'),
    python(f'import socket; socket.create_connection(("{PUBLIC}", 80), 3)'),
    python('import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53))'),
    python('import socket as s; s.socket(s.AF_INET6, s.SOCK_DGRAM).sendto(b"x", ("2001:4860:4860::8888", 53))'),
    python('import socket as s; s.socket(s.AF_INET, s.SOCK_RAW, 1)'),
    python('import socket as s; s.socket(s.AF_PACKET, s.SOCK_RAW)'),
)  # fmt: skip
"""Past the proxy, and through it: by address in all spellings, by a name that leads inside, to another port or host,
with a header or a tunnel that says something else than the address."""


def test_nothing_but_the_list_is_reached(root: Path, canary: socket.socket, rights: str) -> None:
    internet = Internet({"cloud.example": ["169.254.169.254"], "mixed.example": [PUBLIC, "127.0.0.1"]})
    attacks = [attack.replace("{canary}", str(canary.getsockname()[1])) for attack in NOWHERE]
    for attack, done in zip(attacks, sh(root, internet, *attacks, rights=rights), strict=True):
        assert "hello" not in done.stdout.text(), attack
        assert done.ended == "exited", attack
    assert (internet.dialled, internet.served) == ([], [])
    with pytest.raises(BlockingIOError):
        canary.accept()


def test_a_refusal_is_told_with_its_reason(root: Path) -> None:
    internet = Internet({"cloud.example": ["169.254.169.254"]})
    (done,) = sh(root, internet, "curl -s http://other.example/ http://cloud.example http://cloud.example/2")
    assert done.noticed == (
        "network: refused: other.example:80: not on the list of the setting `network`",
        "network: refused: cloud.example:80: the name leads to 169.254.169.254, which is no public address",
    )
    assert "patchwright: other.example:80: not on the list" in done.stdout.text()


def test_a_listed_host_is_reached_and_its_name_is_asked_for_once(root: Path, rights: str) -> None:
    internet = Internet()
    (done,) = sh(root, internet, "curl -sS http://shop.example/a", rights=rights)
    assert (done.stdout.text(), done.noticed) == ("hello", ())
    assert (internet.asked, internet.dialled) == (["shop.example"], [(PUBLIC, 80)])


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/", "http://other.example/", "http://shop.example:81/"]
)
def test_a_redirect_is_judged_like_any_request(root: Path, to: str) -> None:
    internet = Internet()
    internet.answer = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()
    (done,) = sh(root, internet, "curl -sSL http://shop.example/")
    assert internet.dialled == [(PUBLIC, 80)]
    assert done.noticed


def test_a_second_request_in_a_connection_goes_nowhere(root: Path) -> None:
    internet = Internet()
    second = r"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n"
    for first in (
        r"GET http://shop.example/ HTTP/1.1\r\n\r\n",
        r"POST http://shop.example/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
        r"POST http://shop.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    ):
        sh(root, internet, f"R='{first}{second}' {python(RAW)}")
    assert internet.dialled == [(PUBLIC, 80)] * 3
    assert all(b"other.example" not in each for each in internet.served)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize(
    "curve", ["prime256v1", "secp384r1"]
)  # for the second, clients are asked to greet again
def test_clients_reach_a_listed_host_by_tls_through_a_tunnel(
    root: Path, certificate: Path, curve: str
) -> None:
    internet = Internet()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.set_ecdh_curve(curve)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    shutil.copy(certificate / "cert.pem", root)
    wheel = _wheel()
    page = b'<a href="/thing-1.0-py3-none-any.whl">thing-1.0-py3-none-any.whl</a>'
    internet.answers = {
        "/simple/thing/": _found(page, "text/html"),
        "/thing-1.0-py3-none-any.whl": _found(wheel, "x/y"),
    }
    fetch = 'import urllib.request as u; print(u.urlopen("https://shop.example/").read())'
    clients = sh(
        root,
        internet,
        "curl -sS --cacert cert.pem https://shop.example/",
        f"SSL_CERT_FILE=cert.pem {python(fetch)}",
        f"REQUESTS_CA_BUNDLE=cert.pem {sys.executable} -m pip download -q --isolated --no-cache-dir "
        "--disable-pip-version-check --index-url https://shop.example/simple -d got thing",
        tls=tls,
    )
    assert [each.noticed for each in clients] == [()] * 3
    assert [each.stdout.text().strip() for each in clients[:2]] == ["hello", "b'hello'"]
    assert clients[2].returncode == 0, clients[2].stdout.text()
    assert (root / "got" / "thing-1.0-py3-none-any.whl").read_bytes() == wheel
    assert set(internet.dialled) == {(PUBLIC, 443)}


def _found(body: bytes, kind: str) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _wheel() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        folder = "thing-1.0.dist-info"
        archive.writestr("thing.py", "")
        archive.writestr(f"{folder}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        archive.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{folder}/RECORD", "")
    return content.getvalue()


def test_a_command_finds_itself_as_without_a_list(root: Path) -> None:
    bwrap()
    look = "env | grep -iv proxy | sort; grep Sig[BI] /proc/self/status; ls -l /proc/self/fd | grep -c socket; exit 3"
    without = Bubblewrap(Constraints(root), program=bwrap(), privilege=privilege())
    before = asyncio.run(without.run(Command(argv=("/bin/sh", "-c", look), cwd=root)))
    (after,) = sh(root, Internet(), look)
    assert after.stdout.text() == before.stdout.text()
    assert after.returncode == before.returncode == 3


def test_a_commands_own_server_needs_no_proxy(root: Path) -> None:
    internet = Internet()
    source = (
        "import threading, http.server as h, urllib.request as u;"
        "s=h.HTTPServer((\"localhost\",0),h.SimpleHTTPRequestHandler);"
        "threading.Thread(target=s.serve_forever,daemon=True).start();"
        "print(u.urlopen(f\"http://localhost:{s.server_port}/mine\").read())"
    )  # fmt: skip
    (root / "mine").write_text("own page")
    (done,) = sh(root, internet, python(source))
    assert "own page" in done.stdout.text()
    assert done.noticed == ()


def test_a_tunnel_ends_with_its_command(root: Path) -> None:
    internet = Internet()
    internet.answer = b""
    keep = python(RAW).replace(
        'print(c.makefile("rb").read())', 'c.recv(10); open("up", "w"); c.recv(10); c.recv(1)'
    )
    script = (
        f"R='CONNECT shop.example:80 HTTP/1.1\\r\\n\\r\\nx' {keep} & while ! [ -e up ]; do sleep 0.01; done"
    )
    (done,) = sh(root, internet, script)
    assert done.returncode == 0
    assert internet.served in ([b""], [b"x"])
    assert internet.dialled == [(PUBLIC, 80)]


def test_a_list_is_refused_where_it_cannot_be_held(root: Path) -> None:
    for name in ("landlock", "unconfined"):
        with pytest.raises(UserError, match="needs bubblewrap") as caught:
            choose_sandbox(root, name, hosts=["pypi.org"])
        assert caught.value.fault is Fault.CONFIGURATION


def test_a_repository_cannot_open_the_network(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(root.parent / "own"))
    (root / "patchwright.toml").write_text('network = ["evil.example"]\n')
    home = Home.from_environment()
    with pytest.raises(UserError, match="'network', which a project may not set"):
        load_settings(home, root, {}, os.environ)
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text('network = ["pypi.org", "*.npmjs.org:443"]\n')
    assert load_settings(home, None, {}, os.environ).session.access.network == ["pypi.org", "*.npmjs.org:443"]
