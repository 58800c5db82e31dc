"""Golden screens of content: diffs, code, Markdown and tables at four widths, in three themes. GOLDEN=write writes them
anew; look at what changed before you commit it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_view import format_diff
from cli.output.markdown.markdown_stream import MarkdownStream
from cli.output.style.theme import choose_theme
from tests.support.golden import WRITING
from tests.support.style_marks import mark_styles

GOLDEN = Path(__file__).parent / "golden"

DIFF = """\
diff --git a/cart.py b/basket.py
rename from cart.py
rename to basket.py
old mode 100644
new mode 100755
--- a/cart.py
+++ b/basket.py
@@ -8,7 +8,8 @@ class Cart:
     def total(self) -> int:
-        return sum(item.price for item in self.items) - 1  # one too few
+        return sum(item.price * item.count for item in self.items)
+        # nothing is taken off
 
     def add(self, item: Item) -> None:
-\tself.items.append(item)
+        self.items.append(item)
         self.changed = True
\\ No newline at end of file
@@ -101,3 +102,2 @@ def checkout(cart):
     pay(cart)
-    log("paid", cart)
     return True
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
"""

LONG = "--- /dev/null\n+++ b/long.py\n@@ -0,0 +1,60 @@\n" + "".join(f"+x{n} = {n}\n" for n in range(60))

TEXT = """\
# One

## Two with `code`

### Three

#### Four

Text with **bold**, *em*, ~~gone~~, `code`, [a link](https://example.org/x) and <https://auto.example>, long enough
to be wrapped.

2. two, as it was written, with a text that has to be wrapped under itself
   - nested
     - deeper

   ```python
   def total(items):
       return sum(items)  # here
   ```
10. ten

- [ ] open
- [x] done

---

> A quote
> - with a list
"""

CODE = '''\
```python
def total(items: list[int]) -> int:
    """Sum of all
    items."""
    return sum(item.price for item in items) - 1  # one too few, and a line that is too long for a narrow window
```

```
no language
```
'''

TABLE = """\
| cart | now | right | why |
|:---|--:|--:|:-:|
| empty | -1 | 0 | `x` |
| one apple | 2 | 3 | A text that is rather long, and so has to be wrapped in its cell in a narrow window |
"""


def draw_markdown(text: str, width: int) -> str:
    stream = MarkdownStream(width=width, colour=True)
    return f"{stream.feed(text)}{stream.close()}".rstrip("\n")


def draw_diff(diff: str, width: int) -> str:
    layout = DiffLayout(colour=True, width=width, indent=2, rest="Ctrl-O")
    rows = list(format_diff(diff, layout, limit=40))
    return "\n".join(rows if len(rows) < 40 else [*rows[:2], *rows[-2:]])


@pytest.fixture(params=["truecolor", "256"])
def depth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", request.param)
    yield request.param
    choose_theme("terminal")


@pytest.mark.parametrize("size", ["50x20", "80x24", "120x40", "160x50"])
def test_content_looks_as_it_did(size: str, depth: str) -> None:
    width = int(size.partition("x")[0])
    rendered: dict[str, dict[str, str]] = {}
    for theme in ("dark", "light", "mono"):
        choose_theme(theme)
        parts = {"diff": draw_diff(DIFF, width), "collapsed": draw_diff(LONG, width)}
        if depth == "truecolor":
            for name, text in (("code", CODE), ("markdown", TEXT), ("table", TABLE)):
                parts[name] = draw_markdown(text, width)
        for name, shown in parts.items():
            rendered.setdefault(name, {})[theme] = shown
    seen = "".join(f"=== {name}\n{mark_styles(each)}" for name, each in rendered.items())
    path = GOLDEN / f"content-{size}{'' if depth == 'truecolor' else '-256-colours'}.txt"
    if WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen, "utf-8")
    assert seen == path.read_text("utf-8"), f"{path.name} has changed: look at it, then GOLDEN=write"
