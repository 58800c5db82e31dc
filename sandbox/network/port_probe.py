"""Check whether a port has a listener, in the network namespace of a process."""

from __future__ import annotations

from pathlib import Path

_LISTEN = "0A"  # net/tcp_states.h: TCP_LISTEN
_LOCAL, _STATE = 1, 3
"""Columns of /proc/PID/net/tcp: proc(5)."""


def is_listening(pid: int, port: int) -> bool:
    """Return whether a port has a listener, without connecting to it. False where there is no /proc."""
    wanted = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:  # it has ended, or this is not Linux
            continue
        for fields in map(str.split, lines):
            if fields[_STATE] == _LISTEN and fields[_LOCAL].endswith(wanted):
                return True
    return False
