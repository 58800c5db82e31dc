"""A seccomp filter that refuses system calls, assembled from tables of numbers, without a library."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from sandbox.lazy_dataclass import dataclass

Sockets = Literal["machine", "none", "server"]
"""Sockets that may be opened: Internet and Unix ones ("machine", where a namespace bounds them), none, or those of a
server, which answers over TCP and connects nowhere."""


@cache
def build_call_filter(sockets: Sockets, machine: str = "", *, shared_ipc: bool = False) -> bytes:
    """Return the filter as an array of `struct sock_filter`; empty for an architecture without a table.

    shared_ipc: no namespace keeps shared memory, semaphores and message queues from other programs and later commands,
        so the filter refuses them
    machine: the architecture's name, by default that of this machine
    """
    architecture = _ARCHITECTURES.get(machine or platform.machine())
    if architecture is None:
        return b""
    numbers = architecture.numbers
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        *_refuse_unless_equal(
            architecture.audit, errno.EPERM
        ),  # a 32-bit program: its numbers mean other calls
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if architecture.second_numbering:
        code += [(_AT_LEAST, 0, 1, architecture.second_numbering), _build_refusal(errno.EPERM)]
    for name, error in {**_REFUSED, **(_SHARED_IPC if shared_ipc else {})}.items():
        if name in numbers:
            code += [(_EQUAL, 0, 1, numbers[name]), _build_refusal(error)]
    more = _SERVER if sockets == "server" else {}
    for name, body in {**_BY_ARGUMENT, **more, "socket": _SOCKET[sockets]}.items():
        if name in numbers:
            code += [(_EQUAL, 0, len(body), numbers[name]), *body]
    code.append(_ALLOW)
    return _pack_instructions(code)


def build_empty_filter() -> bytes:
    """Return a filter that refuses nothing, for any architecture."""
    return _pack_instructions([_ALLOW])


def _pack_instructions(code: Sequence[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


Instruction = tuple[int, int, int, int]
"""Operation, number of instructions to skip if true, if false, operand."""

# linux/bpf_common.h: BPF_LD|W|ABS, BPF_JMP|JEQ|K, |JGE|K, |JSET|K, BPF_RET|K
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # in struct seccomp_data
_FIRST, _SECOND, _THIRD, _FOURTH = 16, 24, 32, 40
"""Low halves of the arguments: all that the kernel itself reads, for each of the calls below."""

_ALLOW: Instruction = (_ANSWER, 0, 0, 0x7FFF0000)  # SECCOMP_RET_ALLOW


def _build_refusal(error: int) -> Instruction:
    return (_ANSWER, 0, 0, 0x00050000 | error)  # SECCOMP_RET_ERRNO


def _refuse_unless_equal(value: int, error: int) -> list[Instruction]:
    return [(_EQUAL, 1, 0, value), _build_refusal(error)]


def _map_names_to_error(words: str, error: int) -> dict[str, int]:
    return dict.fromkeys(words.split(), error)


_REFUSED: Mapping[str, int] = {
    # Other processes: their memory, their descriptors.
    **_map_names_to_error(
        "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp", errno.EPERM
    ),
    # Keys of the session that started us.
    **_map_names_to_error("add_key request_key keyctl", errno.EPERM),
    # Namespaces and mounts, which could unmask masked paths.
    **_map_names_to_error(
        "mount umount2 pivot_root chroot setns move_mount open_tree open_tree_attr", errno.EPERM
    ),
    **_map_names_to_error("fsopen fsconfig fsmount fspick mount_setattr", errno.EPERM),
    # Files by number instead of by path.
    **_map_names_to_error("open_by_handle_at", errno.EPERM),
    # The kernel itself: its code, its tracing, its log, its clock.
    **_map_names_to_error("bpf perf_event_open userfaultfd kexec_load kexec_file_load", errno.EPERM),
    **_map_names_to_error(
        "init_module finit_module delete_module syslog acct swapon swapoff reboot", errno.EPERM
    ),
    **_map_names_to_error(
        "settimeofday clock_settime quotactl quotactl_fd fanotify_init iopl ioperm", errno.EPERM
    ),
    # Does all of the above unseen by a filter. Programs probe for it and fall back.
    **_map_names_to_error("io_uring_setup io_uring_enter io_uring_register", errno.ENOSYS),
    # Their flags are in memory, where a filter cannot read. C libraries fall back on clone and openat, which are
    # filtered.
    **_map_names_to_error("clone3 openat2", errno.ENOSYS),
}

_SHARED_IPC = _map_names_to_error(
    "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open", errno.ENOSYS
)
"""Those that use an object too: the number of one that another program made can be guessed."""

_NAMESPACES = 0x7E020000  # CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET
_NEW_TIME = 0x80  # CLONE_NEWTIME: for unshare; in clone these bits are a signal's number
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # type into a terminal; paste into a console
_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)
"""Linux, 32 bits, old version numbers, both, no address randomization (sanitizers need it), and the query."""


def _allow_without_bits(argument: int, bits: int) -> list[Instruction]:
    return [(_LOAD, 0, 0, argument), (_ANY_BIT, 0, 1, bits), _build_refusal(errno.EPERM), _ALLOW]


def _refuse_any_of(argument: int, values: Sequence[int]) -> list[Instruction]:
    steps: list[Instruction] = [(_LOAD, 0, 0, argument)]
    for value in values:
        steps += [(_EQUAL, 0, 1, value), _build_refusal(errno.EPERM)]
    return [*steps, _ALLOW]


def _allow_only(argument: int, values: Sequence[int]) -> list[Instruction]:
    steps: list[Instruction] = [(_LOAD, 0, 0, argument)]
    for value in values:
        steps += [(_EQUAL, 0, 1, value), _ALLOW]
    return [*steps, _build_refusal(errno.EPERM)]


_SETUID = 0o4000
"""A file with this bit runs with its owner's rights, whoever starts it: another account of the machine, later."""

