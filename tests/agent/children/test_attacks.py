"""A child gets no more than its parent has, in this process and in another one, whatever lies in its way."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.purse import Purse
from agent.children import children as children_module
from agent.children.children import MOST_DEPTH, Children
from agent.children.executor import ChildOrder
from agent.children.process import served_session, wire
from agent.children.process.process_executor import PROGRAM
from agent.children.spec import ChildSpec, Runs
from agent.events import ObservationEvent, SessionStart
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.rules.rule_parsing import parse_rules
from agent.session.log import read_events
from agent.session_request import SessionRequest
from agent.session_settings import LimitSettings, SessionSettings
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Mode
from sandbox.policy.rules import Rules, parse_rule
from tests.support.child_sessions import play
from tests.support.cli import CHECKOUT, call, script

pytestmark = pytest.mark.slow


RUNS: tuple[Runs, ...] = ("in-process", "process")


def test_what_a_parent_has_not_is_refused_before_anything_starts(
    shop: Path, parent: SessionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children_module, "MOST_OPEN", 2)

    async def story(runtime: Runtime, children: Children) -> None:
        other = assemble_runtime(parent, SessionRequest(working=shop), Home.from_environment())
        await other.close()
        for runs in RUNS:
            for spec, words in (
                (ChildSpec(prompt="x", place="lease", mode=Mode.FULL), "cannot work in mode full"),
                (ChildSpec(prompt="x", tools=["no_such"]), "tools that its parent has not"),
                (ChildSpec(prompt="x", session=other.session.id), "no child of this session"),
                (ChildSpec(prompt="x", session=runtime.session.id), "no child of this session"),
                (ChildSpec(prompt="x", session="../../../etc"), "no child of this session"),
            ):
                with pytest.raises(UserError, match=words) as refused:
                    await children.start(replace(spec, runs=runs))
                assert refused.value.fault is Fault.DENIED
        assert children._executors == {}, "not even an executor was made"
        async with AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(await children.start(ChildSpec(prompt="x")))
            with pytest.raises(UserError, match="2 children are open"):
                await children.start(ChildSpec(prompt="x", runs="process"))

    play(shop, parent, story)


def build_order(shop: Path, settings: SessionSettings, **request: Any) -> dict[str, Any]:
    """The first line to a process, decoded as it arrives there."""
    order = ChildOrder(
        settings=settings,
        request=SessionRequest(working=shop, **request),
        home=Home.from_environment(),
        purse=Purse(),
        on_event=lambda session, event: None,
    )
    line = wire.encode_message("start", **wire.encode_order(order, has_cost_limit=False))
    decoded = wire.decode_message(line)
    assert decoded is not None
    return decoded


def test_an_order_keeps_every_bound_on_its_way(shop: Path, parent: SessionSettings) -> None:
    rules = Rules((parse_rule("read(./key.txt)", "deny"), parse_rule("shell(npm *)", "ask")))
    access = replace(parent.access, mode=Mode.READ_ONLY, rules=rules, network=["pypi.org"], sandbox="auto")
    limits = LimitSettings(max_steps=3, max_time=5.0, max_cost=0.5, max_tokens=7)
    models = ModelSettings(catalog={"m": CatalogSettings(input=1.0)})
    table = {"name": "no-rm", "kind": "commands", "commands": ["rm *"]}
    settings = replace(
        parent,
        access=access,
        limits=limits,
        models=models,
        actions={"ollama/*": "code"},
        rules=parse_rules([table], "f"),
    )
    order = build_order(shop, settings, depth=MOST_DEPTH, tools=frozenset({"read"}), parent="p")
    assert wire.decode_settings(order["settings"]) == settings
    purse = Purse()
    request = wire.decode_request(order, settings, purse, None)
    assert (request.depth, request.tools, request.parent) == (MOST_DEPTH, frozenset({"read"}), "p")
    assert request.purse is purse
    assert Home.decode(order["home"]) == Home.from_environment()

    async def start_below() -> None:
        runtime = served_session._open_session(order, None, None)  # type: ignore[arg-type]
        try:
            assert runtime.policy.mode is Mode.READ_ONLY
            with pytest.raises(UserError, match=f"at depth {MOST_DEPTH} starts no child"):
                await Children(runtime).start(ChildSpec(prompt="x"))
        finally:
            await runtime.close()

    asyncio.run(start_below())


PLANTED = """
import os, pathlib
pathlib.Path(os.environ.get("HOME", "/tmp"), "planted").write_text("ran")
"""


def plant_files(shop: Path, forged: str) -> None:
    """What an agent could have written: settings, code with our names, what looks like a spec."""
    settings = (
        'mode = "full"\napproval = "auto"\nsandbox = "unconfined"\n[permissions]\nallow = ["shell(*)"]\n'
    )
    for name in (".patchwright/settings.toml", "patchwright.toml", ".config/patchwright/settings.toml"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(settings)
    for name in (
        "sitecustomize.py",
        "usercustomize.py",
        "json.py",
        "agent/__init__.py",
        "asyncio/__init__.py",
    ):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(PLANTED)
    for name in ("child.json", "spec.json", ".patchwright/child.json", "start"):
        (shop / name).write_text(forged)


def test_neither_files_nor_variables_raise_the_rights_of_a_process(
    shop: Path, tmp_path: Path, parent: SessionSettings, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "key.txt").write_text("precious")
    elsewhere = tmp_path / "elsewhere"
    plant_files(shop, json.dumps({"prompt": "x", "mode": "full", "depth": 0}))
    for name, value in {
        "PATCHWRIGHT_MODE": "full",
        "PATCHWRIGHT_SANDBOX": "unconfined",
        "PATCHWRIGHT_APPROVAL": "auto",
        "PATCHWRIGHT_CHILD": '{"mode":"full"}',
        "PYTHONPATH": str(shop),
        "PYTHONHOME": "",
        "PYTHONSTARTUP": str(shop / "sitecustomize.py"),
        "GIT_DIR": str(shop / ".git"),
        "LD_LIBRARY_PATH": str(shop),
        "OPENAI_API_KEY": "sk-very-secret-key-of-the-user-0123456789",
    }.items():
        monkeypatch.setenv(name, value)
    tries = [
        call("write", path="made.txt", content="x"),
        call("shell", command=f"echo x > made.txt; echo x > {elsewhere}; cat key.txt; env"),
        call("read", path="key.txt"),
    ]
    model = script(tmp_path, [{"calls": tries}, {"text": "tried"}])
    rules = Rules((parse_rule("read(./key.txt)", "deny"),))
    bound = replace(parent, access=replace(parent.access, rules=rules, sandbox="auto"))

    async def story(runtime: Runtime, children: Children) -> str:
        result = await children.run(ChildSpec(prompt="x", model=model, runs="process"))
        assert result.report == "tried"
        folder = runtime.session.folder.parent / result.child
        start, *events = read_events(folder)
        assert isinstance(start, SessionStart)
        assert start.mode == "read-only"
        assert sum(isinstance(each, ObservationEvent) for each in events) == 3
        return (folder / "log.jsonl").read_text()

    log = play(shop, bound, story)
    assert "precious" not in log
    assert "very-secret" not in log
    assert not (shop / "made.txt").exists()
    assert not elsewhere.exists()
    assert not (isolated / "planted").exists()


def test_a_forged_order_does_what_its_sender_may(shop: Path, tmp_path: Path, parent: SessionSettings) -> None:
    """The entry is no secret: run by a command in the sandbox, it stays in the sandbox."""
    outside = tmp_path / "outside"
    model = script(tmp_path, [{"calls": [call("shell", command=f"echo x > {outside}")]}, {"text": "done"}])
    full = replace(parent, model=model, access=replace(parent.access, mode=Mode.FULL))
    order = build_order(shop, full)
    del order["message"]
    lines = wire.encode_message("start", **order) + wire.encode_message("turn", prompt="x")
    lines += wire.encode_message("grant", reason="", left=None) * 9
    (shop / "forged").write_bytes(lines)
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(CHECKOUT), *filter(os.path.isabs, sys.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=shop) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        while b'"message":"ended"' not in process.stdout.readline():
            pass
        process.stdin.close()
    assert outside.exists(), "a user who may write there may have it done"
    outside.unlink()
    line = " ".join(f"'{each}'" for each in command)
    attack = script(
        tmp_path,
        [{"calls": [call("shell", command=f"(cat forged; sleep 3) | {line}; true")]}, {"text": "tried"}],
        "attack.json",
    )
    bound = replace(parent, access=replace(parent.access, sandbox="auto"))

    async def story(runtime: Runtime, children: Children) -> None:
        result = await children.run(ChildSpec(prompt="x", model=attack, place="lease"))
        assert result.report == "tried"

    play(shop, bound, story)
    assert not outside.exists()
