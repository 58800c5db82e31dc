"""`run` with common options is read as typer reads it, or left to typer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer import Exit
from typer._click.exceptions import ClickException

from cli.commands.group import load_commands
from cli.commands.run.quick_parse import QUICK_OPTIONS, QuickRun, parse_quick_run
from sandbox.errors import UserError
from tests.support.cli import environment
from tests.support.loopback import Loopback

RUN = load_commands("run.run")["run"]


def parse_by_typer(arguments: list[str]) -> Mapping[str, Any] | None:
    """Values of the options and the prompt as typer reads them, folders and choices as text; None if refused."""
    try:
        with RUN.make_context("run", list(arguments), resilient_parsing=False) as context:
            values = {key: getattr(value, "value", value) for key, value in context.params.items()}
            return values | {"folder": str(values["folder"])}
    except (ClickException, Exit, UserError):
        return None


def fill_in_defaults(quick: QuickRun) -> dict[str, Any]:
    defaults: dict[str, Any] = {"folder": ".", "output": "text", "no_commit": False, "session": ""}
    values = defaults | dict(quick.values) | {"prompt": quick.prompt}
    return {key: str(value) if key == "folder" else value for key, value in values.items()}


VALUES = st.sampled_from(
    ["text", "json", "stream-json", "full", "auto", "never", "tools", "1", "0", "-1", "2.5", "1e2", "nan", "1_0", "٣",
     "", "-", "a b", "--mode", "offline", "x=y", " 3"]
)  # fmt: skip
OPTIONS = st.sampled_from(
    [*QUICK_OPTIONS, "--apply", "--help", "--tests", "-p", "--until", "--unknown", "--", "--mod"]
)
WORDS = st.one_of(
    st.tuples(OPTIONS, VALUES).map(list),
    st.tuples(OPTIONS, VALUES).map(lambda pair: [f"{pair[0]}={pair[1]}"]),
    OPTIONS.map(lambda name: [name]),
    VALUES.map(lambda value: [value]),
)


@given(st.lists(WORDS, max_size=4).map(lambda groups: [word for group in groups for word in group]))
def test_a_command_line_that_is_read_here_means_the_same_to_typer(arguments: list[str]) -> None:
    quick = parse_quick_run(arguments)
    if quick is None:
        return
    values = parse_by_typer(arguments)
    assert values is not None, f"typer refuses {arguments}"
    expected = fill_in_defaults(quick)
    given_elsewhere = {
        key: value
        for key, value in values.items()
        if key not in expected and value not in (None, False, "", "text", ()) and key != "input_"
    }
    assert not given_elsewhere
    assert {key: values[key] for key in expected} == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ["fix it"],
        ["fix it", "--model", "openai/x", "--api-base=http://127.0.0.1:1/v1", "-C", "a", "--no-commit"],
        [
            "-o",
            "stream-json",
            "--max-time",
            "8",
            "--max-steps",
            "3",
            "--max-cost",
            "0.5",
            "-",
            "--mode",
            "full",
        ],
    ],
)
def test_the_common_ones_are_read_here(arguments: list[str]) -> None:
    quick = parse_quick_run(arguments)
    assert quick is not None
    values = parse_by_typer(arguments)
    assert values is not None
    assert {key: values[key] for key in fill_in_defaults(quick)} == fill_in_defaults(quick)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["a", "b"],
        ["--mode", "wrong"],
        ["--max-steps", "0"],
        ["x", "--until", "true"],
        ["--", "-x"],
        ["-mx"],
    ],
)
def test_all_others_are_left_to_typer(arguments: list[str]) -> None:
    assert parse_quick_run(arguments) is None


def test_options_are_those_that_typer_knows() -> None:
    known = {word: each for each in RUN.params for word in each.opts}
    for word, option in QUICK_OPTIONS.items():
        assert known[word].name == option.name
        choices = getattr(known[word].type, "choices", ())
        assert option.choices == tuple(getattr(each, "value", each) for each in choices)
        assert option.least == getattr(known[word].type, "min", None)


@pytest.mark.slow
def test_a_run_with_common_options_does_not_import_typer(ledger: Path) -> None:
    with Loopback() as server:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "patchwright", "run", "hi", "--model", "openai/x",
             "--api-base", server.url],
            cwd=ledger, env=environment(), capture_output=True, text=True, timeout=60, check=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert "agent.turn.loop" in done.stderr
    assert " typer" not in done.stderr
