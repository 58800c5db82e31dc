"""A streamed answer: the same lines whatever the pieces it came in, and what is printed never changes."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name

from cli.output.markdown import code_painter, rule_table
from cli.output.markdown.block_splitter import LONGEST_BLOCK, BlockSplitter
from cli.output.markdown.code_painter import CodePainter, find_language
from cli.output.markdown.line_lexer import LineLexer
from cli.output.markdown.markdown_stream import MarkdownStream
from cli.output.markdown.paragraph import render_paragraph
from cli.output.markdown.rich_markdown import render_markdown
from cli.output.style.theme import choose_theme

ANSWER = """\
# Title

Some *prose* with `code`,
on two lines.

1. one

   ```python
   x = 1
   ```

2. two
- a
  - b

```python
def total(self):

    return 1  # not the end of the block
```
| a | b |
|---|---|
| 1 | 2 |

> quote

last"""


def streamed(pieces: list[str], width: int = 60) -> str:
    stream = MarkdownStream(width=width, colour=False)
    return "".join([*(stream.feed(piece) for piece in pieces), stream.close()])


def test_blocks_come_out_one_by_one_as_they_are_finished() -> None:
    stream = MarkdownStream(width=60, colour=False)
    assert stream.feed("# Title\n\nSome") == ""
    assert stream.render_live(10) == "Title\n\nSome"
    assert stream.feed(" prose\n\n") == "Title\n"
    assert stream.render_live(10) == "\nSome prose"
    assert stream.feed("```\ncode\nmo") == "\nSome prose\n\ncode\n"
    assert stream.render_live(10) == "mo"
    assert stream.feed("re\n```\n") == "more\n"
    assert stream.render_live(10) == ""
    assert stream.close() == ""


@pytest.mark.slow
@given(st.lists(st.integers(0, len(ANSWER)), max_size=30))
def test_the_pieces_it_came_in_do_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in pairwise(places)]
    assert streamed(pieces) == streamed([ANSWER])


def test_lists_code_tables_and_quotes_are_drawn() -> None:
    text = streamed([ANSWER])
    assert text.startswith("Title\n\nSome prose with code, on two lines.\n")
    for part in (
        "\n1. one\n",
        "\n   x = 1\n",
        "\n2. two\n",
        "• a\n  ◦ b\n",
        "\ndef total(self):\n\n    return 1",
        "▌ quote",
    ):
        assert part in text
    assert text.endswith("\nlast\n")


def test_numbers_are_those_that_were_written() -> None:
    assert streamed(["3. a\n7. b\n8) c\n"]).split() == ["3.", "a", "7.", "b", "8)", "c"]
    assert streamed(["1. a\n1. b\n1. c\n"]).split() == ["1.", "a", "2.", "b", "3.", "c"]


def test_tasks_have_boxes_and_rules_are_lines() -> None:
    assert streamed(["- [ ] open\n- [x] done\n- plain\n"]) == "☐ open\n☑ done\n• plain\n"
    assert streamed(["a\n\n---\n\nb"], width=12) == f"a\n\n{'─' * 12}\n\nb\n"


def test_headings_of_different_levels_look_different() -> None:
    stream = MarkdownStream(width=60, colour=True)
    rows = [stream.feed(f"{'#' * level} same\n\n").strip() for level in range(1, 7)]
    assert len(set(rows)) == 6


def test_an_address_is_shown_once() -> None:
    assert streamed(["<https://a.example> and [text](https://b.example)"]) == (
        "https://a.example and text (https://b.example)\n"
    )


def test_a_table_takes_the_width_that_it_needs_and_no_more() -> None:
    table = "| a | n |\n|---|--:|\n| " + "word " * 25 + "| 1 |\n| b | 22 |\n"
    wide = streamed([table], width=150).splitlines()
    assert len(wide) == 6, "nothing is wrapped"
    assert {len(row) for row in wide} == {133}
    assert wide[3].endswith(" │  1 │")
    narrow = streamed([table], width=50).splitlines()
    assert {len(row) for row in narrow} == {50}
    assert "├" in narrow[-3], "rows with wrapped cells are ruled off"


def test_code_has_the_name_of_its_language_above_and_nothing_beside() -> None:
    text = "```python\nx = 1\n\ny = '" + "z" * 40 + "'\n```\n"
    broken = MarkdownStream(width=30, colour=True).feed(text)
    whole = MarkdownStream(width=30, colour=True, breaks_code=False).feed(text)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in broken.splitlines()] == [
        "python",
        "x = 1",
        "",
        "y = '" + "z" * 25,
        "z" * 15 + "'",
    ]
    assert re.sub(r"\x1b\[[0-9;]*m", "", whole).splitlines() == ["python", *text.splitlines()[1:-1]]


def test_code_of_no_known_language_is_coloured_as_code_in_a_line() -> None:
    stream = MarkdownStream(width=30, colour=True)
    assert (
        stream.feed("```\none\n```\n`two` three\n\n") + stream.close()
        == "\x1b[36mone\x1b[0m\n\n\x1b[36mtwo\x1b[0m three\n"
    )


WORDS = (
    "a",
    "word",
    "`code`",
    "**bold**",
    "*em*",
    "x_y",
    "_i_",
    "**two words**",
    "1.",
    "-",
    "#",
    "**",
    "*",
    "`",
    "\n",
)


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from((*WORDS, "**b**.", "(**d**)", "2 * 3", "a*b", "日本", "=", "---", "\n\n")),
        max_size=14,
    ),
    st.sampled_from([12, 20, 60]),
    st.booleans(),
)
def test_paragraphs_without_the_parser_look_as_with_it(words: list[str], width: int, colour: bool) -> None:
    text = " ".join(words).replace(" \n", "\n").replace("\n ", "\n")
    drawn = render_paragraph(text, width, colour=colour)
    assert drawn is None or drawn == render_markdown(text, width, colour=colour)


def test_usual_paragraphs_need_no_parser() -> None:
    text = "The `total` is **one** too low: see snake_case names, 1.5 * 2 -- and so on.\nIt ends here."
    assert render_paragraph(text.replace(" * ", " x "), 30, colour=True) is not None
    assert render_paragraph("- item", 30, colour=True) is None


@pytest.mark.parametrize("language", ["python", "javascript", "rust", "go", "c", "bash", "sql"])
def test_rules_sorted_by_character_find_the_same_tokens(language: str) -> None:
    lines = [f"{line}\n" for line in (ANSWER + Path(__file__).read_text("utf-8")).splitlines()]
    found = []
    for often in (10**9, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rule_table, "OFTEN", often)
            patch.setattr(rule_table, "TABLES", {})
            lexer = LineLexer(get_lexer_by_name(language, ensurenl=False, stripnl=False))
            found.append([lexer.lex_line(line) for line in lines])
    assert found[0] == found[1]
    assert ["".join(text for _, text in tokens) for tokens in found[1]] == lines


def test_the_language_of_a_file_follows_from_its_name() -> None:
    for name, language in {
        "a/b.py": "python",
        "Makefile": "make",
        "x.txt": "",
        "y.tsx": "tsx",
        "": "",
    }.items():
        assert find_language(name) == language
    for suffix, language in code_painter._COMMON.items():
        assert not language or get_lexer_by_name(language), suffix


def test_characters_that_can_begin_a_match_are_found() -> None:
    for pattern, first in {
        r"def\b": "d", r"(?i)if|else": "eEiI", r"^( *)([rR]?)x": " rRx", r"(?<!\.)(a|b)": "ab",
        r"[^\W\d]x": "_" + ascii_letters, r"\d+": digits, r"(?:)": None, r"a*": None, r"(a)?\1b": None,
    }.items():  # fmt: skip
        everything = frozenset(map(chr, range(128)))
        assert rule_table.find_first_characters(re.compile(pattern)) == (
            everything if first is None else set(first)
        )


@pytest.mark.slow
@given(st.text(alphabet="ab \n`-#>*|1.&;\t\x1b\u202e", max_size=200))
def test_any_text_streams_without_a_control_reaching_the_terminal(text: str) -> None:
    shown = streamed([text], width=20)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not shown or shown.endswith("\n")


def test_controls_written_as_entities_stay_inert() -> None:
    assert "\u202e" not in streamed(["evil &#8238;text and &#x200b;"])


def test_each_line_of_a_code_block_is_given_out_as_it_ends() -> None:
    blocks = BlockSplitter()
    parts = blocks.feed("```python\n" + "x = 1\n" * 500)
    assert [part.text for part in parts] == ["x = 1"] * 500
    assert [part.first for part in parts] == [True, *[False] * 499]
    assert blocks.rest.text == ""


@pytest.mark.slow
def test_what_is_held_back_is_bounded_though_no_line_and_no_paragraph_ends() -> None:
    for text in ("word " * 50_000, "a line of a paragraph\n" * 10_000, "x" * 100_000):
        blocks = BlockSplitter()
        given = []
        for start in range(0, len(text), 7):
            given += blocks.feed(text[start : start + 7])
            assert len(blocks.rest.text) <= LONGEST_BLOCK + 1_000
        given += blocks.close()
        assert "".join("".join(each.text.split()) for each in given) == "".join(text.split())


@pytest.mark.parametrize(
    "language", ["python", "javascript", "rust", "html", "bash", "json", "yaml", "nonsense"]
)
def test_lines_are_coloured_one_by_one_and_keep_their_text(language: str) -> None:
    code = CodePainter(language, colour=True)
    for line in ['x = """one', "two {three}", '"""  # four', "if a < b: return 'c'", "<p class='d'>e</p>"]:
        assert re.sub(r"\x1b\[[0-9;]*m", "", code.paint_line(line, 80)) == line


@pytest.mark.parametrize("language", ["make", "", "diff"])
def test_a_tab_of_code_is_printed_as_one_and_is_as_wide_while_it_streams(language: str) -> None:
    stream = MarkdownStream(width=80, colour=True, breaks_code=False)
    stream.feed(f"```{language}\n+\tx")
    live = stream.render_live(9)
    printed = stream.feed("\n")
    assert [
        re.sub(r"\x1b\[[0-9;]*[mK]", "", each).split("\n")[-1] for each in (live, printed.rstrip("\n"))
    ] == [
        "+       x",
        "+\tx",
    ]


def test_the_state_of_the_lexer_is_kept_from_line_to_line() -> None:
    code = CodePainter("python", colour=True)
    code.paint_line('x = """one', 80)
    assert code.preview_line("def two", 80) == code.paint_line("def two", 80) == "\x1b[32mdef two\x1b[0m", (
        "inside a string"
    )


