"""A model's file is enough: its server is started once, confined, answers its own user only, and ends when unused."""

from __future__ import annotations

import asyncio
import http.client
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.model.gguf import server_program
from agent.model.gguf.own_server import end_server, list_servers, plan_server
from agent.model.gguf.server_records import FOLDER, ServerRecord
from agent.model.model_factory import ModelConfig, create_model, find_listing, identify_model
from agent.model.protocol import Reply, Request, UserMessage, prepare_model
from sandbox.errors import UserError
from sandbox.helpers.helper_confinement import find_confinement
from tests.support.gguf_files import own_servers, write_gguf

pytestmark = [
    pytest.mark.skipif(not find_confinement(), reason="the kernel has no Landlock"),
    pytest.mark.slow,
]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    with own_servers(tmp_path / "home") as variables:
        yield variables


def wait_until_gone(record: ServerRecord, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while record.is_alive or record.is_kept:
        assert time.monotonic() < end, "it did not end"
        time.sleep(0.1)


def read_status(record: ServerRecord, path: str, key: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", record.port, timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
    status = connection.getresponse().status
    connection.close()
    return status


def test_it_is_started_once_and_shared(tmp_path: Path, env: dict[str, str]) -> None:
    file = write_gguf(tmp_path / "toy.gguf")
    told: list[str] = []
    first = plan_server(str(file), env).ensure(told.append)
    (tmp_path / "link.gguf").symlink_to(file)
    second = plan_server(str(tmp_path / "link.gguf"), env).ensure(told.append)
    assert first == second
    assert told == ["starting llama-server for toy.gguf"]
    assert [each.path for each in list_servers(env)] == [str(file)]
    end_server(first)
    assert not first.is_alive
    assert not first.is_kept
    assert not list_servers(env)


def test_only_its_user_has_the_key(tmp_path: Path, env: dict[str, str]) -> None:
    record = plan_server(str(write_gguf(tmp_path / "toy.gguf")), env).ensure()
    assert read_status(record, "/v1/models", record.token) == 200
    assert read_status(record, "/v1/models", "") == 401
    command = Path(f"/proc/{record.server}/cmdline").read_bytes()
    assert record.token.encode() not in command
    folder = tmp_path / "home/data" / FOLDER
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}


def test_it_is_confined(tmp_path: Path, env: dict[str, str]) -> None:
    record = plan_server(str(write_gguf(tmp_path / "toy.gguf")), env).ensure()
    status = Path(f"/proc/{record.server}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    limits = Path(f"/proc/{record.server}/limits").read_text()
    data = next(line for line in limits.splitlines() if line.startswith("Max data size"))
    assert data.split()[3].isdecimal()


def test_it_ends_when_unused_and_is_started_again_for_the_next_request(
    tmp_path: Path, env: dict[str, str]
) -> None:
    file = write_gguf(tmp_path / "toy.gguf")
    record = plan_server(str(file), env, idle=1).ensure()
    wait_until_gone(record)
    assert not list_servers(env)

    async def ask() -> tuple[str, int, str]:
        model = create_model(f"gguf:{file}", ModelConfig(api_base=None, env=env, cache=tmp_path / "cache"))
        try:
            await prepare_model(model)
            end_server(list_servers(env)[0])
            async for delta in model.stream(
                Request(system="", messages=[UserMessage(text="hello")], tools=())
            ):
                if isinstance(delta, Reply):
                    return delta.text, model.window, model.name
        finally:
            await model.close()
        raise AssertionError("no reply")

    text, window, name = asyncio.run(ask())
    assert (text, window, name) == ("ready", 16_384, f"gguf:{file}")


def test_a_server_that_lost_its_keeper_is_replaced(tmp_path: Path, env: dict[str, str]) -> None:
    server = plan_server(str(write_gguf(tmp_path / "toy.gguf")), env)
    first = server.ensure()
    os.kill(first.keeper, 9)
    end = time.monotonic() + 10
    while first.is_kept and time.monotonic() < end:
        time.sleep(0.02)
    second = server.ensure()
    assert second.server != first.server
    assert not first.is_alive


def test_a_server_that_ends_at_once_says_why(tmp_path: Path, env: dict[str, str]) -> None:
    file = write_gguf(tmp_path / "toy.gguf", rest=b"FAILS")
    with pytest.raises(UserError, match=r"llama-server ended: error: unknown model architecture: 'toy'"):
        plan_server(str(file), env).ensure()
    assert not list_servers(env)


def test_without_a_server_program_the_error_says_what_to_do(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_gguf(tmp_path / "toy.gguf")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="llama-server was not found on the PATH") as caught:
        plan_server(str(file), {**env, server_program.VARIABLE: ""})
    assert "llama.cpp/releases" in caught.value.hint
    with pytest.raises(UserError, match="names no program"):
        plan_server(str(file), {**env, server_program.VARIABLE: str(tmp_path / "none")})
    monkeypatch.setattr(server_program, "find_confinement", lambda: 0)
    with pytest.raises(UserError, match="cannot be confined on this machine"):
        plan_server(str(file), env)


def test_a_busy_machine_gets_fewer_threads() -> None:
    assert [server_program.choose_threads(cores, load) for cores, load in ((8, 1), (8, 9), (1, 3))] == [
        8,
        4,
        1,
    ]


def test_it_costs_nothing_and_has_one_name(tmp_path: Path, env: dict[str, str]) -> None:
    config = ModelConfig(api_base="http://elsewhere/v1", env=env, cache=tmp_path)
    listing = find_listing("gguf:x/y.gguf", config)
    assert listing is not None
    assert [each.input for each in listing.prices] == [0.0]
    assert identify_model("gguf:x/y.gguf", config) == "gguf:x/y.gguf"
