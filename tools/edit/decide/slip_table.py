"""The slips that a tolerant match may rest on, and the other explanation that each of them has.

An edit is made only if every explanation that is at least as simple gives the same bytes (decision 9). Each
row names what differs, and the explanations that are compared; its check refuses the edit if another one may
be meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from sandbox.lazy_dataclass import dataclass
from tools.edit.decide import indentation_slips, line_slips, other_places, shared_indentation
from tools.edit.stage_values import Case, LineAlignment, PartAlignment

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Slip(Generic[Subject]):
    """What differs; the explanations that are compared; the check that refuses the edit if it has two."""

    differs: str
    explanations: str
    check: Callable[[Subject], None]


PLACES: tuple[Slip[Case], ...] = (
    Slip("the last newline of the file", "that line, or the others", other_places.refuse_final_line_twin),
    Slip("nothing", "this place, or one of the others", other_places.refuse_several_starts),
    Slip("space behind the last line", "a part of the line, or the line", other_places.refuse_trailing_space),
    Slip("space behind the last line", "that line, or one without", other_places.refuse_trailing_space_twin),
    Slip("a blank line at an end", "one of `old`, or of the file", other_places.refuse_end_blank_twins),
    Slip("blank lines, or all depths", "here, or where all lines stand", other_places.refuse_deeper_lines),
    Slip("blank lines", "any place but for those", other_places.refuse_blank_line_twins),
    Slip(
        "white space of several lines",
        "those, or some with others between",
        other_places.refuse_interleaved_lines,
    ),
    Slip("a part of a line", "there, or where it is a line", other_places.refuse_cut_lines),
    Slip("letters `\\n`", "letters, or ends of lines", other_places.refuse_escaped_lines),
)
"""Where the old text is."""

TEXTS: tuple[Slip[Case], ...] = (
    Slip("indentation of `new` alone", "meant, or lost", shared_indentation.refuse_lost_indentation),
    Slip("a newline at the end of `old`", "of the line, or a blank line", other_places.refuse_glued_twins),
)
"""What the new text is, where the old one occurs exactly."""

PARTS: tuple[Slip[PartAlignment], ...] = (
    Slip("a part of a line, lines added", "there, or where it is a line", line_slips.refuse_torn_line),
)
"""What replaces a part of a line."""

ORDER: tuple[Slip[LineAlignment], ...] = (
    Slip("a line that is in both texts only", "made up, or to be added", line_slips.refuse_invented_line),
    Slip("a line that `old` lacks", "the change is above it, or below", line_slips.refuse_floating_change),
    Slip(
        "lines that are alike in `old` only",
        "one is removed, or the other",
        line_slips.refuse_sliding_removal,
    ),
    Slip("the first line's indentation", "that line below, or another", line_slips.refuse_moved_first_line),
)
"""Which of the new lines is which."""

LINES: tuple[Slip[LineAlignment], ...] = (
    Slip(
        "one line's indentation", "that line alone, or all", indentation_slips.refuse_lone_line_without_indent
    ),
    Slip(
        "the first line's indentation",
        "that line, or all levels",
        indentation_slips.refuse_first_line_or_levels,
    ),
    Slip("a bracket's indentation", "that one, or another", indentation_slips.refuse_bracket_at_other_depth),
    Slip(
        "indentation of the first line, and of others",
        "new lines follow the one, or the others",
        indentation_slips.refuse_two_slips,
    ),
    Slip("several depths, one in the file", "those lines, or others", indentation_slips.refuse_merged_depths),
    Slip("a new block without indentation", "as given, or lost", indentation_slips.refuse_flat_block),
    Slip("dots in place of lines", "they go, or stay", line_slips.refuse_elided_removal),
    Slip(
        "a line that `old` lacks", "moved with its neighbours, or forgotten", line_slips.refuse_skipped_lines
    ),
)
"""How new lines become lines of the file; asked of every way to lay the lines beside the file's, too."""