def test_colours_are_the_terminals_own_sixteen() -> None:
    stream = MarkdownStream(width=60, colour=True)
    text = stream.feed("```python\nreturn 1\n```\n")
    assert "\x1b[" in text
    assert "38;5" not in text
    assert "38;2" not in text


@pytest.mark.parametrize("theme", ["terminal", "dark", "mono"])
def test_code_in_a_list_item_has_the_colours_of_code_outside(theme: str) -> None:
    code = "def total(self):\n    return 1  # one"
    try:
        choose_theme(theme)
        stream = MarkdownStream(width=60, colour=True)
        outside = stream.feed(f"```python\n{code}\n```\n") + stream.close()
        inside = stream.feed("- " + f"```python\n{code}\n```".replace("\n", "\n  ")) + stream.close()
    finally:
        choose_theme("terminal")
    assert "\x1b[" in outside
    assert [_list_styled_words(line) for line in inside.splitlines()] == [
        _list_styled_words(line) for line in outside.splitlines()
    ]


def _list_styled_words(line: str) -> list[tuple[str, str]]:
    """Return the words of a line, each with the SGR parameters that hold for it."""
    parts = re.split(r"\x1b\[([\d;]*)m", f"\x1b[0m{line}")[1:]
    return [
        (sgr, word)
        for sgr, text in zip(parts[::2], parts[1::2], strict=True)
        for word in text.split()
        if word != "•"
    ]
