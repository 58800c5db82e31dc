"""Replacement of old text that is no whole lines."""

from __future__ import annotations

from tools.edit.indentation import has_mixed_indentation, indent_of
from tools.edit.match.matchers import Source
from tools.edit.refusal import AmbiguousEdit
from tools.edit.reindent.missing_indentation import indent_later_lines
from tools.edit.splicing import TextSplice
from tools.edit.stage_values import PartAlignment


def build_part_splice(part: PartAlignment, path: str) -> TextSplice:
    """Build the splice, with the further lines of `new` indented as intended. Raises AmbiguousEdit."""
    source, start, end = part.source, part.start, part.end
    old, new = part.reading.old, part.reading.new
    if not new and not part.keeps_end and source.is_line_rest(start, old):
        start = source.line_start(start)
        if end == len(source.text) and not source.ends_with_newline:
            start = max(start - 1, 0)  # the file stays without a final newline
        end = min(end + (not old.endswith("\n")), len(source.text))
    new = indent_later_lines(source, start, old, new, path)
    _refuse_mixed_indentation(source, old, new)
    is_indented = source.before(start).isspace()
    if is_indented and new.isspace() and "\n" not in new:
        raise AmbiguousEdit(
            "lacks its indentation, so how much white space is to be left there is not clear: leave `new` empty, or "
            "give `old` as the file has it"
        )
    if is_indented and "\n" in new and not new.partition("\n")[0].strip():
        # a blank line comes first: replace the indentation
        start, new = source.line_start(start), new.lstrip(" \t")
    behind = source.behind(end)
    if behind.isspace() and new.endswith(behind):  # `new` has the space that `old` lost
        end += len(behind)
    return TextSplice(start=start, end=end, new=new)


def _refuse_mixed_indentation(source: Source, old: str, new: str) -> None:
    """Raise AmbiguousEdit if new lines have tabs in a file of spaces, or the reverse, and no old line is
    indented.
    """
    given = [indent_of(line) for line in new.split("\n")[1:] if line.strip()]
    if has_mixed_indentation(given, source.tabs) and not any(
        line[:1] in (" ", "\t") for line in old.split("\n")[1:]
    ):
        raise AmbiguousEdit(
            "whether `new` is to be indented by tabs or by spaces is not clear: give it as the file has it"
        )
