"""Ctrl-C where no loop hears it: between the loops of a command, and when its end is decided."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.cli import CHECKOUT

GUARDED = """
import os, signal, sys
from cli.main_guard import run_guarded


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


class Late:
    def __del__(self):
        interrupt()


def run():
    {body}


run_guarded(run)
"""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("interrupt()", 130),
        ("global late; late = Late(); sys.exit(3)", 3),
        ("global late; late = Late(); raise ValueError('a fault')", 70),
        ("global late; late = Late(); interrupt()", 130),
    ],
)
def test_an_interrupt_ends_with_its_code_and_replaces_none_that_is_decided(body: str, code: int) -> None:
    program = GUARDED.format(body=body)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert "KeyboardInterrupt" not in done.stderr
