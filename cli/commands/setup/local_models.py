"""Models on this machine: files in the usual folders, servers that run for them, and servers of other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from agent.exit_codes import Exit
from agent.model.gguf.own_server import end_server, list_servers, plan_server
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.process.bounded_end import run_loop
from sandbox.sanitize import sanitize_text

FOLDERS = (
    "models",
    ".cache/llama.cpp",
    ".lmstudio/models",
    ".cache/lm-studio/models",
    ".cache/huggingface/hub",
)
"""Below the home folder, where people and programs keep GGUF files."""

MOST_ENTRIES = 20_000
"""Entries of folders that are looked at."""

_PART = "-of-"
"""In the name of a file that is a part of a model; its first part names all of them."""


def print_models(*, as_json: bool) -> int:
    """Print what can be named with --model, and what runs."""
    from agent.model.servers.local_servers import find_local_servers, list_ports

    running = {each.path: each for each in list_servers(os.environ)}
    files = sorted({*running, *map(str, _find_files(os.environ))})
    servers = run_loop(find_local_servers(list_ports(os.environ)))
    if as_json:
        print_json(
            {
                "files": [_describe_file(each, running) for each in files],
                "servers": [
                    {"provider": each.provider, "port": each.port, "models": each.models} for each in servers
                ],
            }
        )
        return int(Exit.DONE)
    lines = []
    for path in files:
        record = running.get(path)
        state = f"  runs on port {record.port}, window {record.window:,}" if record else ""
        lines.append(f"gguf:{path}{state}")
    for server in servers:
        lines += [f"{name}  on port {server.port}" for name in server.names]
    if not lines:
        lines = ["no model was found: no GGUF file in the usual folders, and no server on the usual ports"]
    print(sanitize_text("\n".join(lines)))
    return int(Exit.DONE)


def serve_model(file: Path, window: int, idle: float, *, as_json: bool) -> int:
    """Start the server of a file, or find it running; print how it is reached. Raises UserError."""
    server = plan_server(str(file), os.environ, window=window, idle=idle)
    running = server.file.read()
    if window and running is not None and running.is_alive and running.window != server.window:
        end_server(running)
    record = server.ensure(lambda text: print(sanitize_text(text), file=sys.stderr))
    base = f"http://127.0.0.1:{record.port}/v1"
    if as_json:
        print_json(
            {"base": base, "key_file": str(server.file.path), "window": record.window, "key": record.token}
        )
        return int(Exit.DONE)
    print(
        sanitize_text(
            f"{server.weights.stem} answers at {base} (window {record.window:,} tokens)\n"
            f"patchwright run --model gguf:{server.weights} …\n"
            f"other programs need its key: patchwright model serve {server.weights} --json"
        )
    )
    return int(Exit.DONE)


def stop_models(file: Path | None) -> int:
    """End the server of a file, or all. Raises UserError if there is none for the file."""
    found = list_servers(os.environ)
    if file is not None:
        wanted = str(file.expanduser().resolve())
        found = [each for each in found if each.path == wanted]
        if not found:
            raise UserError(
                Fault.USAGE, f"no server runs for {str(file)!r}", "See which do: patchwright model list"
            )
    for each in found:
        end_server(each)
        print(sanitize_text(f"ended {Path(each.path).name}"))
    if not found:
        print("none runs")
    return int(Exit.DONE)


def _describe_file(path: str, running: Mapping[str, Any]) -> dict[str, Any]:
    record = running.get(path)
    told = {"port": record.port, "window": record.window} if record else None
    return {"name": f"gguf:{path}", "path": path, "server": told}


def _find_files(env: Mapping[str, str]) -> Iterator[Path]:
    """Yield the GGUF files of the usual folders, of one in parts the first."""
    home = Path(env.get("HOME") or Path.home())
    for folder in FOLDERS:
        for path in islice((home / folder).rglob("*"), MOST_ENTRIES):
            if path.suffix != ".gguf" or not path.is_file() or path.name.startswith("mmproj"):
                continue
            if _PART not in path.stem or "-00001-of-" in path.stem:
                yield path.resolve() if path.is_symlink() and path.resolve().suffix == ".gguf" else path
