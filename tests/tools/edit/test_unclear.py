"""Edits of real histories, written the way models err, that once came out wrong: now right, or refused."""

from __future__ import annotations

import pytest

from tools.edit.changes import Replace
from tools.edit.engine import EditRefused, patched

REFUSED = {
    "a line that `old` skips comes with `new`": (
        "a:\n  env: x\n  run: |\n    one\n    two two two\nb:\n",
        "a:\n  env: x\n    one\n    two two two\nb:\n",
        "a:\n  prepare:\n    one\n  env: x\n  run: |\n    two two two\nb:\n",
    ),
    "lines to add beside one that `old` skips": (
        "<dt>errors</dt>\n<dd>\nRaise exceptions when it is\nin the mode called test.\n</dd>\n<dt>run it</dt>\n",
        "<dt>errors</dt>\n<dd>\nRaise exceptions when it is\n</dd>\n<dt>run it</dt>\n",
        "<dt>errors</dt>\n<dd>\nRaise errors when it is\n</dd>\n<dd>\nHandlers win.\n</dd>\n<dt>run it</dt>\n",
    ),
    "a part of a deeper indentation, and the line stands twice": (
        "import a\n\ndef f():\n    import a\n",
        "  import a",
        "",
    ),
    "one line without its indentation, one deeper than a level": (
        "- a\n  - b\n  - c\nend\n  - d\n",
        "- d\n",
        "- d\n - e\n   - f\n",
    ),
    "one line without its indentation, one that nothing opens": (
        "class A:\n    if x:\n        y = None\n",
        "y = None\n",
        "y = None\n\n    def f(self):\n        pass\n",
    ),
    "moved as far or stretched as much": (
        "def f():\n    if a:\n        b()\n    return c\n",
        "  return c\n",
        "  if d:\n    return c\n",
    ),
    "lines of brackets alone at two depths": (
        "a {\n    b {\n    }\n\n  }\n}\nc {\n  }\n\n}\n",
        "  }\n\n}\n",
        "  }\n\n  d\n\n}\n",
    ),
    "lines of `end` alone at two depths": (
        "describe do\n  it do\n    x\n    end\n\n  end\n\nend\n",
        "  end\n\nend\n",
        "  end\n\n  y\n\nend\n",
    ),
    "lines that stand again but for a blank one": (
        "for a in b:\n    close(it)\nreturn all\n\nfor a in b:\n    close(it)\n\nreturn all\n",
        "    close(it)\nreturn all\n",
        "    close(it)\n    log(it)\nreturn all\n",
    ),
    "a quote that the model may have bent": (
        'say("a")\nsay("b")\n',
        "say(“a”)\nsay(“b”)\n",
        "say(“a”)\nsay(“b”)\nsay(“it’s”)\n",
    ),
}

MEANT = {
    "blank lines beside one that `old` skips": (
        "r = get(url, timeout=0.001)\nassert r.text is None\nassert isinstance(r.error, Timeout)\n\n\nmain()\nrest()\n",
        "r = get(url, timeout=0.001)\nassert r.text is None\n\n\nmain()\nrest()\n",
        "r = get(url, timeout=0.001)\nassert not r.text\n\n\nmain()\nrest()\n",
        "r = get(url, timeout=0.001)\nassert not r.text\nassert isinstance(r.error, Timeout)\n\n\nmain()\nrest()\n",
    ),
    "numbered blank lines that have white space": (
        "  a b c\n    end\n  end\n  \n  after d\n",
        "1|  a b c\n2|    end\n3|  end\n4|  \n5|  after d\n",
        "1|  a b c\n2|    end\n3|    \n4|    x y\n5|  end\n6|  \n7|  after d\n",
        "  a b c\n    end\n    \n    x y\n  end\n  \n  after d\n",
    ),
    "one numbered line left": (
        "a = 1\nb = 2\nc = 3\n", "1: a = 1\n2: b = 2\n3: c = 3\n", "1: a = 1\n", "a = 1\n",
    ),
    "numbers with lines at the margin in `new` alone": (
        "\n    if a:\n        b\n    c\n",
        "1|\n2|    if a:\n3|        b\n4|    c\n",
        "1|\n2|    if a:\n3|        b\n4|    c\n5|\n6|def d():\n7|    e\n",
        "\n    if a:\n        b\n    c\n\ndef d():\n    e\n",
    ),
    "a numbered blank line instead of a line": (
        "a = 1\nfoo = bar\nb = 2\n", "   2: foo = bar\n", "   2: \n", "a = 1\n\nb = 2\n",
    ),
    "a blank line in a fence instead of a line": (
        "a = 1\nfoo = bar\nb = 2\n", "```\nfoo = bar\n```\n", "```\n\n```\n", "a = 1\n\nb = 2\n",
    ),
    "a blank line first": ("if a:\n    foo(b)\n", "foo(b)", "\n    bar(b)", "if a:\n\n    bar(b)\n"),
    "space at the end that `old` lost": ("x = old y \nz\n", "x = old y", "x = new y ", "x = new y \nz\n"),
    "a newline that stands for a blank line": (
        "import a.b  \n\nimport z\n",
        "import a.b\n",
        "import a.b\n\nimport c\nimport d",
        "import a.b  \n\nimport c\nimport d\nimport z\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new"), REFUSED.values(), ids=REFUSED.keys())
def test_what_nobody_can_tell_is_refused(text: str, old: str, new: str) -> None:
    with pytest.raises(EditRefused):
        patched(text, [Replace(old=old, new=new)])


@pytest.mark.parametrize(("text", "old", "new", "meant"), MEANT.values(), ids=MEANT.keys())
def test_what_can_be_told_is_done(text: str, old: str, new: str, meant: str) -> None:
    assert patched(text, [Replace(old=old, new=new)]).text == meant
