"""Each row of the slip table refuses an edit that has the two explanations it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.edit.align.site_alignment import align_match
from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.decide import indentation_slips, line_slips, other_places, shared_indentation
from tools.edit.decide.slip_table import LINES, ORDER, PARTS, PLACES, TEXTS, Slip
from tools.edit.edit_model import Replace
from tools.edit.match.matchers import Source
from tools.edit.match.site_search import find_match
from tools.edit.parse.edit_parser import parse_edit
from tools.edit.stage_values import Case, LineAlignment, PartAlignment

SLIPS: tuple[Slip[Any], ...] = (*PLACES, *TEXTS, *PARTS, *ORDER, *LINES)


def block(old: str, new: str) -> Replace:
    return Replace(old=old, new=new, whole_lines=True)


EXAMPLES: dict[Callable[[Any], None], tuple[str, Replace]] = {
    other_places.refuse_final_line_twin: (
        "a = 1\nb\na = 1",
        block("```\na = 1\n```\n", "```\nc\n```\n"),
    ),
    other_places.refuse_several_starts: ("a=1\nb=2\na=1\n", Replace(old="a=1", new="a=9")),
    other_places.refuse_trailing_space: (
        "a\nx = one  \ny\n",
        Replace(old="a\nx = one", new="a\nx = two"),
    ),
    other_places.refuse_trailing_space_twin: (
        "if a:\n    return 2;\nelse:\n    return 2;  # b\n",
        Replace(old="return 2; ", new="return 3;"),
    ),
    other_places.refuse_end_blank_twins: (
        "x = 1\n\nx=1\n",
        block("x=1\n\n", "x=1\nx = 2\nb = one\n"),
    ),
    other_places.refuse_deeper_lines: (
        "x = f(1)\n\ny = 2\nz\n  x = f(1)\n  y = 2\n",
        block("x = f(1)\ny = 2\n", "x = f(1)\nw\ny = 2\n"),
    ),
    other_places.refuse_blank_line_twins: (
        "a {\n    b {\n    }\n\n  }\n}\nc {\n  }\n\n}\n",
        block("  }\n\n}\n", "  }\n\n  d\n\n}\n"),
    ),
    other_places.refuse_interleaved_lines: (
        "fn a {\n    b {\n        c(d)\n    }\n}\n\nfn e\n",
        block("        c(d)\n}\n", "        c(d)\n}\n\nfn f {\n    g\n}\n"),
    ),
    other_places.refuse_cut_lines: (
        "open(\n  first = False,\n  second = SYSTEM,\n) {\n}\n"
        "open(\n  first = False,\n  other = None,\n  second = SYSTEM,\n)\n",
        Replace(
            old="  first = False,\n  second = SYSTEM,\n)",
            new="  first = False,\n  second = SYSTEM,\n  third = None,\n)",
        ),
    ),
    other_places.refuse_escaped_lines: (
        'say("a {b}\\n\\n")\nf {\n}\n\ng {\n}\n\n',
        Replace(old="}\\n\\n", new="}\\n\\nh {\\n}\\n\\n"),
    ),
    shared_indentation.refuse_lost_indentation: (
        "fn a() {\n    let b = 1;\n    if c {\n        d(b);\n    }\n}\n",
        block(
            "    let b = 1;\n    if c {\n        d(b);\n    }\n",
            "let b = 2;\nif c {\n    d(b);\n}\n",
        ),
    ),
    other_places.refuse_glued_twins: (
        "if a:\n    b = 2;\n\nif c:\n    if d:\n        b = 2;\n        e\n",
        Replace(old="        b = 2;\n", new="        b = 2;\n\n  out:\n    f"),
    ),
    line_slips.refuse_torn_line: ("# Simple value\nfoo\n", Replace(old="value", new="sort\n\nvalue")),
    line_slips.refuse_invented_line: (
        "require 'helper'\n\nclass Handler::Lobster; end\nclass RockLobster; end\n",
        block(
            "end\n\nclass Handler::Lobster; end\n",
            "end\n\nseparate do\n  require 'handler'\nend\n\nclass Handler::Lobster; end\n",
        ),
    ),
    line_slips.refuse_floating_change: (
        "  } one\n  two\n  two\n  two\n  } one\n",
        block("  } one\n  two\n  two\n  } one\n", "  } one\n  three\n  two\n  } one\n"),
    ),
    line_slips.refuse_sliding_removal: (
        "/* a b\n *  \n * c d\n *\n * e f\n",
        block("/* a b\n *\n * c d\n *\n * e f\n", "/* a b\n *\n * e f\n"),
    ),
    line_slips.refuse_moved_first_line: (
        "h\n  end\n\n  beta = gamma\nend\n",
        block("end\n\n  beta = gamma\nend\n", "return it\nend\n  beta = gamma\nend\n"),
    ),
    indentation_slips.refuse_lone_line_without_indent: (
        "- a\n  - b\n  - c\nend\n  - d\n",
        block("- d\n", "- d\n - e\n   - f\n"),
    ),
    indentation_slips.refuse_first_line_or_levels: (
        "    return beta\nreturn gamma\nend\n",
        block(
            "  return beta\nreturn gamma\n",
            "  return beta\nreturn gamma\nif fresh {\n  alpha(one);\n",
        ),
    ),
    indentation_slips.refuse_bracket_at_other_depth: (
        "    call(one)\n        }\n    call(two)\n",
        block(
            "    call(one)\n    }\n    call(two)\n",
            "    call(one)\n    }\n    added()\n    call(two)\n",
        ),
    ),
    indentation_slips.refuse_two_slips: (
        "  delta,\n  alpha(one);\n  if (alpha) {\n",
        block("delta,\n\talpha(one);\n", "delta,\n* item new\n\talpha(one);\n"),
    ),
    indentation_slips.refuse_merged_depths: (
        "delta,\ndelta,\nif (alpha) {\n\tdelta,\n",
        block("\tdelta,\n\t\tdelta,\n", "\tdelta,\n\t\tdelta,\n\t\tfresh:\n"),
    ),
    indentation_slips.refuse_flat_block: (
        "fn a() {\n    let b = 1;\n    if c {\n        d(b);\n    }\n}\n",
        block("let b = 1;\nif c {\nd(b);\n}\n", "let b = 1;\nif e {\nf(b);\n}\n"),
    ),
    line_slips.refuse_elided_removal: (
        "def f():\n    a()\n    b()\n    return 1\n",
        block("def f():\n    ...\n    return 1\n", "def f():\n    return 2\n"),
    ),
    line_slips.refuse_skipped_lines: (
        "a:\n  env: x\n  run: |\n    one\n    two two two\nb:\n",
        block(
            "a:\n  env: x\n    one\n    two two two\nb:\n",
            "a:\n  prepare:\n    one\n  env: x\n  run: |\n    two two two\nb:\n",
        ),
    ),
}


def checks_that_refuse(text: str, edit: Replace) -> Iterator[Callable[[Any], None]]:
    """Yield the check of each row that refuses the edit, in the order of the table."""
    source = Source(text)
    parsed = parse_edit(source, edit, strictest=False)
    match = find_match(source, parsed, ())
    assert match is not None
    places = align_match(source, match, "")
    case = Case(source=source, parsed=parsed, match=match, aligned=places[0])
    subjects: list[tuple[tuple[Slip[Any], ...], Any]] = [(PLACES, case), (TEXTS, case)]
    for aligned in places:
        if isinstance(aligned, PartAlignment):
            subjects.append((PARTS, aligned))
        elif isinstance(aligned, LineAlignment) and not aligned.is_exact:
            subjects += [(ORDER, aligned), (LINES, aligned)]
    for slips, subject in subjects:
        for slip in slips:
            try:
                slip.check(subject)
            except ValueError:
                yield slip.check


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.check.__name__)
def test_an_edit_with_the_two_explanations_of_a_row_is_refused_by_it(slip: Slip[Any]) -> None:
    text, edit = EXAMPLES[slip.check]
    assert next(checks_that_refuse(text, edit)) is slip.check
    with pytest.raises(EditRefused):
        edit_text(text, [edit])


def test_wrapped_lines_at_the_end_of_a_file_without_a_final_newline_are_one_place() -> None:
    edit = block("```\na = 1\n```\n", "```\na = 1\nb = 2\n```\n")
    assert edit_text("c\na = 1", [edit]).text == "c\na = 1\nb = 2"


def test_the_decision_lists_the_rows_of_the_table() -> None:
    decision = next((Path(__file__).parents[4] / "docs/decisions").glob("0009-*")).read_text("utf-8")
    rows = [f"| {slip.differs} | {slip.explanations} | `{slip.check.__name__}` |" for slip in SLIPS]
    assert [row for row in rows if row not in decision] == []
    assert decision.count("`refuse_") == len(rows)
