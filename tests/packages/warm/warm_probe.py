"""A warm process whose runs tell their circumstances, or do what their words say, instead of the program's work."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

from cli import start
from packages.warm.warm_server import WarmServer
from sandbox.process.caller import find_caller


def tell() -> int:
    """Be a run."""
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    if word == "exit":
        sys.exit(int(sys.argv[3]))
    if word == "raise":
        raise RuntimeError("of a run")
    if word == "die":
        os.kill(os.getpid(), signal.SIGTERM)
    if word == "write":
        Path(sys.argv[3]).write_text(str(os.getpid()))
        time.sleep(60)
    if word == "interrupt":
        Path(sys.argv[3]).write_text(str(os.getpid()))
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("interrupted")
            return 130
    print(
        json.dumps(
            {
                "words": sys.argv,
                "folder": str(Path.cwd()),
                "mask": os.umask(0),
                "env": dict(os.environ),
                "files": resource.getrlimit(resource.RLIMIT_NOFILE),
                "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
                "nice": os.getpriority(os.PRIO_PROCESS, 0),
                "ignored": signal.getsignal(signal.SIGHUP) == signal.SIG_IGN,
                "open": sorted(int(each) for each in os.listdir("/proc/self/fd") if _is_inherited(int(each))),
                "input": sys.stdin.read() if sys.stdin else None,
                "caller": find_caller(),
                "parent": os.getppid(),
            }
        )
    )
    print("an error", file=sys.stderr)
    return 0


def _is_inherited(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


if __name__ == "__main__":
    start.run_command_line = tell
    WarmServer(place=Path(sys.argv[1]), idle=float(sys.argv[2])).serve()
