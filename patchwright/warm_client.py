"""Hand a start over to the user's warm process (`patchwright warm`), if one is there and fits.

Everything here is on the way of every start, so only modules are imported that Python has loaded or that are part of
it. What is sent, and what the other side checks, is described in `packages/warm/warm_server.py`.
"""

from __future__ import annotations

import os
import sys

from patchwright.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:  # what is imported is paid at every start
    import _socket
    from collections.abc import Mapping

FOLDER, SOCKET = "warm", "socket"
"""Of the data folder; and in it."""

PATIENCE = 1.0
"""Seconds until a start gives up waiting for the warm process, and does without."""

MOST_DESCRIPTORS = 250
"""The kernel passes at most 253 in one message (unix(7))."""

PASSED_ON = (
    *("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"),
    *("SIGWINCH", "SIGCONT", "SIGTSTP"),
)
"""Signals that are the run's."""

LOST = 70
"""`Exit.INTERNAL`: the warm process ended amid a run."""


def find_place(env: Mapping[str, str]) -> str:
    """Return the folder of the warm process's socket; "" if the environment names no home.

    `agent.app_dirs.Home`, without its imports; tests compare the two.
    """
    if own := env.get("PATCHWRIGHT_HOME"):
        return os.path.join(os.path.abspath(os.path.expanduser(own)), "data", FOLDER)
    data = env.get("XDG_DATA_HOME", "")
    if not data.startswith("/"):
        if not (home := env.get("HOME")):
            return ""
        data = os.path.join(home, ".local", "share")
    return os.path.join(data, "patchwright", FOLDER)


def identify_program() -> str:
    """Return what a client and a server must have in common: version, interpreter and place of the code."""
    here = os.path.dirname(os.path.abspath(__file__))
    return f"{VERSION}|{sys.executable}|{here}|{sys.flags.isolated}{sys.flags.no_site}"


def connect(place: str) -> _socket.socket | None:
    """Return a connection to the warm process; None if there is none, or its folder is not this user's alone."""
    if sys.platform != "linux":
        return None
    try:
        folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        info = os.fstat(folder)
        if info.st_uid != os.geteuid() or info.st_mode & 0o077:
            return None
        import _socket

        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        link.settimeout(PATIENCE)
        try:
            link.connect(f"/proc/self/fd/{folder}/{SOCKET}")  # whatever the length of the folder's path
        except OSError:
            link.close()
            return None
        return link
    finally:
        os.close(folder)


def ask(link: _socket.socket, word: bytes, *fields: bytes) -> bytes:
    """Send a request and return the first byte of its answer; b"" if there is none. Raises OSError."""
    body = b"\0".join([word, os.fsencode(identify_program()), *fields])
    link.sendall(b"%d\n" % len(body) + body)
    return link.recv(1)


def run_warm(arguments: list[str], env: Mapping[bytes, bytes]) -> int | None:
    """Have the warm process run this command line, and return its exit code; None if it has to be run here.

    Nothing was begun where None is returned: the warm process starts only when its readiness is confirmed.
    """
    if (place := find_place(os.environ)) == "" or (link := connect(place)) is None:
        return None
    try:
        descriptors = _list_descriptors(link.fileno())
        if len(descriptors) > MOST_DESCRIPTORS:
            return None
        variables = (b"%b=%b" % item for item in env.items())
        if ask(link, b"run", b"%d" % len(arguments), *map(os.fsencode, arguments), *variables) != b"G":
            return None
        return _follow(link, descriptors)
    except OSError:
        return None
    finally:
        link.close()


def _list_descriptors(own: int) -> list[int]:
    """Return the descriptors that were inherited: those that a program started from here would have."""
    found = []
    for each in map(int, os.listdir("/proc/self/fd")):
        try:
            if each != own and os.get_inheritable(each):
                found.append(each)
        except OSError:  # of the listing itself
            continue
    return sorted(found)


def _follow(link: _socket.socket, descriptors: list[int]) -> int:
    """Confirm, pass signals on, and return the exit code; a run that a signal ended ends this process so.

    The descriptors go with the confirmation: a warm process that hangs before it keeps none of them open.
    """
    import _signal as signals  # type: ignore[import-not-found]
    from _socket import SCM_RIGHTS, SOL_SOCKET
    from struct import pack

    link.settimeout(None)

    def send(number: int, frame: object = None) -> None:
        try:  # noqa: SIM105 (contextlib is not loaded)
            link.send(b"%c" % number)
        except OSError:  # the run is over
            pass

    def stop(number: int, frame: object) -> None:
        send(number)
        signals.signal(number, signals.SIG_DFL)
        os.kill(os.getpid(), number)
        # Continued; or not stopped at all, which is so where no shell would continue it (an orphaned process group).
        signals.signal(number, stop)
        send(signals.SIGCONT)

    for name in PASSED_ON:
        number = getattr(signals, name)
        if signals.getsignal(number) != signals.SIG_IGN:
            signals.signal(number, stop if name == "SIGTSTP" else send)
    try:
        numbers = pack(f"{len(descriptors)}i", *descriptors)
        link.sendmsg([b"A%d\n" % len(descriptors), numbers], [(SOL_SOCKET, SCM_RIGHTS, numbers)])
        told = b""
        while len(told) < 6 and (part := link.recv(6 - len(told))):
            told += part
    except OSError:
        told = b""
    if len(told) < 6:
        os.write(
            2, b"patchwright: the warm process ended amid this run\n  Start one anew: patchwright warm\n"
        )
        return LOST
    status = int(told)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signals.SIGKILL:
            signals.signal(os.WTERMSIG(status), signals.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)
