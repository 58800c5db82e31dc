"""A streamed answer: the same lines whatever the pieces it came in, and what is printed never changes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cli.render.blocks import LONGEST_FENCE, Blocks
from cli.render.markdown import MarkdownStream

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
    assert stream.live(10) == "Title\n\nSome"
    assert stream.feed(" prose\n\n") == "Title\n"
    assert stream.live(10) == "\nSome prose"
    assert stream.feed("```\ncode\n") == "\nSome prose\n"
    assert stream.feed("```\n") == "\n  code\n"
    assert stream.live(10) == ""
    assert stream.close() == ""


@given(st.lists(st.integers(0, len(ANSWER)), max_size=30))
def test_the_pieces_it_came_in_do_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in pairwise(places)]
    assert streamed(pieces) == streamed([ANSWER])


def test_lists_code_tables_and_quotes_are_drawn() -> None:
    text = streamed([ANSWER])
    assert text.startswith("Title\n\nSome prose with code, on two lines.\n")
    for part in (
        "\n 1 one\n",
        "\n     x = 1\n",
        "\n 2 two\n",
        " • a\n",
        "  def total(self):\n\n      return 1",
        "▌ quote",
    ):
        assert part in text
    assert text.endswith("\nlast\n")


@given(st.text(alphabet="ab \n`-#>*|1.&;\t\x1b\u202e", max_size=200))
def test_any_text_streams_without_a_control_reaching_the_terminal(text: str) -> None:
    shown = streamed([text], width=20)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not shown or shown.endswith("\n")


def test_controls_written_as_entities_stay_inert() -> None:
    assert "\u202e" not in streamed(["evil &#8238;text and &#x200b;"])


def test_a_long_code_block_is_given_out_in_parts() -> None:
    blocks = Blocks()
    given_out = [block for _ in range(500) for block in blocks.feed("x = 1\n")] or []
    assert given_out == []
    blocks = Blocks()
    parts = blocks.feed("```python\n" + "x = 1\n" * 500 + "```\n")
    assert len(parts) > 5
    assert all(part.count("\n") <= LONGEST_FENCE + 1 for part in parts)
    assert sum(part.count("x = 1") for part in parts) == 500


def test_colours_are_the_terminals_own_sixteen() -> None:
    stream = MarkdownStream(width=60, colour=True)
    text = stream.feed("```python\nreturn 1\n```\n")
    assert "\x1b[" in text
    assert "38;5" not in text
    assert "38;2" not in text