_CREATES = 0x400040
"""O_CREAT and the bit of O_TMPFILE: without one of them, a call's mode has no meaning, and may be anything."""


def _refuse_setuid_file(flags: int, mode: int) -> list[Instruction]:
    return [(_LOAD, 0, 0, flags), (_ANY_BIT, 1, 0, _CREATES), _ALLOW, *_allow_without_bits(mode, _SETUID)]


_REFUSE_LIMITS_OF_OTHERS: list[Instruction] = [
    *[(_LOAD, 0, 0, _FIRST), (_EQUAL, 0, 1, 0), _ALLOW],  # of itself
    *[(_LOAD, 0, 0, _THIRD), (_EQUAL, 1, 0, 0), _build_refusal(errno.EPERM)],
    *[(_LOAD, 0, 0, _THIRD + 4), (_EQUAL, 1, 0, 0), _build_refusal(errno.EPERM)],
    _ALLOW,  # only asks
]
"""A limit on our own process, or on another program of the user, would end it: without files, without time."""

_BY_ARGUMENT: Mapping[str, list[Instruction]] = {
    "open": _refuse_setuid_file(_SECOND, _THIRD),
    "openat": _refuse_setuid_file(_THIRD, _FOURTH),
    "creat": _allow_without_bits(_SECOND, _SETUID),
    "mknod": _allow_without_bits(_SECOND, _SETUID),
    "mknodat": _allow_without_bits(_THIRD, _SETUID),
    "chmod": _allow_without_bits(_SECOND, _SETUID),
    "fchmod": _allow_without_bits(_SECOND, _SETUID),
    "fchmodat": _allow_without_bits(_THIRD, _SETUID),
    "fchmodat2": _allow_without_bits(_THIRD, _SETUID),
    "clone": _allow_without_bits(_FIRST, _NAMESPACES),
    "unshare": _allow_without_bits(_FIRST, _NAMESPACES | _NEW_TIME),
    "ioctl": _refuse_any_of(_SECOND, (_TIOCSTI, _TIOCLINUX)),
    "prlimit64": _REFUSE_LIMITS_OF_OTHERS,
    "personality": _allow_only(_FIRST, _PERSONALITIES),
}

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16


def _allow_socket_families(values: Sequence[int]) -> list[Instruction]:
    """Allow these families, and netlink's first protocol, with which programs list their interfaces (node
    at start-up)."""
    allowed = _allow_only(_FIRST, values)[:-1]
    return [*allowed, (_EQUAL, 1, 0, _NETLINK), _build_refusal(errno.EPERM), *_allow_only(_THIRD, (0,))]


_STREAM = 1
_TYPE_FLAGS = 0x80800  # SOCK_NONBLOCK, SOCK_CLOEXEC
_FAST_OPEN = 0x20000000  # MSG_FASTOPEN: connects without `connect`

