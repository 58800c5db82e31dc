"""Runs one hook: a command (the user's as their own program, a project's in the sandbox), an address, a prompt."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.extension.hooks.hook_answer import (
    HookAnswer,
    build_failure,
    build_refusal,
    parse_answer,
    read_output,
)
from agent.extension.hooks.hook_definition import HookDefinition
from agent.extension.plugins.plugin_store import build_variables, create_state_folder, find_plugin
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.decision import Mode
from sandbox.process.command import Command, Sandbox
from sandbox.process.output_capture import HEAD
from sandbox.secrets.child_environment import redact

_JUDGE = """A hook of a coding agent asks you. Answer with JSON alone: {"ok": true} or {"ok": false, "reason": "…"}."""

_VARIABLE = compile_lazily(r"\$(?:\{(\w+)\}|(\w+))")
_PLACEHOLDERS = (
    *("CLAUDE_PROJECT_DIR", "PATCHWRIGHT_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"),
    *("PLUGIN_ROOT", "PLUGIN_DATA"),
)
"""Variables that stand for a folder also where no shell expands them."""


_NOT_STARTED = (126, 127)
"""Exit codes of a shell for a program that cannot be run, or is not found."""


async def run_hook(runtime: Runtime, hook: HookDefinition, given: Mapping[str, Any]) -> HookAnswer:
    """Return the answer of one hook to its input. A hook that fails or takes too long gives none."""
    if hook.refusal:
        return build_refusal(hook)
    try:
        async with asyncio.timeout(hook.timeout + 5):
            if hook.kind == "command":
                return await _run_command(runtime, hook, given)
            if hook.kind == "http":
                return await _post(hook, given)
            return await _ask_model(runtime, hook, given)
    except TimeoutError:
        return build_failure(hook, f"it took more than {hook.timeout:g} s")
    except UserError as error:
        if hook.kind == "command":
            return build_refusal(replace(hook, refusal=f"its program cannot be started: {error.message}"))
        return build_failure(hook, error.message)
    except Exception as error:  # of the system, or ours: a hook must not end the session
        return build_failure(hook, f"{type(error).__name__}: {error}")


async def _run_command(runtime: Runtime, hook: HookDefinition, given: Mapping[str, Any]) -> HookAnswer:
    root = runtime.workspace.root
    sandbox: Sandbox = runtime.workspace.sandbox
    env = {"CLAUDE_PROJECT_DIR": str(root), "PATCHWRIGHT_PROJECT_DIR": str(root)}
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    if not hook.is_project:
        from sandbox.backends.unconfined import Unconfined

        # The user could run the same program in another shell; notices, for one, need the desktop.
        sandbox = Unconfined(root)
        env = {**os.environ, **env}
    elif sandbox.name == "unconfined":
        return build_failure(hook, "it runs in a sandbox only, and this session has none")
    if hook.plugin and runtime.environment is not None:
        plugin = find_plugin(runtime.environment.home, hook.plugin)
        if plugin is None:
            return build_failure(hook, f"the plugin {hook.plugin!r} was removed")
        readable, writable = (plugin.folder,), (create_state_folder(plugin),)
        env = {**env, **build_variables(plugin)}
    done = await sandbox.run(
        Command(
            argv=_build_argv(hook, env),
            cwd=root,
            env=env,
            stdin=json.dumps(given, ensure_ascii=False).encode("utf-8", "replace") + b"\n",
            timeout=hook.timeout,
            stderr="separate",
            scope="read-only" if runtime.policy.mode is Mode.READ_ONLY else "workspace",
            readable=readable,
            writable=writable,
            whole=HEAD,
        )
    )
    if done.ended == "timeout":
        return build_failure(hook, f"it took more than {hook.timeout:g} s")
    error = redact(done.stderr.text())
    if done.returncode in _NOT_STARTED:
        return build_refusal(replace(hook, refusal=f"its program cannot be started: {error.strip()[-200:]}"))
    return parse_answer(hook, done.returncode, redact(done.stdout.text()), error)


def _build_argv(hook: HookDefinition, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the program and its arguments. Without a shell, only the variables of hooks are filled in."""
    if hook.args is None:
        return ("bash", "-c", hook.runs)
    known = {name: env[name] for name in _PLACEHOLDERS if name in env}
    return tuple(_fill_in(each, known) for each in (hook.runs, *hook.args))


def _fill_in(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: known.get(match[1] or match[2], match[0]), text)


async def _post(hook: HookDefinition, given: Mapping[str, Any]) -> HookAnswer:
    """Post the input to an address of the user's: nothing of a project sends what a session does elsewhere."""
    if hook.is_project:
        return build_failure(hook, "an address is called for your own hooks only")
    code, text = await asyncio.to_thread(_post_json, hook, given)
    if not 200 <= code < 300:
        return build_failure(hook, f"the answer of {hook.runs} is {code or 'none'}")
    return parse_answer(hook, 0, redact(text), "")


def _post_json(hook: HookDefinition, given: Mapping[str, Any]) -> tuple[int, str]:
    import urllib.error
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    headers = _build_headers(hook)
    body = json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
    request = urllib.request.Request(hook.runs, data=body, headers=headers, method="POST")
    if request.type not in ("http", "https"):
        return 0, ""
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=hook.timeout) as answer:
            return answer.status, answer.read(1_000_000).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, ""
    except (OSError, ValueError):  # not reachable, or no address
        return 0, ""


def _build_headers(hook: HookDefinition) -> dict[str, str]:
    """Return the headers of a request, with the variables that its file lists and no others."""
    headers = {"Content-Type": "application/json", **hook.headers}
    if hook.header_variables is None:
        return headers
    known = {name: os.environ.get(name, "") for name in hook.header_variables}
    return {
        key: _VARIABLE.sub(lambda match: known.get(match[1] or match[2], ""), value)
        for key, value in headers.items()
    }


async def _ask_model(runtime: Runtime, hook: HookDefinition, given: Mapping[str, Any]) -> HookAnswer:
    """Ask the fast model whether to go on; the call draws on the purse of the turn."""
    text = json.dumps(given, ensure_ascii=False)
    prompt = hook.runs.replace("$ARGUMENTS", text) if "$ARGUMENTS" in hook.runs else f"{hook.runs}\n\n{text}"
    answer = await runtime.side_calls.request_text(
        prompt, purpose=f"hook {hook.event}", system=_JUDGE, patience=hook.timeout
    )
    start, end = answer.find("{"), answer.rfind("}")
    try:
        found = json.loads(answer[start : end + 1])
    except ValueError:
        return build_failure(hook, "no model answered with JSON")
    if not isinstance(found, dict) or found.get("ok") is True or (not hook.is_guard and "ok" not in found):
        return HookAnswer()
    return read_output(hook, {"decision": "block", "reason": str(found.get("reason") or "a hook forbids it")})
