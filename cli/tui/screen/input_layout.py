"""Layout of the redrawn lines at the bottom: the live region, the prompt, its search and its completion menu."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.layout import (
    AnyContainer,
    BufferControl,
    CompletionsMenu,
    ConditionalMargin,
    Dimension,
    HSplit,
    Layout,
    ScrollbarMargin,
    Window,
)
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor
from prompt_toolkit.widgets import SearchToolbar

from cli.tui.screen.live_region import ASKED_ROWS, LiveRegion

INPUT_ROWS = 10
"""Maximum rows of the prompt; a longer text scrolls inside it, so that a paste never fills the screen."""

MENU_ROWS = 6
"""Maximum rows of the completion menu; more of them scroll."""


def build_layout(
    live: LiveRegion, buffer: Buffer, search: SearchToolbar, count_rows: Callable[[], int]
) -> Layout:
    """Return the layout, with the keys going to the prompt. count_rows: of the terminal, at each redraw"""

    def count_input_rows() -> int:
        if live.asking is not None:
            return ASKED_ROWS
        return min(INPUT_ROWS, max(1, count_rows() // 2))

    def is_menu_scrolling() -> bool:
        state = buffer.complete_state
        return state is not None and len(state.completions) > MENU_ROWS

    is_empty = Condition(lambda: not buffer.text) & ~is_searching
    prompt = Window(
        BufferControl(
            buffer,
            search_buffer_control=search.control,
            preview_search=True,
            input_processors=[ConditionalProcessor(AfterInput(live.format_placeholder), is_empty)],
        ),
        height=lambda: Dimension(min=1, max=count_input_rows()),
        wrap_lines=True,
        dont_extend_height=True,
        get_line_prefix=live.format_prefix,
    )
    menu = CompletionsMenu(max_height=MENU_ROWS)
    assert isinstance(menu.content, Window)
    menu.content.right_margins = [ConditionalMargin(ScrollbarMargin(), Condition(is_menu_scrolling))]
    parts: list[AnyContainer] = [
        *live.build_upper_parts(),
        prompt,
        live.build_rule(),
        search,
        menu,
        live.build_footer(),
    ]
    return Layout(HSplit(parts), focused_element=prompt)