_STREAMS_ONLY: list[Instruction] = [
    *[(_LOAD, 0, 0, _FIRST), (_EQUAL, 2, 0, _INET), (_EQUAL, 1, 0, _INET6)],
    _build_refusal(errno.EPERM),
    *_allow_only(_SECOND, [_STREAM | flags for flags in (0, 0x800, 0x80000, _TYPE_FLAGS)]),
]

_SOCKET: Mapping[Sockets, list[Instruction]] = {
    "machine": _allow_socket_families((_UNIX, _INET, _INET6)),
    "none": _allow_socket_families(()),
    "server": _STREAMS_ONLY,
}

_SERVER: Mapping[str, list[Instruction]] = {
    "connect": [_build_refusal(errno.EPERM)],
    "sendmmsg": [_build_refusal(errno.EPERM)],
    "sendto": _allow_without_bits(_FOURTH, _FAST_OPEN),
    "sendmsg": _allow_without_bits(_THIRD, _FAST_OPEN),
}
"""What else a server does not do: call out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Architecture:
    """audit: its number in linux/audit.h. second_numbering: where the calls of another ABI start, 0 if none."""

    audit: int
    numbers: Mapping[str, int]
    second_numbering: int = 0


def _parse_call_numbers(text: str) -> dict[str, int]:
    words = text.split()
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}


_COMMON = _parse_call_numbers("""
    io_uring_setup 425 io_uring_enter 426 io_uring_register 427
    open_tree 428 move_mount 429 fsopen 430 fsconfig 431 fsmount 432 fspick 433 clone3 435
    openat2 437 fchmodat2 452
    pidfd_getfd 438 process_madvise 440 mount_setattr 442 quotactl_fd 443 open_tree_attr 467
""")
"""From number 424 on, all architectures use the same numbers."""

_X86_64 = _COMMON | _parse_call_numbers("""
    open 2 creat 85 chmod 90 fchmod 91 mknod 133 openat 257 mknodat 259 fchmodat 268
    shmget 29 shmat 30 shmctl 31 semget 64 semop 65 semctl 66 msgget 68 msgsnd 69 msgrcv 70 msgctl 71
    semtimedop 220 mq_open 240
    connect 42 sendto 44 sendmsg 46 sendmmsg 307
    ioctl 16 socket 41 clone 56 ptrace 101 syslog 103 personality 135 pivot_root 155 chroot 161 acct 163
    settimeofday 164 mount 165 umount2 166 swapon 167 swapoff 168 reboot 169 iopl 172 ioperm 173
    init_module 175 delete_module 176 quotactl 179 clock_settime 227 kexec_load 246 add_key 248
    request_key 249 keyctl 250 unshare 272 perf_event_open 298 fanotify_init 300 prlimit64 302 open_by_handle_at 304
    setns 308 process_vm_readv 310 process_vm_writev 311 kcmp 312 finit_module 313 kexec_file_load 320
    bpf 321 userfaultfd 323
""")

_GENERIC = _COMMON | _parse_call_numbers("""
    mknodat 33 fchmod 52 fchmodat 53 openat 56 mq_open 180 msgget 186 msgctl 187 msgrcv 188 msgsnd 189
    semget 190 semctl 191 semtimedop 192 semop 193 shmget 194 shmctl 195 shmat 196
    connect 203 sendto 206 sendmsg 211 sendmmsg 269
    ioctl 29 umount2 39 mount 40 pivot_root 41 chroot 51 quotactl 60 acct 89 personality 92 unshare 97
    kexec_load 104 init_module 105 delete_module 106 clock_settime 112 syslog 116 ptrace 117 reboot 142
    settimeofday 170 socket 198 add_key 217 request_key 218 keyctl 219 clone 220 swapon 224 swapoff 225
    perf_event_open 241 prlimit64 261 fanotify_init 262 open_by_handle_at 265 setns 268 process_vm_readv 270
    process_vm_writev 271 kcmp 272 finit_module 273 bpf 280 userfaultfd 282 kexec_file_load 294
""")
"""asm-generic/unistd.h: every architecture that was added to Linux late."""

_ARCHITECTURES: Mapping[str, _Architecture] = {
    "x86_64": _Architecture(audit=0xC000003E, numbers=_X86_64, second_numbering=0x40000000),  # x32
    "aarch64": _Architecture(audit=0xC00000B7, numbers=_GENERIC),
    "riscv64": _Architecture(audit=0xC00000F3, numbers=_GENERIC),
}
