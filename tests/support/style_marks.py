"""Rendered text with its styles made visible: under each row a letter for the style of each column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_letters

_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([mK])")


def mark_styles(rendered: Mapping[str, str]) -> str:
    """Return one text that several themes have rendered, each row followed by the styles of each theme.

    A letter stands for SGR parameters, which the legend at the end names; "_" is plain, "→" fills the row.
    """
    rows = {theme: [_split_styles(row) for row in text.split("\n")] for theme, text in rendered.items()}
    first = next(iter(rows.values()))
    lines, legends = [], {theme: dict[str, str]() for theme in rows}
    for number, (text, _, _) in enumerate(first):
        lines.append(text.rstrip())
        for theme, each in rows.items():
            same, styles, fills = each[number]
            assert same.rstrip() == text.rstrip(), f"{theme} shows another text: {same!r}"
            legend = legends[theme]
            marks = "".join(
                legend.setdefault(style, ascii_letters[len(legend)]) if style else "_" for style in styles
            ).rstrip("_")
            if marks or fills:
                lines.append(f"{theme[0]}|{marks}{'→' if fills else ''}")
    for theme, legend in legends.items():
        lines.append(f"{theme}: " + ", ".join(f"{letter} {style}" for style, letter in legend.items()))
    return "\n".join(lines) + "\n"


def _split_styles(row: str) -> tuple[str, list[str], bool]:
    """Return (text, SGR parameters of each character, whether the background fills the row)."""
    text, styles, fills, state, place = "", list[str](), False, "", 0
    for match in _SEQUENCE.finditer(row):
        part = row[place : match.start()]
        text, styles = text + part, styles + [state] * len(part)
        place = match.end()
        if match[2] == "K":
            fills = True
        else:
            codes = match[1].split(";")
            state = ";".join(codes[1:]) if codes[0] in ("0", "") else f"{state};{match[1]}".strip(";")
    rest = row[place:]
    return text + rest, styles + [state] * len(rest), fills
