"""Limits on memory, processes, files and processor time, set before a command's first instruction."""

from __future__ import annotations

from pathlib import Path

from sandbox.process.command import Limits
from sandbox.process.resource_watch import count_threads


def compute_resource_limits(limits: Limits, *, processes: int) -> dict[int, int]:
    """Return the values by number of the resource, none above a limit that applies to ourselves.

    processes: how many the user may have, as the kernel counts for this sandbox; 0 for no limit
    """
    import resource

    none = resource.RLIM_INFINITY
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_size or none,
        resource.RLIMIT_DATA: limits.memory or none,
        resource.RLIMIT_NPROC: processes or none,
        resource.RLIMIT_NOFILE: limits.open_files or none,
        resource.RLIMIT_CPU: limits.cpu or none,
    }
    ceilings = {which: resource.getrlimit(which)[1] for which in wanted}
    return {
        which: value
        for which, value in wanted.items()
        if value != none and (ceilings[which] == none or value < ceilings[which])
    }


def compute_user_process_limit(limits: Limits) -> int:
    """Return a limit where the kernel counts the user's other processes too: at most all that run now,
    plus the limit."""
    if not limits.processes:
        return 0
    running = count_threads()
    return running + limits.processes if running else 0


def build_limit_prefix(limits: Limits, *, processes: int, gate: Path | None = None) -> tuple[str, ...]:
    """Return a prefix for an argv that sets hard resource limits before the program's first instruction.

    A shell does it in under a millisecond. Setting them in the fork would need `preexec_fn`, which
    forces the slow fork and may deadlock; setting them from outside would race with the child.
    gate: a named pipe to wait on first; if its end comes first, the one who would open the gate has died
    """
    import resource

    commands = {
        resource.RLIMIT_CORE: ("ulimit -c {}", 512),
        resource.RLIMIT_FSIZE: ("ulimit -f {}", 512),
        resource.RLIMIT_DATA: ("ulimit -d {}", 1024),
        resource.RLIMIT_NPROC: ("ulimit -u {0} || ulimit -p {0}", 1),  # bash's option; dash's and busybox's
        resource.RLIMIT_NOFILE: ("ulimit -n {}", 1),
        resource.RLIMIT_CPU: ("ulimit -t {}", 1),
    }
    wanted = compute_resource_limits(limits, processes=processes)
    steps = [commands[which][0].format(value // commands[which][1]) for which, value in wanted.items()]
    script = f'{{ {"; ".join(steps)}; }} 2>/dev/null; exec "$@"'
    return ("/bin/sh", "-c", (_WAIT if gate else "") + script, str(gate or "sh"))


_WAIT = 'read -r open 9<>"$0" <"$0" 9>&- || exit 1; '
"""To open only the reading end waits for a writer: for ever if it has died. With an end of our own it does not, and
that end is closed again before the read. Afterwards the shell restores descriptor 9."""
