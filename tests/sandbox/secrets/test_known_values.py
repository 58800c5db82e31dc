"""The values of our own secrets, in every form in which a command can print them with what a shell has at hand."""

from __future__ import annotations

import base64
import codecs
import json
import os
import random
import re
import string
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from sandbox.secrets.known_values import register_secrets
from sandbox.secrets.redaction import MARKER, Redactor, redact

LETTERS = string.ascii_letters + string.digits


def draw_key(seed: int) -> str:
    drawn = random.Random(seed)
    return "sk-proj-" + "".join(drawn.choice(LETTERS + "-_") for _ in range(48))


def encode_percent(value: str) -> str:
    return "".join(f"%{each:02X}" for each in value.encode())


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": str.upper,
    "reversed": lambda value: value[::-1],
    "rot13": lambda value: codecs.encode(value, "rot13"),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64, shifted by one": lambda value: base64.b64encode(b":" + value.encode()).decode(),
    "base64, shifted by two": lambda value: base64.b64encode(b"k=" + value.encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64 in lines": lambda value: "\n".join(textwrap.wrap(base64.b64encode(value.encode()).decode(), 20)),
    "base64 twice": lambda value: base64.b64encode(base64.b64encode(value.encode())).decode(),
    "base64, reversed": lambda value: base64.b64encode(value[::-1].encode()).decode(),
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "hex in capitals": lambda value: value.encode().hex().upper(),
    "hex with colons": lambda value: value.encode().hex(":"),
    "hex, reversed": lambda value: value[::-1].encode().hex(),
    "URL": lambda value: quote(value, safe=""),
    "URL, every character": encode_percent,
    "JSON escapes": lambda value: "".join(f"\\u{ord(each):04x}" for each in value),
    "hex escapes": lambda value: "".join(f"\\x{each:02x}" for each in value.encode()),
    "octal escapes": lambda value: "".join(f"\\{each:03o}" for each in value.encode()),
    "a list of numbers": lambda value: json.dumps(list(value.encode())),
    "a C array": lambda value: ", ".join(hex(each) for each in value.encode()),
    "two lines": lambda value: f"{value[:20]}\n{value[20:]}",
    "lines of five": lambda value: "\n".join(textwrap.wrap(value, 5)),
    "a character at a time": " ".join,
    "quoted pieces": "' + '".join,
    "od": lambda value: subprocess.run(
        ["od", "-An", "-tx1"], input=value.encode(), capture_output=True, check=True
    ).stdout.decode(),
}


@pytest.fixture(params=range(4))
def key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    value = draw_key(request.param)
    monkeypatch.setenv("OPENAI_API_KEY", value)
    return value


def find_rest(value: str, shown: str) -> str:
    """The longest row of the value's characters that is still to be read, forwards."""
    plain = "".join(each for each in shown if each in LETTERS)
    letters = "".join(each for each in value if each in LETTERS)
    rows = (
        letters[start : start + size] for size in range(len(letters), 5, -1) for start in range(len(letters))
    )
    return next((row for row in rows if len(row) > 5 and row in plain), "")


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_known_secret_is_redacted_in_every_encoding(name: str, key: str) -> None:
    encoded = ENCODINGS[name](key)
    shown = redact(f"It is: {encoded} so far")
    assert shown.startswith("It is: ")
    assert shown.endswith(" so far")
    assert MARKER in shown
    longest = max((len(each) for each in re.findall(r"[A-Za-z0-9]+", shown.replace(MARKER, " "))), default=0)
    assert longest <= 8, shown
    assert not find_rest(key, shown)


@pytest.mark.parametrize("cut", [20, 24, 28, 36])
def test_a_part_of_it_in_an_output_of_its_own_is_redacted(cut: int, key: str) -> None:
    for part in (key[:cut], key[cut:], key[::-1][:cut], base64.b64encode(key[cut - 16 :].encode()).decode()):
        shown = redact(f"part: {part}")
        assert MARKER in shown
        assert not find_rest(key, shown)


@pytest.mark.parametrize("name", ["two lines", "base64 in lines", "lines of five", "hex with colons", "URL"])
def test_it_is_not_shown_while_it_streams(name: str, key: str) -> None:
    redactor = Redactor()
    text = f"It is:\n{ENCODINGS[name](key)}\nso far\n"
    shown = "".join(map(redactor.feed, text)) + redactor.close()
    assert shown.startswith("It is:\n")
    assert shown.endswith("so far\n")
    assert not find_rest(key, shown)
    assert MARKER in shown


def test_text_that_has_no_secret_stays_as_it_is(key: str) -> None:
    root = Path(__file__).parents[3]
    for path in (root / "docs/security.md", root / "docs/models.md", root / "CHANGELOG.md", Path(__file__)):
        text = path.read_text()
        assert redact(text) == text
    drawn = random.Random(len(key))
    other = "".join(drawn.choice(LETTERS) + drawn.choice(("", "", " ")) for _ in range(20_000))
    redactor = Redactor()
    assert redactor.feed(other) + redactor.close() == other


def test_words_of_a_passphrase_are_ordinary_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSPHRASE", "correct horse battery staple")
    text = "The correct battery is beside the horse. A staple, correct horse? battery-powered."
    assert redact(text) == text
    assert redact("it is correct horse battery staple!") == f"it is {MARKER}!"


def test_a_secret_of_the_settings_is_known_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.environ["HOME"])
    value = draw_key(77)
    assert redact(f"it is {value[8:]}") == f"it is {value[8:]}"
    register_secrets({"TICKETS_KEY": value, "TICKETS_REGION": "europe-west-12-standard"})
    assert redact(f"it is {value[8:]}") == f"it is {MARKER}"
    assert redact("europe-west-12-standard") == "europe-west-12-standard"


def test_a_token_longer_than_any_files_name_is_known() -> None:
    value = "".join(draw_key(number) for number in range(20))
    assert len(value) > 255
    register_secrets({"MCP_ACCESS_TOKEN_1": value})
    assert redact(f"Bearer {value}!") == f"Bearer {MARKER}!"


def test_a_secret_of_the_same_name_replaces_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, first, second = draw_key(81), draw_key(82), draw_key(83)
    monkeypatch.setenv("SHOP_API_KEY", mine)
    register_secrets({"Authorization TOKEN": first, "SHOP_API_KEY": "dummy-dummy-dummy"})
    register_secrets({"Authorization TOKEN": second})
    assert redact(f"{mine} {first} {second}") == f"{MARKER} {MARKER} {MARKER}"
