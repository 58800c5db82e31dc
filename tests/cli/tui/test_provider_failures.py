"""What a person sees while a provider refuses, and when it breaks off."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import cli
from tests.support.raw_endpoint import RawAnswer, RawEndpoint, answer_in_turn, build_refusal, format_event
from tests.support.talking import at_rest, leave
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

WORDS = (
    "Rate limit reached for gpt-x in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000,"
    " Requested 4000. Visit https://example.org/account/rate-limits to learn more. The headers of the answer tell what"
    " is left. Shorten the prompt or the answer that is asked for, wait for the next minute, or ask for a higher limit"
    " of your organization at https://example.org/contact."
)


def test_a_rate_limit_is_counted_down_and_told_in_the_words_of_the_provider(shop: Path) -> None:
    limited = replace(build_refusal(WORDS, 429), headers={"Retry-After": "3"})
    text = {"choices": [{"index": 0, "delta": {"content": "It is a shop."}, "finish_reason": "stop"}]}
    answer = format_event(text) + format_event("[DONE]")
    with RawEndpoint(answer_in_turn(limited, limited, answer)) as endpoint:
        argv = [*cli.PATCHWRIGHT, "--model", "openai/local", "--api-base", endpoint.url]
        with Terminal(argv, cwd=shop, env=cli.environment({}), columns=80, rows=30) as terminal:
            at_rest(terminal)
            terminal.type("what is this?\r")
            for left, attempt in ((3, 2), (1, 2), (3, 3)):
                terminal.wait(f"Rate limited · again in {left} s · attempt {attempt} of 4 · ")
                assert "esc to stop" in terminal.text
            terminal.wait("✔ done")
            at_rest(terminal)
            told = re.sub(r"\s+", " ", terminal.everything)
            assert told.count(WORDS) == 1
            assert "; trying again in 3.0 s (2 of 4)" in told
            assert "the same again; trying again in 3.0 s (3 of 4)" in told
            assert all(len(row) <= 80 for row in terminal.everything.split("\n"))
            leave(terminal)
    assert len(endpoint.requests) == 3


PAGE = (
    "<html>\n<head><title>502 Bad Gateway</title></head>\n<body><hr><center>proxy/1.2</center></body></html>"
)


@pytest.mark.parametrize(
    ("refusal", "live", "words"),
    [
        (build_refusal("Something broke here.", 500), "The server failed (500)", "Something broke here."),
        (build_refusal("Overloaded", 529), "The server is overloaded", "Overloaded"),
        (
            RawAnswer(pieces=[PAGE.encode()], status=502, kind="text/html"),
            "The server failed (502)",
            "502 Bad Gateway",
        ),
    ],
)
def test_a_failing_server_is_asked_again_and_told_in_its_words(
    shop: Path, refusal: RawAnswer, live: str, words: str
) -> None:
    with RawEndpoint(
        answer_in_turn(replace(refusal, headers={"Retry-After": "2"}), stream("It is a shop.", ends=True))
    ) as endpoint:
        argv = [*cli.PATCHWRIGHT, "--model", "openai/local", "--api-base", endpoint.url]
        with Terminal(argv, cwd=shop, env=cli.environment({}), columns=100, rows=30) as terminal:
            at_rest(terminal)
            terminal.type("what is this?\r")
            terminal.wait(f"{live} · again in 2 s · attempt 2 of 4 · ")
            assert "esc to stop" in terminal.text
            terminal.wait("✔ done")
            at_rest(terminal)
            assert f": {words}; trying again in " in " ".join(terminal.everything.split())
            assert "<" not in terminal.everything
            leave(terminal)


def test_the_error_of_a_provider_is_broken_between_words(shop: Path) -> None:
    with RawEndpoint(answer_in_turn(build_refusal(WORDS, 400))) as endpoint:
        argv = [*cli.PATCHWRIGHT, "--model", "openai/local", "--api-base", endpoint.url]
        with Terminal(argv, cwd=shop, env=cli.environment({}), columns=60, rows=30) as terminal:
            at_rest(terminal)
            terminal.type("what is this?\r")
            terminal.wait("✗ failed")
            at_rest(terminal)
            words = {word for word in re.split(r"\s+", terminal.everything) if word.isalpha()}
            assert {"organization", "Requested", "learn"} <= words
            assert "https://example.org/account/rate-limits " in terminal.everything.replace("\n", " ")
            assert "https://example.org/contact." in terminal.everything
            leave(terminal)


def stream(*words: str, ends: bool) -> RawAnswer:
    """A streamed answer that is complete, or cut off behind these words."""
    pieces = [format_event({"choices": [{"index": 0, "delta": {"content": word}}]}) for word in words]
    if not ends:
        return RawAnswer(pieces=pieces, is_cut=True)
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return RawAnswer(pieces=[*pieces, format_event(end), format_event("[DONE]")])


def test_an_answer_that_breaks_off_and_begins_anew_is_shown_once(shop: Path) -> None:
    begun = ["It is a shop ", "with two files: cart.py sums ", "pri"]
    answers = (
        stream(*begun, ends=False),
        stream(*begun, "ces", ends=False),
        stream(*begun, "ces up.", ends=True),
    )
    with RawEndpoint(answer_in_turn(*answers)) as endpoint:
        argv = [*cli.PATCHWRIGHT, "--model", "openai/local", "--api-base", endpoint.url]
        with Terminal(argv, cwd=shop, env=cli.environment({}), columns=80, rows=30) as terminal:
            at_rest(terminal)
            terminal.type("what is this?\r")
            terminal.wait("✔ done")
            at_rest(terminal)
            assert terminal.everything.count("It is a shop with two files") == 1
            words = terminal.everything.split()
            assert words.count("prices") == words.count("up.") == 1
            leave(terminal)
    assert len(endpoint.requests) == 3


def test_a_machine_without_a_network_is_told_in_one_line(shop: Path) -> None:
    alone = [shutil.which("unshare") or "", "-rn"]
    if not alone[0] or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace without a network can be made here")
    argv = [*alone, *cli.PATCHWRIGHT, "--model", "openai/local", "--api-base", "http://api.example.org/v1"]
    with Terminal(
        argv, cwd=shop, env=cli.environment({"OPENAI_API_KEY": "x"}), columns=80, rows=30
    ) as terminal:
        at_rest(terminal)
        terminal.type("what is this?\r")
        terminal.wait("No network · again in ")
        terminal.wait("✗ failed")
        at_rest(terminal)
        told = " ".join(terminal.everything.split())
        assert told.count("no network: the name 'api.example.org' cannot be looked up") == 2  # first and last
        assert "Connect this machine to the network" in told
        leave(terminal)
