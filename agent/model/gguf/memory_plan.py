"""Choice of a model's window by the memory that is free."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from agent.model.gguf.gguf_file import GgufFacts
from sandbox.errors import Fault, UserError
from sandbox.process.resource_watch import measure_available_memory

WINDOWS = (16_384, 8_192, 4_096)
"""Tokens, the largest first. Without a graphics card a longer request takes minutes to read; in less, no work fits."""

WORKING = 384 << 20
"""Bytes that a server needs beside weights and cache, for one batch and its logits."""

KEPT_FREE = 512 << 20
"""Bytes that are left for the tests, the engine and everything else."""

_GROUPS = Path("/sys/fs/cgroup")


def choose_window(facts: GgufFacts, path: Path, asked: int = 0, free: int | None = None) -> int:
    """Return the largest window that the free memory has room for. Raises UserError if none fits.

    asked: the user's choice, 0 for none; free: bytes, by default what is free now
    """
    room = measure_free_memory() if free is None else free
    trained = facts.window or WINDOWS[0]
    wanted = [min(asked, trained)] if asked else [min(each, trained) for each in WINDOWS]
    for window in wanted:
        if compute_need(facts, window) + KEPT_FREE <= room:
            return window
    need = compute_need(facts, wanted[-1]) + KEPT_FREE
    raise UserError(
        Fault.CONFIGURATION,
        f"{path.name!r} needs {need / 2**30:.1f} GB of memory, and {room / 2**30:.1f} GB are free",
        "Use a smaller model or quantization, end other programs, or end other models: patchwright model stop",
    )


def compute_need(facts: GgufFacts, window: int) -> int:
    """Return the bytes that a server takes with a window of this many tokens."""
    return facts.bytes + facts.cache * window + WORKING


def measure_free_memory() -> int:
    """Return the bytes that a program can get: of the machine, or of the control group that we are in, if less."""
    free = measure_available_memory()
    with suppress(OSError, ValueError, IndexError):
        group = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
        place = _GROUPS / group
        while place.is_relative_to(_GROUPS):
            with suppress(OSError, ValueError):  # the root has no limit, and many others "max"
                limit = int((place / "memory.max").read_text())
                used = int((place / "memory.current").read_text())
                free = min(free, max(0, limit - used + _read_file_cache(place)))
            place = place.parent
    return free


def _read_file_cache(group: Path) -> int:
    """Return the bytes that the kernel gives back when they are needed: pages of files that were read."""
    for line in (group / "memory.stat").read_text().splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0
