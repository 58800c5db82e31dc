"""Table of the candidates, and the progress of a search as a plot in the terminal and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from xml.sax.saxutils import escape

from packages.improve.optimize.search import Candidate, Claim
from sandbox.sanitize import sanitize_text

BARS = "▁▂▃▄▅▆▇█"

WIDTH, HEIGHT, MARGIN = 640, 240, 40

MOST_ROWS = 12
"""Candidates in the table: the best ones."""


def list_best_gains(tried: Sequence[Candidate]) -> list[float]:
    """Return the best gain after each candidate; it begins at 1 and never falls."""
    return list(accumulate((1.0 if each.refused else max(1.0, each.gain) for each in tried), max))


def format_table(tried: Sequence[Candidate]) -> list[str]:
    """Return the best candidates as lines, and how many were refused, by reason."""
    good = sorted((each for each in tried if not each.refused), key=lambda each: -each.gain)
    lines = [f"{'gain':>7}  rewrites"]
    lines += [f"{each.gain:6.2f}x  {', '.join(each.rewrites)}" for each in good[:MOST_ROWS]]
    if len(good) > MOST_ROWS:
        lines.append(f"         {len(good) - MOST_ROWS} more")
    refused = [f"refused  {', '.join(each.rewrites)}: {each.refused}" for each in tried if each.refused]
    return [*lines, *refused[:MOST_ROWS]]


def plot_in_terminal(tried: Sequence[Candidate]) -> str:
    """Return the best gain after each candidate as one line of bars."""
    gains = list_best_gains(tried)
    return f"{draw_bars(gains, 1.0)}  1.00 to {max(gains):.2f} times" if gains else ""


def draw_bars(values: Sequence[float], low: float) -> str:
    """Return values as one line of bars, the lowest bar for `low`."""
    scale = (len(BARS) - 1) / (max(values) - low) if max(values) > low else 0.0
    return "".join(BARS[round((each - low) * scale)] for each in values)


def draw_svg(tried: Sequence[Candidate], claim: Claim | None, title: str) -> str:
    """Return the progress as a picture: the gain of each candidate, and the best so far as a line."""
    gains = list_best_gains(tried)
    top = max([*gains, claim.runs.gain if claim else 1.0, 1.1])

    def place(number: int, gain: float) -> tuple[float, float]:
        across = MARGIN + (WIDTH - 2 * MARGIN) * (number / max(len(gains) - 1, 1))
        return across, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (max(gain, 0.0) / top)

    line = " ".join("{:.1f},{:.1f}".format(*place(number, each)) for number, each in enumerate(gains))
    dots = []
    for number, each in enumerate(tried):
        across, up = place(number, 0.0 if each.refused else each.gain)
        color = "#b33" if each.refused else "#369"
        told = f"{', '.join(each.rewrites)}: {each.refused or f'{each.gain:.2f} times'}"
        words = escape(sanitize_text(told))
        dots.append(
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="4" fill="{color}"><title>{words}</title></circle>'
        )
    base, peak = place(0, 1.0)[1], place(0, top)[1]
    told = f"confirmed: {claim.runs.gain:.2f} times" if claim else "nothing confirmed"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
            'font-size="12">',
            f'<text x="{MARGIN}" y="20">{escape(sanitize_text(title))}: {told}</text>',
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{base:.1f}" y2="{base:.1f}" stroke="#999" '
            'stroke-dasharray="4"/>',
            f'<text x="4" y="{base:.1f}">1.00</text><text x="4" y="{peak:.1f}">{top:.2f}</text>',
            f'<polyline points="{line}" fill="none" stroke="#369"/>',
            *dots,
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">candidates</text>',
            "</svg>",
            "",
        ]
    )
