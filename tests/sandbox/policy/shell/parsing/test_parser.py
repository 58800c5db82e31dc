"""Reading bash source: words, commands, here-documents; and what two readers must agree on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.policy.shell import judge_command_line
from sandbox.policy.shell.parsing.cross_check import explain_disagreement
from sandbox.policy.shell.parsing.expansion import expand_arguments
from sandbox.policy.shell.parsing.parser import parse_source
from sandbox.policy.shell.parsing.syntax import decode_source, encode_source

KNOWN = {"HOME": "/home/of/someone"}


def seen(line: str) -> list[list[str | None]]:
    """The arguments of each command, as far as they are known."""
    reading = parse_source(encode_source(line))
    assert reading.problems == []
    assert explain_disagreement(reading) == ""
    return [
        [arg.text for arg in expand_arguments(command.words, reading.source, KNOWN)]
        for command in reading.commands
        if command.words
    ]


SPELLINGS = (
    ("ls -l", ["ls", "-l"]),
    ("r''m", ["rm"]),
    ('r"m"', ["rm"]),
    (r"\rm", ["rm"]),
    (r"$'\x72m'", ["rm"]),
    (r"$'\162\155'", ["rm"]),
    (r"$'a\tb\'c'", ["a\tb'c"]),
    (r"$'\u00e9'", ["é"]),
    ("é", ["é"]),
    ("'a b' \"c d\" e\\ f", ["a b", "c d", "e f"]),
    ('"a\\"b" "\\$x" "\\x"', ['a"b', "$x", "\\x"]),
    ("a{b,c}d", ["abd", "acd"]),
    ("{a,b}{1..3}", ["a1", "a2", "a3", "b1", "b2", "b3"]),
    ("{c..a} {a,{b,c}}", ["c", "b", "a", "a", "b", "c"]),
    ("{a,} x{,y}", ["a", "x", "xy"]),
    ("'{a,b}' {a} {} HEAD@{1}", ["{a,b}", "{a}", "{}", "HEAD@{1}"]),
    ("~ ~/x '~' a~", ["/home/of/someone", "/home/of/someone/x", "~", "a~"]),
    ('$HOME/x "${HOME}"', ["/home/of/someone/x", "/home/of/someone"]),
    ("echo a#b # c", ["echo", "a#b"]),
    ("echo \\\n a", ["echo", "a"]),
    ("'' \"\"", ["", ""]),
    ("*.py", [None]),
    ("$x", [None]),
    ("[", ["["]),
    ("echo a > b c", ["echo", "a", "c"]),
    ("> b echo a", ["echo", "a"]),
    ("2>&1 echo 2", ["echo", "2"]),
)


@pytest.mark.parametrize(("line", "expected"), SPELLINGS)
def test_a_word_is_what_bash_makes_of_it(line: str, expected: list[str | None], tmp_path: Path) -> None:
    assert seen(f"f {line}") == [["f", *expected]]
    if None not in expected:
        text = f"HOME={KNOWN['HOME']}; f() {{ printf '%s\\0' \"$@\"; }}; f {line}"
        done = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, check=True)
        written = (tmp_path / "b").read_bytes() if (tmp_path / "b").exists() else done.stdout
        assert written.decode() == "".join(f"{each}\0" for each in expected)


def test_every_command_of_a_source_is_found() -> None:
    line = (
        "a1 | a2 && a3 || a4; a5 & ! a6\n(a7); { a8; }; if a9; then b1; elif b2; then b3; else b4; fi\n"
        "while b5; do b6; done; until b7; do b8; done; for i in $(b9); do c1; done; case $(c2) in x) c3;; esac\n"
        'f() { c4; }; x=$(c5) c6 "$(c7 `c8`)" <(c9) > >(d1) ${x:-$(d2)}\ncat <<E; d4\n$(d3)\nE\n'
    )
    reading = parse_source(encode_source(line))
    assert reading.problems == []
    names = {
        decode_source(reading.source[each.words[0].start : each.words[0].end])
        for each in reading.commands
        if each.words
    }
    assert names == {f"{letter}{digit}" for letter in "abc" for digit in range(1, 10)} | {
        "d1",
        "d2",
        "d3",
        "d4",
        "cat",
    }


@pytest.mark.parametrize(
    "line",
    [
        "a 'b", 'a "b', "a `b", "a $(b", "a ${b", "a ((b", "if a", "if a; then b", "for", "for i in a; b", "case a in",
        "a )", "( a", "{ a", "a; }", "a | | b", "a && ", "a <", "a <<E\nb", "a ;; b", "[[ a", "f() ", "function", "a |",
        "a <<E\nb\\\nE", "${a", "$((1+", "a=(", "coproc a", "done", "a\\\nb", "cat <<$x\na\n$x", "${", "[[", "`", "<(",
    ],
)  # fmt: skip
def test_what_is_not_whole_is_not_understood(line: str) -> None:
    reading = parse_source(encode_source(line))
    assert reading.problems or explain_disagreement(reading)


@pytest.mark.slow
@given(st.text(alphabet=" \t\n;&|<>(){}[]$`'\"\\*?~#!=-/.,abix01"))
def test_reading_ends_and_never_crashes(line: str) -> None:
    reading = parse_source(encode_source(line))
    for command in reading.commands:
        assert 0 <= command.start <= command.end <= len(reading.source)


@pytest.mark.slow
@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_quoted_text_is_one_argument(text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert seen(f"echo {quoted}") == [["echo", text]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["(", "$(", "`", "{ ", "((", "$((", "${a:-", "if ", "'", '"', "<", "<<a ", "[", "{a,b}", "a=", "a[", "\\",
     "\\\n", "#\n", "ls;", "> a ", "case a in ", "a|", "~", "*", "$", "f()"],
)  # fmt: skip
def test_much_of_anything_is_read_in_a_moment(piece: str, tmp_path: Path) -> None:
    """Quadratic time would take minutes here, and the test's time limit would tell."""
    judge_command_line(piece * (90_000 // len(piece)), root=tmp_path)
    judge_command_line(piece * 2_000 + "ls", root=tmp_path)
