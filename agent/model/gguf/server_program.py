"""llama.cpp's server program: where it is, how it is called, and what it may touch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agent.model.gguf.gguf_file import GgufFacts
from agent.model.gguf.memory_plan import compute_need
from sandbox.errors import Fault, UserError
from sandbox.helpers.helper_confinement import Reach, find_confinement
from sandbox.helpers.own_programs import find_own_program, is_planted

NAME = "llama-server"
VARIABLE = "PATCHWRIGHT_LLAMA_SERVER"
"""Variable with the program's path, where it is not on the PATH."""

REPACKED = 2
"""Times the weights' size that a server may take of private memory: it rearranges some for the processor."""


def find_server_program(env: Mapping[str, str]) -> str:
    """Return the path of the server. Raises UserError if there is none, or it cannot be confined here."""
    if not find_confinement():
        raise UserError(
            Fault.CONFIGURATION,
            "a model's server cannot be confined on this machine, so it is not started",
            f"Start it yourself: {NAME} -m FILE --jinja; then --model llamacpp/NAME --api-base http://localhost:8080/v1",
        )
    if named := env.get(VARIABLE, "").strip():
        path = Path(named).expanduser()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise UserError(
                Fault.CONFIGURATION,
                f"{VARIABLE} names no program: {named!r}",
                f"Set it to the path of {NAME}.",
            )
        if is_planted(str(path.absolute())):
            raise UserError(
                Fault.CONFIGURATION,
                f"{VARIABLE} names a program inside the workspace: {named!r}",
                "Keep it outside.",
            )
        return str(path.absolute())
    if found := find_own_program(NAME):
        return found
    raise UserError(
        Fault.CONFIGURATION,
        f"{NAME} was not found on the PATH, and a GGUF file needs it",
        "Install llama.cpp (brew install llama.cpp, or https://github.com/ggml-org/llama.cpp/releases), or set"
        f" {VARIABLE} to its path; --model ollama/NAME needs none",
    )


def build_command(program: str, path: Path, port: int, window: int) -> list[str]:
    """Return the command line of a server for one client at a time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = choose_threads(cores, os.getloadavg()[0])
    return [
        *(program, "-m", str(path), "--alias", path.stem, "--host", "127.0.0.1", "--port", str(port)),
        *("-c", str(window), "-np", "1", "-t", str(threads), "--jinja", "--no-webui"),
    ]


def choose_threads(cores: int, load: float) -> int:
    """Return the number of threads: half where others keep the machine busy.

    Threads wait for each other at every layer: two on two busy cores were measured at 0.3 tokens a second, of 10 on
    quiet ones.
    """
    return max(1, cores // 2) if load >= cores else cores


def build_environment(program: str, token: str) -> dict[str, str]:
    """Return the server's variables: the token is not on the command line, which other accounts can read."""
    return {"LLAMA_API_KEY": token, "LD_LIBRARY_PATH": os.pathsep.join(_list_libraries(program)), "HOME": "/"}


def build_reach(program: str, path: Path, port: int, facts: GgufFacts, window: int) -> Reach:
    """Return what the server may use: it reads the weights, writes nothing, and answers on its port only."""
    return Reach(
        programs=(program,),
        readable=(str(path), *_list_libraries(program), *_MACHINE),
        memory=REPACKED * facts.bytes + compute_need(facts, window),
        port=port,
    )


_MACHINE = ("/proc/self", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage")
"""Places from which a server learns of processors and memory."""


def _list_libraries(program: str) -> list[str]:
    """Return the folders of libraries that come with the program."""
    real = Path(program).resolve()
    return [str(real.parent), *(str(each) for each in (real.parent.parent / "lib",) if each.is_dir())]
