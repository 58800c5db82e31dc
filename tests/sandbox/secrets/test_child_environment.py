"""The environment of a command is an allow-list; keys are redacted from text."""

from __future__ import annotations

import base64
import json
import os
import pwd
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.secrets import child_environment
from sandbox.secrets.child_environment import (
    Redactor,
    build_child_environment,
    explain_overwrite,
    list_secret_paths,
    redact,
    redact_bytes,
)


def test_only_listed_variables_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    private = {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_PROFILE", "SSH_AUTH_SOCK", "HTTP_PROXY", "ANYTHING"}
    for name in private:
        monkeypatch.setenv(name, "x")
    for name in (
        "LC_ALL",
        "LANG",
        "CARGO_HOME",
        "GOPATH",
        "JAVA_HOME",
        "NVM_DIR",
        "PYENV_ROOT",
        "VIRTUAL_ENV",
        "TZ",
    ):
        monkeypatch.setenv(name, f"value of {name}")
    env = build_child_environment({"MINE": "1", "LANG": "C"})
    assert not private & set(env)
    assert env["JAVA_HOME"] == "value of JAVA_HOME"
    assert env["LC_ALL"] == "value of LC_ALL"
    assert (env["MINE"], env["LANG"]) == ("1", "C")


def test_a_missing_path_is_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert "/bin" in build_child_environment({})["PATH"]


def test_secret_places_are_those_that_exist(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / "elsewhere").mkdir()
    (home / ".aws").symlink_to(home / "elsewhere")
    found = [path for path in list_secret_paths([home / "absent"]) if home in path.parents]
    assert found == [home / ".ssh", home / "elsewhere"]


def test_the_home_of_the_account_counts_whatever_home_says(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    for odd in ("", "relative", "/nonexistent"):
        monkeypatch.setenv("HOME", odd)
        assert account in child_environment.list_homes()


def test_nothing_that_steers_or_reaches_out_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    steering = """NO_PROXY ALL_PROXY SSH_AUTH_SOCK SSH_AGENT_PID GIT_DIR GIT_SSH_COMMAND GIT_CONFIG_COUNT GPG_AGENT_INFO
        GNUPGHOME DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR XDG_CONFIG_HOME DISPLAY WAYLAND_DISPLAY XAUTHORITY
        DOCKER_HOST LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV PROMPT_COMMAND IFS PYTHONSTARTUP PYTHONHOME NODE_OPTIONS
        PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS LESSOPEN PAGER EDITOR KUBECONFIG AWS_SECRET_ACCESS_KEY
        GOOGLE_APPLICATION_CREDENTIALS HF_TOKEN
        OPENAI_API_KEY OPENAI_BASE_URL PATCHWRIGHT_HOME"""
    for name in steering.split():
        monkeypatch.setenv(name, "x")
    assert not set(steering.split()) & set(build_child_environment({}))


def test_the_user_may_name_more_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHWRIGHT_PASS_ON", "SHOP_REGION, SHOP_STAGE")
    monkeypatch.setenv("SHOP_REGION", "eu")
    monkeypatch.setenv("SHOP_OTHER", "x")
    env = build_child_environment({})
    assert env["SHOP_REGION"] == "eu"
    assert not {"SHOP_OTHER", "SHOP_STAGE", "PATCHWRIGHT_PASS_ON"} & set(env)


def test_the_path_names_no_program_that_came_with_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve() / "shop"
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").touch()
    (root / "tools").mkdir()
    (tmp_path / "link").symlink_to(root / "tools")
    planted = ["", ".", "bin", "./tools", str(root), f"{root}/tools", str(tmp_path / "link")]
    kept = [f"{root}/.venv/bin", "/usr/local/bin", f"{root}-evil/bin", "/usr/bin"]
    monkeypatch.setenv("PATH", ":".join([*planted, *kept]))
    assert build_child_environment({}, root)["PATH"] == ":".join(kept)


def test_a_path_with_nothing_of_use_is_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", ".:bin")
    assert build_child_environment({})["PATH"] == os.defpath


R = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7bC9dE2fG4hJ6kL8mN1pQ3rS5tU7vW9xY2zA4bC6dE8"
"""Letters and digits as they come: parts of it make keys that look real and are none."""
HEX = "3f9a1c7e5b2d8046af13c9e7d5b2806f4a1c3e9b7d5f2806"

TOKENS = [
    f"sk-{R[:48]}",
    f"sk-proj-{R[:60]}",
    "sk-ant-api03-" + "a1B2" * 10,
    f"sk-or-v1-{HEX}",
    f"sk-{HEX[:32]}",
    f"AIza{R[:35]}",
    f"gsk_{R[:52]}",
    f"xai-{R[:70]}",
    f"r8_{R[:37]}",
    f"hf_{R[:34]}",
    f"tgp_v1_{R[:43]}",
    f"pplx-{R[:48]}",
    *(f"gh{each}_{R[:36]}" for each in "pousr"),
    f"github_pat_{R[:22]}_{R[:59]}",
    f"glpat-{R[:20]}",
    f"ATATT3xFfGF0{R[:60]}",
    f"ATBB{R[:32]}",
    f"npm_{R[:36]}",
    f"pypi-AgEIcHlwaS5vcmc{R[:60]}",
    f"dckr_pat_{R[:27]}",
    "AKIA" + "ABCD" * 4,
    f"dapi{HEX[:32]}",
    f"dop_v1_{HEX}{HEX[:16]}",
    f"HRKU-{R[:40]}",
    f"hvs.{R[:40]}",
    "xoxb-1234567890-abc",
    f"xapp-1-A012ABCDE-1234567890-{R[:40]}",
    f"MTIzNDU2Nzg5MDEyMzQ1Njc4.{R[:6]}.{R[:38]}",
    f"SK{HEX[:32]}",
    f"SG.{R[:22]}.{R[:43]}",
    f"sk_live_{R[:24]}",
    f"rk_test_{R[:24]}",
    f"whsec_{R[:32]}",
    f"shpat_{HEX[:32]}",
    f"glsa_{R[:32]}_{HEX[:8]}",
    f"NRAK-{R[:27].upper()}",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{R[:43]}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{R[:64]}\n{R[:60]}\n{R[:9]}=\n-----END RSA PRIVATE KEY-----",
    f"AQ.Ab{R[:40]}",
    f"ya29.{R[:60]}",
    f"GOCSPX-{R[:28]}",
    f"api_org_{R[:34]}",
    f"csk-{R[:48]}",
    f"fw_{R[:24]}",
    f"nvapi-{R[:64]}",
    f"tvly-{R[:32]}",
    f"lsv2_pt_{HEX[:32]}_{HEX[:10]}",
    *(
        f"gl{each}-{R[:20]}"
        for each in ("dt", "rt", "ptt", "oas", "cbt", "ft", "imt", "agent", "soat", "ffct")
    ),
    f"ATCTT3{R[:60]}",
    f"rubygems_{HEX}",
    f"cio{R[:32]}",
    f"dckr_oat_{R[:27]}",
    f"PMAK-{HEX[:24]}-{HEX[:34]}",
    *(f"{each}ABCD2EFG3HJK4LMN" for each in ("ASIA", "ABIA", "ACCA")),
    f"ABSK{R[:76]}",
    *(f"do{each}_v1_{HEX}{HEX[:16]}" for each in "or"),
    *(f"hv{each}.{R[:40]}" for each in "br"),
    f"{R[:14]}.atlasv1.{R[:67]}",
    f"pul-{HEX[:40]}",
    f"dp.pt.{R[:43]}",
    f"pscale_tkn_{R[:43]}",
    f"sbp_{HEX[:40]}",
    f"fm2_{R[:76]}",
    f"tskey-auth-{R[:17]}-{R[:32]}",
    *(f"{each}_{R[:24]}" for each in ("rk_live", "sk_test", "sk_prod", "rk_prod")),
    *(f"shp{each}_{HEX[:32]}" for each in ("ca", "pa", "ss")),
    f"sq0csp-{R[:43]}",
    f"{HEX[:32]}-us12",
    f"glc_{R[:44]}=",
    f"sntrys_{R[:60]}",
    f"lin_api_{R[:40]}",
    f"ntn_{R[:46]}",
    f"figd_{R[:40]}",
    f"AGE-SECRET-KEY-1{R[:58].upper()}",
    f"ops_eyJ{R[:76]}",
    *(f"xox{each}-1234567890-abc" for each in "aceoprs"),
    "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", TOKENS)
def test_keys_of_known_shapes_are_redacted(key: str) -> None:
    assert redact(f"before {key}, after") == "before [redacted], after"
    assert redact(f"X={key}\n") == "X=[redacted]\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"aws_secret_access_key = {R[:38]}/+", "aws_secret_access_key = [redacted]"),
        (f'"SecretAccessKey": "{R[:40]}"', '"SecretAccessKey": "[redacted]"'),
        (f"AccountKey={R[:80]}==;End", "AccountKey=[redacted];End"),
        (f"https://x.blob.core.windows.net/a?sv=1&sig={R[:44]}%3D&se=2", "https://x.blob.core.windows.net/a?sv=1&sig=[redacted]&se=2"),
        (f"https://hooks.slack.com/services/T01/B02/{R[:24]}", "https://hooks.slack.com/services/[redacted]"),
        (f"https://discord.com/api/webhooks/123456789012345678/{R[:68]}", "https://discord.com/api/webhooks/123456789012345678/[redacted]"),
        (f"110201543:AA{R[:33]}", "110201543:[redacted]"),
        ("heroku_api_key=12345678-1234-1234-1234-123456789abc", "heroku_api_key=[redacted]"),
        ("postgres://shop:s3cr3t!@db/x", "postgres://shop:[redacted]@db/x"),
        ("https://:tok3n-value@host/", "https://:[redacted]@host/"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"),
        ("-H 'authorization: Basic dXNlcjpwYXNzd29yZA=='", "-H 'authorization: Basic [redacted]'"),
        (f"MISTRAL_API_KEY={R[:32]}", "MISTRAL_API_KEY=[redacted]"),
        (f'"cohereApiKey": "{R[:40]}"', '"cohereApiKey": "[redacted]"'),
        (f"password: '{R[:16]}!$%'", "password: '[redacted]'"),
        (f"3\tDB_PASSWORD={R[:20]}", "3\tDB_PASSWORD=[redacted]"),
        (f'{{\\"token\\": \\"{R[:30]}\\"}}', '{\\"token\\": \\"[redacted]\\"}'),
    ],
)  # fmt: skip
def test_values_are_redacted_for_what_stands_before_them(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "cut",
    [
        f"-----BEGIN PRIVATE KEY-----\n{R[:64]}\n{R[:64]}\n",
        f"1\t-----BEGIN PRIVATE KEY-----\n2\t{R[:64]}\n3\t{R[:64]}",
        f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{R[:64]}\\n{R[:30]}',
        f"+-----BEGIN EC PRIVATE KEY-----\n+{R[:64]}\n+{R[:20]}\n+-----END EC PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,3F9A\n\n"
        f"{R[:64]}\n{R[:64]}\n",
        f"{R[:64]}\n{R[:64]}\n{R[:21]}==\n-----END PRIVATE KEY-----\n",
        f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{R[:64]}\n{R[:64]}\n",
    ],
)
def test_a_private_key_that_was_cut_is_redacted_all_the_same(cut: str) -> None:
    assert R[:20] not in redact(f"before\n{cut}")
    assert redact(f"before\n{cut}").startswith("before\n")


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented-programming-language",
        "disk-usage",
        "sk-learn sk-chasing-dots-animation-delay",
        "pypi-server",
        "",
        f"commit {HEX[:40]}",
        f"task-{HEX[:32]} risk-{HEX[:40]} monkey-{HEX[:32]} cache_key-{HEX[:32]}",
        "maxai-a-long-name-of-many-words-that-goes-on-and-on-2024-01-02",
        f"{R[:12]}EAAA{R[:60]}",
        "asterisk-to-mask-a-password-field-in-forms-2",
        f"--hash=sha256:{HEX}{HEX[:16]}",
        f'"integrity": "sha512-{R}=="',
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "token: 123e4567-e89b-12d3-a456-426614174000",
        f"DATA = '{R}'",
        "token = request.headers.get('x-auth-token-2')",
        "secret = os.environ['SHOP_SECRET_KEY_2']",
        "api_key=settings.providers.api_key_v2",
        "def login(self, password: PasswordHash2Type, token: AccessToken2) -> None:",
        "if '-----BEGIN PRIVATE KEY-----' in text and '-----END PRIVATE KEY-----' in text:",
        "password = 'your-password-12'",
        f"public_key = '{R[:40]}'",
        f"cache_key: {HEX[:32]}",
        '"input_cost_per_token": 2.1429999999999996e-06',
        "http://localhost:8080/a@b",
        'f"https://{user}:{password}@host"',
        "the bearer of this letter",
        "next_page_token=first_page_token_0",
    ],
)
def test_ordinary_words_and_code_stay(text: str) -> None:
    assert redact(text) == text


