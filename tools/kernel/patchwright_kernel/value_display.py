"""The last value of a block: bounded text, and further representations."""

from __future__ import annotations

import base64
import reprlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MOST = 8000
"""Characters of a value's text: longer text is for print, which is bounded and stored outside."""

MOST_BYTES = 8 << 20
"""Bytes of a picture or a table as a file, before it is encoded."""

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 8
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = 200
_SHORT.maxdeque = _SHORT.maxarray = 200
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 2000


def describe_value(value: Any) -> dict[str, Any]:
    """Return parts of the frame that reports a block: value, pictures, table."""
    parts: dict[str, Any] = {"value": _format_value(value)}
    picture = _render_picture(value)
    if picture:
        parts["pictures"] = [picture]
    if type(value).__name__ in ("DataFrame", "Series") and hasattr(value, "to_csv"):
        table = value.to_csv()
        if len(table) <= MOST_BYTES:
            parts["table"] = table
    return parts


def export_figures() -> list[str]:
    """Export and close the open figures of matplotlib, if it is in use, as base64 of PNG."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    found = [_render_figure(pyplot.figure(number)) for number in pyplot.get_fignums()]
    pyplot.close("all")
    return [each for each in found if each]


def _format_value(value: Any) -> str:
    # repr would build the whole of a million-element list only to be cut; reprlib stops in time
    large = isinstance(value, (list, tuple, dict, set, frozenset, str, bytes)) and len(value) > 2000
    text = _SHORT.repr(value) if large else repr(value)
    if len(text) <= MOST:
        return text
    return "%s\n[… %d characters more: print the part that matters]" % (text[:MOST], len(text) - MOST)


def _render_picture(value: Any) -> str:
    if isinstance(value, type):
        return ""
    if hasattr(value, "_repr_png_"):
        made = value._repr_png_()
        return _encode_picture(made[0] if isinstance(made, tuple) else made)
    return ""


def _render_figure(figure: Any) -> str:
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return _encode_picture(buffer.getvalue())


def _encode_picture(data: object) -> str:
    if not isinstance(data, bytes) or len(data) > MOST_BYTES:
        return ""
    return base64.b64encode(data).decode("ascii")
