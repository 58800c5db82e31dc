"""The filter's answers, for each architecture, by a small machine that runs it as the kernel does."""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence

import pytest

from sandbox.backends.seccomp import _ARCHITECTURES, build_call_filter

ALLOW, REFUSE = 0x7FFF0000, 0x00050000


def answer(program: bytes, audit: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Run classic BPF over a `struct seccomp_data`."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    code = list(struct.iter_unpack("=HBBI", program))
    place = accumulator = 0
    while True:
        operation, if_true, if_false, operand = code[place]
        place += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x06:
            return int(operand)
        else:
            tests = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }
            place += if_true if tests[operation] else if_false


@pytest.mark.parametrize("machine", sorted(_ARCHITECTURES))
@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("ptrace", (), REFUSE | errno.EPERM),
        ("mount", (), REFUSE | errno.EPERM),
        ("clone3", (), REFUSE | errno.ENOSYS),
        ("io_uring_setup", (), REFUSE | errno.ENOSYS),
        ("clone", (17,), ALLOW),
        ("clone", (0x10000011,), REFUSE | errno.EPERM),
        ("clone", (0x003D0F00,), ALLOW),  # what a C library asks for a thread
        ("unshare", (0x400,), ALLOW),
        ("unshare", (0x80,), REFUSE | errno.EPERM),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), REFUSE | errno.EPERM),
        (
            "ioctl",
            (0, 0x7_0000_5412),
            REFUSE | errno.EPERM,
        ),  # the kernel drops the upper half, CVE-2019-10063
        ("personality", (0xFFFFFFFF,), ALLOW),
        ("personality", (0x400000,), REFUSE | errno.EPERM),
        ("openat2", (), REFUSE | errno.ENOSYS),
        ("openat", (3, 0, 0x41, 0o4755), REFUSE | errno.EPERM),
        ("openat", (3, 0, 0x41, 0o2755), ALLOW),
        ("openat", (3, 0, 0x410000, 0o4600), REFUSE | errno.EPERM),  # a file without a name
        ("openat", (3, 0, 0, 0o4755), ALLOW),  # what lies in a register when nothing is made
        ("fchmod", (3, 0o4755), REFUSE | errno.EPERM),
        ("fchmodat", (3, 0, 0o104755), REFUSE | errno.EPERM),
        ("fchmodat", (3, 0, 0o755), ALLOW),
        ("fchmodat2", (3, 0, 0o4755), REFUSE | errno.EPERM),
        ("mknodat", (3, 0, 0o104755), REFUSE | errno.EPERM),
        ("socket", (1,), ALLOW),
        ("socket", (2,), ALLOW),
        ("socket", (16, 3, 0), ALLOW),
        ("socket", (16, 3, 9), REFUSE | errno.EPERM),
        ("socket", (17,), REFUSE | errno.EPERM),
        ("socket", (40,), REFUSE | errno.EPERM),
    ],
)
def test_calls_are_answered_by_number_and_argument(
    machine: str, call: str, arguments: tuple[int, ...], expected: int
) -> None:
    architecture = _ARCHITECTURES[machine]
    program = build_call_filter("machine", machine)
    assert answer(program, architecture.audit, architecture.numbers[call], arguments) == expected


@pytest.mark.parametrize("machine", sorted(_ARCHITECTURES))
def test_ordinary_calls_and_other_architectures(machine: str) -> None:
    architecture = _ARCHITECTURES[machine]
    refused = set(architecture.numbers.values())
    program = build_call_filter("none", machine)
    for number in set(range(470)) - refused:
        assert answer(program, architecture.audit, number) == ALLOW
    assert answer(program, 0x40000003, 1) == REFUSE | errno.EPERM  # a 32-bit program
    for family in (1, 2, 10):
        assert (
            answer(program, architecture.audit, architecture.numbers["socket"], (family,))
            == REFUSE | errno.EPERM
        )
    if architecture.second_numbering:
        assert answer(program, architecture.audit, architecture.second_numbering | 1) == REFUSE | errno.EPERM


@pytest.mark.parametrize("machine", sorted(_ARCHITECTURES))
def test_shared_memory_and_queues_are_refused_where_no_namespace_keeps_them(machine: str) -> None:
    architecture = _ARCHITECTURES[machine]
    for name in ("shmget", "shmat", "semget", "semop", "msgget", "msgrcv", "mq_open"):
        number = architecture.numbers[name]
        assert answer(build_call_filter("none", machine), architecture.audit, number) == ALLOW
        shared = build_call_filter("none", machine, shared_ipc=True)
        assert answer(shared, architecture.audit, number) == REFUSE | errno.ENOSYS


@pytest.mark.parametrize("machine", sorted(_ARCHITECTURES))
@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("socket", (2, 1), ALLOW),
        ("socket", (10, 0x80801), ALLOW),
        ("socket", (2, 2), REFUSE | errno.EPERM),
        ("socket", (1, 1), REFUSE | errno.EPERM),
        ("socket", (16, 3, 0), REFUSE | errno.EPERM),
        ("connect", (3,), REFUSE | errno.EPERM),
        ("sendmmsg", (3,), REFUSE | errno.EPERM),
        ("sendto", (3, 0, 0, 0x4000), ALLOW),
        ("sendto", (3, 0, 0, 0x20000000), REFUSE | errno.EPERM),
        ("sendmsg", (3, 0, 0x20000000), REFUSE | errno.EPERM),
        ("bind", (3,), ALLOW),
    ],
)
def test_a_server_answers_and_calls_nobody(
    machine: str, call: str, arguments: tuple[int, ...], expected: int
) -> None:
    architecture = _ARCHITECTURES[machine]
    number = {**architecture.numbers, "bind": 49 if machine == "x86_64" else 200}[call]
    assert answer(build_call_filter("server", machine), architecture.audit, number, arguments) == expected


def test_an_unknown_architecture_has_no_filter() -> None:
    assert build_call_filter("none", "pdp11") == b""