def test_values_of_our_own_secrets_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DB_PASSWORD", "correct horse battery")
    monkeypatch.setenv("SHORT_TOKEN", "test")
    monkeypatch.setenv("TOKEN_COUNT", "not a secret at all")
    text = "a test with correct horse battery, not a secret at all"
    assert redact(text) == "a test with [redacted], not a secret at all"


def test_our_own_secrets_are_found_in_other_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    value = "pa/ss wörd+&=one?two"
    monkeypatch.setenv("SHOP_PASSWORD", value)
    raw = value.encode()
    forms = [quote(value), quote(value, safe=""), quote_plus(value), raw.hex(), json.dumps(value)]
    forms += [
        base64.b64encode(before + raw + after).decode()
        for before in (b"", b"u:", b"user:")
        for after in (b"", b"x")
    ]
    forms += [base64.urlsafe_b64encode(b"ab" + raw).decode()]
    for form in forms:
        shown = redact(f"<{form}>")
        assert "[redacted]" in shown
        assert len(shown) <= len("<[redacted]>") + 14, shown


def test_the_password_of_an_address_in_the_environment_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://shop:hunter2hunter2@db/shop")
    monkeypatch.setenv("SSH_KEY", "/etc/hostname")
    assert redact("hunter2hunter2 at db, in /etc/hostname") == "[redacted] at db, in /etc/hostname"


PIECES = st.lists(
    st.one_of(
        st.sampled_from([*TOKENS, "token = ", "password: ", '"', "\n", " ", "https://a:", "@", "Bearer ", R[:24]]),
        st.text(max_size=12),
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.slow
@given(PIECES)
def test_redacting_twice_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.slow
@given(PIECES, st.lists(st.integers(0, 1500), max_size=8))
def test_a_secret_that_comes_in_pieces_is_redacted_like_a_whole_one(text: str, cuts: list[int]) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    redactor = Redactor()
    given_out = "".join(redactor.feed(text[a:b]) for a, b in pairwise(places)) + redactor.close()
    assert given_out == redact(text)


def test_a_secret_that_comes_letter_by_letter_is_redacted() -> None:
    for key in TOKENS:
        redactor = Redactor()
        text = f"The key is {key} and so on.\n"
        assert "".join(map(redactor.feed, text)) + redactor.close() == "The key is [redacted] and so on.\n"


@pytest.mark.parametrize(
    "hidden",
    [
        *("\u200b", "\u00ad", "\u200d", "\u2060", "\ufeff", "\u202d", "\U000e0041", "\ufe0f", "\u034f"),
        *("\r", "\r\r", "\x1b[K\r", "\0", "\x7f", "x\b", "\x1b[m\u200b", "\u200b" * 40),
    ],
    ids=ascii,
)
def test_what_nobody_sees_hides_no_secret(hidden: str) -> None:
    key = "ghp_" + "aB3dE5fG7hJ9" * 3
    for place in (2, 4, 20, len(key) - 1):
        assert redact(f"a {key[:place]}{hidden}{key[place:]} b") == "a [redacted] b"
    stream = Redactor()
    text = f"a {key[:9]}{hidden}{key[9:]} b"
    assert "".join([*map(stream.feed, text), stream.close()]) == "a [redacted] b"


def test_colours_hide_no_secret() -> None:
    key = TOKENS[12]
    assert redact(f"\x1b[31m{key}\x1b[0m \x1b[1mx\x1b[0m") == "\x1b[31m[redacted]\x1b[0m \x1b[1mx\x1b[0m"
    assert redact(f"a \x1b[1m{key[:9]}\x1b[0m\x1b[K{key[9:]} b") == "a \x1b[1m[redacted] b"


IN_FRONT = (
    "x",
    "Z",
    "7",
    "_",
    "-",
    "my_key_",
    "é",
    "token\x1b[0m",
    "a\x1b[1;32m",
    "\x1b]8;;http://a\x07b\x1b[0m",
)


@pytest.mark.parametrize("key", [key for key in TOKENS if "PRIVATE KEY" not in key])
def test_a_key_needs_no_border_on_its_left(key: str) -> None:
    for before in IN_FRONT:
        shown = redact(f"say {before}{key} now")
        assert key[-12:] not in shown, before
        assert shown.startswith("say ")
        assert shown.endswith("[redacted] now")


@pytest.mark.parametrize(
    "key",
    [
        "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",  # letters alone
        "AIzaSyD-9tSrke72_PouQMnMX-a7eZSW0jkFMBW",  # parts that are short
        "ghp_KqWzRtYbNmLpQxCvHjGfDsAo7uEeTrWqPlZk",  # one digit
    ],
)
@pytest.mark.parametrize("before", ["\\n", "\\t", "%3D", "x", "_", "-"])
def test_a_key_behind_an_escape_is_redacted(key: str, before: str) -> None:
    assert key[-12:] not in redact(f'{{"output": "a{before}{key}"}}')


def test_names_of_words_behind_the_end_of_another_word_stay() -> None:
    text = "shelf_ThisIsAVeryLongIdentifierNameWords shelf_thequickbrownfoxjumpsoverthelazydog"
    assert redact(text) == text


ELSEWHERE = ("Slack webhook", "Discord webhook", "Telegram token", "Square token", "Mailgun key")
"""With an address in front of them, or at the beginning of a word: a hash often has such a word before it."""


def test_every_pattern_is_tried_with_something_in_front_of_it() -> None:
    from sandbox.secrets.secret_patterns import TOKENS as SHAPES

    for each in SHAPES:
        assert any(mark in key for key in TOKENS for mark in each.marks) or each.kind in ELSEWHERE, each.kind


def test_words_are_given_out_as_soon_as_they_are_over() -> None:
    redactor = Redactor()
    assert redactor.feed("One wo") == "One "
    assert redactor.feed("rd and") == "word "
    assert redactor.close() == "and"


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    assert redact_bytes(b"\xff\x00 " + TOKENS[0].encode() + b" \xfe") == b"\xff\x00 [redacted] \xfe"


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (f"A={TOKENS[0]}\nB=1\n", "A=[redacted]\nB=2\n", True),
        (f"A={TOKENS[0]}\nB=1\n", f"A={TOKENS[0]}\nB=2\n", False),
        (f"A={TOKENS[0]}\n", "A=os.environ['A']\n", False),
        (f"A={TOKENS[0]}\n", f"A={TOKENS[0]}\nMARKER='[redacted]'\n", False),
        ("MARKER='[redacted]'\n", "MARKER='[redacted]'\nOTHER='[redacted]'\n", False),
        ("", "A=[redacted]\n", False),
    ],
)
def test_a_marker_may_not_be_written_over_the_value_it_stands_for(
    before: str, after: str, refused: bool
) -> None:
    reason = explain_overwrite(before, after)
    assert bool(reason) == refused
    assert TOKENS[0] not in reason
    assert not refused or reason.startswith("line 1 has ")


def _monsters() -> list[str]:
    from sandbox.secrets.secret_patterns import SHAPES

    marks = sorted({mark for shape in SHAPES for mark in shape.marks})
    single = [
        "=",
        ":",
        "token=",
        'token = "',
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----\n",
    ]
    single += [
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
        "A" * 64 + "\n-----END PRIVATE KEY-----\n",
        "eyJaaaaaaaa.",
    ]
    return [*marks, *single, "".join(marks), "\x00", "漢", " " * 7 + "=", "PRIVATE KEY" + "\\" * 60]  # fmt: skip


@pytest.mark.slow
def test_no_text_takes_longer_than_its_length_warrants() -> None:
    size = 80_000 * int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
    for (
        monster
    ) in _monsters():  # a quadratic pattern would take minutes on one of them: the test's time runs out
        text = monster * (size // len(monster))
        assert len(redact(f"{text} {TOKENS[12]}")) > 0
        assert TOKENS[12] not in redact(f"{text} {TOKENS[12]}")


def test_home_is_the_real_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert child_environment.find_home() == tmp_path.resolve()
