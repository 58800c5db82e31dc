"""Edits of real histories, written the way models err, that once came out wrong: now right, or refused."""

from __future__ import annotations

import pytest

from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Hunk, Line, Replace

REFUSED = {
    "a depth that the file has of tabs and spaces, and that may be of tabs alone": (
        "\t\ta {\n\t\t  b; }\n\t\tc {\n",
        "    a {\n      b; }\n    c {\n",
        "    a {\n      b; }\n    new {\n      d;\n    }\n    c {\n",
    ),
    "a sentence that lacks its indentation, and deeper lines behind a blank one": (
        "          so it is.\n\n      - title: in\n",
        "so it is.\n\n",
        "so it is.\n\n      - title: new\n        body: |\n\n",
    ),
    "which of three closing lines stays, of which one has white space behind it": (
        "\talpha(one);\n} \n}\n}\n",
        "\t\t\talpha(one);\n\t\t}\n\t\t}\n\t\t}\n",
        "\t\t\talpha(one);\n\t\t}\n\t\tfresh(one);\n",
    ),
    "a line as given but for a blank one behind it, and with that where its white space differs": (
        "x = 1\n\nx=1\n",
        "x=1\n\n",
        "x=1\nx = 2\nb = one\n",
    ),
    "the first line without its indentation, and the others with tabs for spaces": (
        "  delta,\n  alpha(one);\n  if (alpha) {\n",
        "delta,\n\talpha(one);\n",
        "delta,\n* item new\n\talpha(one);\n",
    ),
    "the first line alone less deep, or all in narrower levels": (
        "    return beta\nreturn gamma\nend\n",
        "  return beta\nreturn gamma\n",
        "  return beta\nreturn gamma\nif fresh {\n  alpha(one);\n",
    ),
    "lines of two depths that stand at one, and at two with another line between": (
        "delta,\ndelta,\nif (alpha) {\n\tdelta,\n",
        "\tdelta,\n\t\tdelta,\n",
        "\tdelta,\n\t\tdelta,\n\t\tfresh:\n",
    ),
    "one column for a tab, or all less deep": (
        "\t\t* item three\n\t\tdelta,\n\t\treturn beta\n",
        "  * item three\n  delta,\n",
        "end\nreturn fresh\n",
    ),
    "which of three equal lines goes, and a blank one between that `old` has not": (
        "delta,\n\nreturn beta\n\nreturn beta\nreturn beta\n",
        "\nreturn beta\nreturn beta\nreturn beta\n",
        "\nreturn beta\nreturn beta\n",
    ),
    "a part of a line, and lines to add behind it": (
        "# Simple value tests\nfoo\n",
        "value",
        "value\n\nsort\n[1, 2]",
    ),
    "a part of a line, and lines to add before it": (
        "# Simple value\nfoo\n",
        "value",
        "sort\n\nvalue",
    ),
    "brackets alone, one space deeper than the file has them, which another line begins with": (
        "a(\n    b(\n    )\n    while 1:\n        with c(\n        ) as bar:\n",
        "     )",
        "     )\n",
    ),
    "a no-break space at the beginning of a new line, of which the old ones have none": (
        "x = 1\nfoo   bar one\nlast line\n",
        "foo bar one\nlast line\n",
        "foo bar one\n   put in here\n \u00a0 the middle of it\nlast line\n",
    ),
    "a word that `old` has otherwise than the file, and `new` as `old` does": (
        "#ifndef PI\n#define PI 3.14159265\n#endif\n",
        "#ifdef PI\n#define PI 3.14159265\n",
        "#ifdef M_PI\n#define PI M_PI\n#else\n#define PI 3.14159265\n",
    ),
    "numbers with a space behind them, or lines with one more, at two places that are not theirs": (
        "   a\n   b\nx\n  a\n  b\n",
        "7|   a\n8|   b\n",
        "7|   a\n8|   c\n",
    ),
    "a number that names a place where the same stands but for white space": (
        "    a\n    b\nx\n  a\n  b\n",
        "1|   a\n2|   b\n",
        "1|   a\n2|   c\n",
    ),
    "one line without its indentation that opens a block without a bracket": (
        "module A\n  module B\n    class C\n    end\n  end\nend\n",
        "module B",
        "module B\n  ##\n  # one of it",
    ),
    "a character that cannot be seen, beside quotes that are bent": (
        '[]\n"Aa b"\n',
        "[]\n“Aa b”\n",
        "[]\n\ufeff.b\n“Aa b”\n",
    ),
    "lines as given but for one between, and at another depth without it": (
        "  beta = gamma\n  // note one\nx\n    beta = gamma\n    * three\n    // note one\n",
        "    beta = gamma\n    // note one\n",
        "    beta = gamma\n    // note two\n    // note one\n",
    ),
    "a made-up line amid lines that repeat": (
        "end\n# note one two\n# note one two\n* item three\n",
        "# note one two\n# TODO\n* item three\n",
        "* item three\n# note one two\n# TODO\n* item three\n",
    ),
    "a missing line amid lines that repeat": (
        "  } one\n  two\n  two\n  two\n  } one\n",
        "  } one\n  two\n  two\n  } one\n",
        "  } one\n  three\n  two\n  } one\n",
    ),
    "lines with a blank one between, and at another depth without it": (
        "  f(a):\n    else b:\n      else c:\n\n        else d:\n",
        "    else b:\n      else c:\n        else d:\n".replace("    ", "      ", 1),
        "      new b:\n      else c:\n        else d:\n",
    ),
    "a tab as wide as two levels, or as one and all less deep": (
        "a {\n    b {\n\n        * item three\n\n        if c {\n            d\n    e\n",
        "\t* item three\n\n\tif b {\n",
        "beta = gamma\n\n\tif b {\n",
    ),
    "one line without its indentation, and `new` begins with it: in a text": (
        "\n  delta,\n",
        "delta,",
        "  return it",
    ),
    "lines alike but for white space at the end, of which one goes": (
        "}\n// words of it\n// words of it \n// words of it\n",
        "}\n// words of it\n// words of it",
        "}\n// words of it",
    ),
    "a first line without its indentation, which `new` has as another one": (
        "h\n  end\n\n  beta = gamma\nend\n",
        "end\n\n  beta = gamma\nend\n",
        "return it\nend\n  beta = gamma\nend\n",
    ),
    "one line without its indentation, and one that is aligned with something in it": (
        "if a\n    b\nelse\n    arith(c, d);\n  e\n",
        "arith(c, d);",
        "arith(c,\n      f(d));",
    ),
    "one line without its indentation, a blank one behind it, and others that are deeper": (
        "\t//\t\ta(b);\n\n            \n            // c\n",
        "//\t\ta(b);\n\n            \n",
        "//\t\ta(b);\n\n\t\t// d\n\t\te(f);\n            \n",
    ),
    "a line that `old` skips between two that `new` repeats": (
        "f {\n    one(a, b)\n      }\n    list(c)\n  }\n\n  /** note */\n",
        "    one(a, b)\n      }\n  }\n\n  /** note */\n",
        "    one(a, c)\n      }\n  }\n\n  g {\n    two(d, e)\n      }\n  }\n\n  /** note */\n",
    ),
    "one depth is known, and the levels may be wider than the file's": (
        "a = {\n  b: function(c) {\n    return d(c)\n      .e()\n  }\n}\n",
        "                return d(c)\n",
        "                return f(c)\n                        .g(function(){\n                                h\n"
        "                        })\n",
    ),
    "a blank line before the mark of a comment, and another mark is nearer to what the dots lead to": (
        "/*!\n * name\n * by me\n */\n\n/**\n * Module\n */\n\nvar Emitter = require('events').Emitter\n",
        "/*!\n ...\nvar Emitter = require('events').Emitter\n",
        "\n/*!\n ...\nvar Emitter = require('events').Emitter\n",
    ),
    "a reworded line that may be the next one, or one behind that, and lines to add there": (
        "def test():\n    assert r1 == 425\n    assert r2 == 425\n    assert r3 == 425\n    assert r4 == 425\n\n",
        "    assert r1 == 425\n    assert r2 == 425\n    handler r4 == 425\n",
        "    assert r1 == 425\n    assert r2 == 425\n    handler r4 == 425\n    assert r5 == 425\n",
    ),
    "a last line that lacks the white space at its end, and another one instead": (
        "a\nx = one  \ny\n",
        "a\nx = one",
        "a\nx = two",
    ),
    "lines with their ends escaped, which stand as letters elsewhere": (
        'say("a {b}\\n\\n")\nf {\n}\n\ng {\n}\n\n',
        "}\\n\\n",
        "}\\n\\nh {\\n}\\n\\n",
    ),
    "all given deeper, and what a block goes from around may be, too": (
        "f {\n  try {\n    a(b,\n      c);\n  } catch {\n    d();\n  }\n}\n",
        "    try {\n      a(b,\n        c);\n    } catch {\n      d();\n    }\n",
        "    a(b,\n      c);\n",
    ),
    "all given deeper, and what is left stands as deep as before": (
        "with a:\n    b = 1\n\n    c(b)\n    d(b)\n\n    \n\nend\n",
        "\n        c(b)\n        d(b)\n\n        \n",
        "    c(b)\n    d(b)\n",
    ),
    "another white space at the end than the quoted line's": ("* a\n* c\n", "* a  \n", "* a  \n* b \n"),
    "one shared line, at the file's depth behind what `new` begins with": (
        "<td>\n    <a>y</a>\n    <br />\n</td>\n",
        "  <a>y</a>\n  <br />\n",
        "    <a>\n      y\n    </a>\n    <br />\n",
    ),
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
    "lines of `end` alone, and a blank one that the file has not": (
        "describe do\n  it do\n    x\n    end\n\n  end\n\nend\n",
        "  end\n\nend\n\n",
        "  end\n\n  y\n\nend\n\n",
    ),
    "one line without its indentation, the block ends behind it": (
        ".. a::\n\n   text of it\n\nNext\n",
        "text of it\n\n",
        "text of it\n\n.. b:\n\n",
    ),
    "one line without its indentation, the others deeper": (
        'def f():\n    """A.\n    :param a: long text of it\n    """\n',
        ":param a: long text of it",
        ":param a: longer\n        text of it",
    ),
    "a closing line stands for that of another depth": (
        "fn a {\n    b {\n        c(d)\n    }\n}\n\nfn e\n",
        "        c(d)\n}\n",
        "        c(d)\n}\n\nfn f {\n    g\n}\n",
    ),
    "a no-break space that may be meant": (
        "the only one\nof them\n",
        "the\u00a0only\u00a0one\nof\u00a0them\n",
        "the\u00a0only\u00a0one\nbut\u00a0one of us\n",
    ),
    "white space at the end of a line, before a comment elsewhere": (
        "if a:\n    return 2\nelse:\n    return 2;  # b\n    return 2;\n",
        "    return 2;  ",
        "    log(c)\n    return 3;",
    ),
    "white space at the end of a line given without its indentation": (
        "if a:\n    return 2;\nelse:\n    return 2;  # b\n",
        "return 2; ",
        "return 3;",
    ),
    "a made-up `end` that `new` has twice": (
        "require 'helper'\n\nclass Handler::Lobster; end\nclass RockLobster; end\n",
        "end\n\nclass Handler::Lobster; end\n",
        "end\n\nseparate do\n  require 'handler'\nend\n\nclass Handler::Lobster; end\n",
    ),
    "new words between characters that the file has otherwise": (
        "  .command('exec')\n  log(\\'exec \"%s\"\\', cmd);\n  });\nend",
        "  .command(‘exec’)\n  log(‘exec ”%s”’, cmd);\n  });\n",
        "  .command(‘exec’)\n  log(‘exec ”%s” in %s’, cmd);\n  });\n",
    ),
    "lines added behind one that stands further off than it can": (
        "class Alpha(Beta):\n    one = compute(first)\n  a\n  b\n  c\n  d\n  e\n  f\n    two = run(last)\n    end\n",
        "class Alpha(Beta):\n    one = compute(first)\n    ...\n    two = run(last)\n    end\n",
        "class Alpha(Beta):\n    one = compute(first)\n    ...\n    two = run(last)\n    end\n    more()\n",
    ),
    "lines added before one that is not in the file": (
        "alpha beta gamma\ndelta epsilon zeta\neta theta iota\nkappa\n",
        "start\nalpha beta gamma\ndelta epsilon zeta\neta theta iota\n",
        "new\nstart\nalpha beta gamma\ndelta epsilon zeta\neta theta iota\n",
    ),
    "a line that an item goes on with, without its indentation, and another item": (
        "* a item of it\n  goes on here\n* b\n",
        "goes on here\n",
        "goes on here\n* c\n",
    ),
    "one line without its indentation, and a bracket that closes what it stands in": (
        "x = [\n  call(a,\n    b_word)\n]\ny\n",
        "b_word)\n",
        "b_word),\n]\n",
    ),
    "a line of brackets alone at two depths": (
        "a(() => {\n\t\tb({\n\t\t});\n});\nc({\n\t});\n\nThe end\n",
        "\t\t});\n",
        "\t\t});\n\n\tWe use:\n",
    ),
    "a tab in a file of spaces, and no quoted line shows which": (
        "/* chain */\nint f() {\n  g();\n}\n",
        "/* chain */\n",
        "#define TRY(L) \\\n\ttry { a }\n/* chain */\n",
    ),
    "a tab among lines that are all too deep, and none is indented in the file": (
        "/* chain */\nint f() {\n  g();\n}\n",
        "\t\t/* chain */\n",
        "\t\t#define TRY(L) \\\n\t\t\ttry { a }\n\t\t/* chain */\n",
    ),
    "a line that stands further off to the letter, and one much like it nearer": (
        "/*\n * on an as is basis, without any,\n * warranties of any kind.\n */\n"
        "actual fun isBrowser() = other() {\n  a\n  b\n  c\n  return js()\n}\n\nactual fun isWasm() = false\n",
        " * on an as is basis, without any,\n * warranties of any kind.\n ...\nactual fun isWasm() = false\n",
        " * on an as is basis, without any,\n * warranties of any kind.\n ...\nactual fun isWasm() = false\n"
        "\nactual fun getEnv() = js()\n",
    ),
    "lines with no-break spaces that stand again but for a blank one": (
        "\t\tok: false,\n\t}\n\n\tfor test := tests {\nx\n\t\tok: false,\n\t}\n\tfor test := tests {\n",
        "\t\tok:\u00a0false,\n\t}\n\tfor\u00a0test\u00a0:=\u00a0tests\u00a0{\n",
        "\t\tok:\u00a0false,\n\t\tmore(),\n\t}\n\tfor\u00a0test\u00a0:=\u00a0tests\u00a0{\n",
    ),
    "a closing line that stands at another depth beside lines that do not": (
        "fn f {\n    if a {\n        b {\n        }\n    } else {\n        false\n    }\n}\n\nfn g\n",
        "        }\n    } else {\n        false\n}\n",
        "        }\n    } else {\n        false\n}\n\nfn h {\n    c\n}\n",
    ),
    "a part of a line to the letter, and whole lines elsewhere but for one between": (
        "open(\n  first = False,\n  second = SYSTEM,\n) {\n}\nopen(\n"
        "  first = False,\n  other = None,\n  second = SYSTEM,\n)\n",
        "  first = False,\n  second = SYSTEM,\n)",
        "  first = False,\n  second = SYSTEM,\n  third = None,\n)",
    ),
    "a blank line before lines that stand twice, and `new` has none": (
        "a = one\nb = two\nc = three\n\na = one\nb = two\nd = four\n",
        "\na = one\nb = two\n",
        "a = one\nb = three\n",
    ),
    "a blank line of white space, and lines that are not as deep as in the file": (
        "    a(b);\n    \n    c(d);\n\n    e(f);\n",
        "a(b);\n    \nc(d);\n\ne(f);\n",
        "a(b);\n        \nc(d, 1);\n\ne(f);\n",
    ),
    "a line that `old` skips, beside one that it has twice": (
        "f a {\n  open();\n  one(a);\n}\nf b {\n  // a note\n  open();\n  two(b);\n}\n",
        "f a {\n  open();\n  one(a);\n}\nf b {\n  open();\n  two(b);\n}\n",
        "g a {\n  open();\n  one(a);\n}\ng c {\n  open();\n  two(b);\n}\n",
    ),
    "a near place of which as much stands, with a line between": (
        "require socket\n\nclass Client\n  Commands = {\n    set, setnx, rpush, lpush\n  }\n"
        "  def a\n  def b\n  def c\n  def d\n  def e\n  def f\n  def g\nrequire socket\n\n"
        "context Client\n  Commands = {\n    set, setnx, rpush, lpush\n",
        "require socket\n\nhandler Client\n  Commands = {\n    }\n    set, setnx, rpush, lpush\n",
        "require socket\nbegin\n\nhandler Client\n  Commands = {\n    }\n    set, setnx, rpush, lpush\n",
    ),
    "a first line without its indentation that `new` has further down": (
        "f() {\n    if a {\n      b();\n      c();\n",
        "if a {\n      b();\n      c();",
        "d = 1;\nif a {\n      b(d);\n      c();",
    ),
    "a line as deep as given without the blank one behind it, and with that at another depth": (
        "if a:\n    b = 2;\n\nif c:\n    if d:\n        b = 2;\n        e\n",
        "        b = 2;\n\n",
        "        b = 2;\n\n  out:\n    f\n",
    ),
    "a newline behind a line to the letter, and a blank line behind it at another depth": (
        "if a:\n    b = 2;\n\nif c:\n    if d:\n        b = 2;\n        e\n",
        "        b = 2;\n",
        "        b = 2;\n\n  out:\n    f",
    ),
    "a word that opens a block, without its indentation": (
        "def f\n  yield\n  ensure\n    a(b)\n  end\n",
        "ensure",
        "ensure\n  c(d)",
    ),
    "two lines alike but for white space at the end, of which one goes": (
        "/* a b\n *  \n * c d\n *\n * e f\n",
        "/* a b\n *\n * c d\n *\n * e f\n",
        "/* a b\n *\n * e f\n",
    ),
    "an item without its indentation, and others beside it or below": (
        "* a\n  * b c\n  * d\n",
        "* b c",
        "* b c\n  * e\n  * f",
    ),
    "a bullet that the model may have bent": (
        "install: pip\nlist:\n  - a\n",
        "install: pip\n",
        "install:\n  – pip\n  – tox\n",
    ),
}

MEANT = {
    "numbers, and what is behind them, where they say": (
        "   a\n   b\nx\n  a\n  b\n",
        "1|   a\n2|   b\n",
        "1|   a\n2|   c\n",
        "   a\n   c\nx\n  a\n  b\n",
    ),
    "numbers with a space behind them where they say": (
        "   a\n   b\nx\n  a\n  b\n",
        "4|   a\n5|   b\n",
        "4|   a\n5|   c\n",
        "   a\n   b\nx\n  a\n  c\n",
    ),
    "a line that stands as a part of a deeper one as well": (
        "    // words of it\n   // words of it\n",
        "   // words of it",
        "   // others",
        "    // words of it\n   // others\n",
    ),
    "a blank line of white space that stays": (
        "a\n    \n* item three  \n", "    \n* item three", "    \nend\n* item three", "a\n    \nend\n* item three  \n",
    ),
    "lines behind one that lacks the white space at its end": (
        "a\n  b = one  \n\nc\n", "a\n  b = one", "a\n  b = one\n  d = two", "a\n  b = one  \n  d = two\n\nc\n",
    ),
    "lines to remove, the last of which lacks the white space at its end": (
        "a\n  b = one  \nc\n", "  b = one", "", "a\nc\n",
    ),
    "a line that goes with the line end before it": (
        "int size;\n\n// fix it\nint push() {\n", "\n// fix it", "", "int size;\n\nint push() {\n",
    ),
    "an item with fewer spaces behind its dash, and a blank line of spaces": (
        "-   one of them (`#1`)\n-   the other of them (`#2`)\n    \n.. _#1: here\n",
        "- the other of them (`#2`)\n    \n",
        "- the other of them (`#2`)\n\n",
        "-   one of them (`#1`)\n-   the other of them (`#2`)\n\n.. _#1: here\n",
    ),
    "an item of a list with no space behind its dash is no line of a diff": (
        "- one of them\n- the other one\n- last\n",
        "-the other one\n",
        "",
        "- one of them\n- last\n",
    ),
    "a bracket with white space behind it, and a new one": (
        "a()\n{ \n    b(c);\n}\n",
        "a()\n{\n    b(c);\n}\n",
        "a()\n{\n    b(c);\n}\nd()\n{\n    e();\n}\n",
        "a()\n{ \n    b(c);\n}\nd()\n{\n    e();\n}\n",
    ),
    "white space at the end of a part of a line, which no other line ends with": (
        "if a:\n    return 2;  # b\n    return 2\n",
        "return 2;  ",
        "return 3; ",
        "if a:\n    return 3; # b\n    return 2\n",
    ),
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
    "one numbered line left, whose mark has no space": (
        "a:\n    return b\n\n\nc\n",
        "2|    return b\n3|\n",
        "2|    return b\n",
        "a:\n    return b\n\nc\n",
    ),
    "blank lines at the end, of which one is not in the file": (
        "a = b\n\n\nc = d\n", "a = b\n\n\n\n", "a = e\n\n\n", "a = e\n\n\nc = d\n",
    ),
    "an item of a list is no numbered line": (
        "3. one\n4. two\n",
        "    4. two\n",
        "    4. two\n    5. three\n",
        "3. one\n4. two\n5. three\n",
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
    "two blank lines that are not in the file, behind a line that is not, either": (
        "head\nif (alpha) {\n  if (beta) {\n    end\n",
        "}\n\n\nif (alpha) {\n  if (beta) {\n    end\n",
        "}\n\n\n  if (beta) {\n    end\n",
        "head\n  if (beta) {\n    end\n",
    ),
    "a part of a line on lines of its own": (
        "x = f(alpha, beta)\n", "alpha, beta", "\n    alpha,\n    beta,\n", "x = f(\n    alpha,\n    beta,\n)\n",
    ),
    "a fence that is the file's, not one around `old`": (
        "text\n\t```\n\tsecond one\n\t```\nlast\n",
        "```\nsecond one\n\n```\n",
        "code(new)\nsecond one\n\n```\n",
        "text\n\tcode(new)\n\tsecond one\n\t```\nlast\n",
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
    for whole_lines in {False, old.endswith("\n") and new.endswith("\n")}:
        with pytest.raises(EditRefused):
            edit_text(text, [Replace(old=old, new=new, whole_lines=whole_lines)])


def test_what_stands_as_given_is_written_as_given() -> None:
    docs = "# Example\n\n```no_run\nuse x;\n```\n"
    new = "```no_run\n# #[cfg(windows)]\n# {\n"
    edit = Replace(old="```no_run\n", new=new, whole_lines=True)
    assert edit_text(docs, [edit], path="lib.rs").text == docs.replace("```no_run\n", new)
    edit = Replace(old="Allow: /api\n", new="Agent: * \nDisallow: \n", whole_lines=True)
    assert edit_text("Allow: /api\n", [edit], path="robots.txt").text == edit.new


def test_white_space_at_the_end_of_all_new_lines_of_code_is_taken_off() -> None:
    edit = Replace(old="a = 1\n", new="b = 1 \nc = 2 \n", whole_lines=True)
    assert edit_text("a = 1\n", [edit], path="a.py").text == "b = 1\nc = 2\n"


def test_a_blank_line_that_is_to_go_goes_or_nothing_does() -> None:
    head = "<A>\n  <Path Condition='release'>artifacts/bin/name</Path>\n"
    text = f"{head}  <Out Condition='release'>artifacts/out</Out>\n  </Group>\n\n  <Prop>\n"
    bent = text.replace("</Group>", "</x>")
    old, new = bent, bent.replace("artifacts/out", "artifacts").replace("\n\n", "\n")
    with pytest.raises(EditRefused, match="is not in the file"):
        edit_text(text, [Replace(old=old, new=new)])
    lines = (
        *(Line(" ", line) for line in bent.splitlines()[:4]),
        Line("-", ""),
        Line(" ", "  <Prop>"),
    )
    assert edit_text(text, [Hunk(lines=lines)]).text == text.replace("\n\n", "\n")


def test_a_hunk_whose_lines_stand_again_but_for_a_blank_one_is_refused() -> None:
    text = "a {\n    close(it)\n}\n\nfor b\n\na {\n    close(it)\n}\nfor b\n"
    lines = (Line(" ", "    close(it)"), Line(" ", "}"), Line("+", "log(it)"), Line(" ", "for b"))
    with pytest.raises(EditRefused, match="2 places"):
        edit_text(text, [Hunk(lines=lines)])
    numbered = Hunk(lines=lines, start=8, counted=True)
    assert edit_text(text, [numbered]).text == text.removesuffix("for b\n") + "log(it)\nfor b\n"


@pytest.mark.parametrize(("text", "old", "new", "meant"), MEANT.values(), ids=MEANT.keys())
def test_what_can_be_told_is_done(text: str, old: str, new: str, meant: str) -> None:
    assert edit_text(text, [Replace(old=old, new=new)]).text == meant


def test_a_blank_line_before_a_hunk_does_not_tell_how_deep_its_first_line_is() -> None:
    text = "  delta,\n  # note one two\nlast\n"
    text, blank = f"head\n{text}", Line(" ", "")
    lines = (blank, Line("-", "delta,"), Line("+", "* item new"), Line(" ", "  # note one two"), blank)
    assert edit_text(text, [Hunk(lines=lines)]).text == text.replace("delta,", "* item new")


def test_numbers_in_a_hunk_say_which_of_two_places_is_meant() -> None:
    text = "   a\n   b\nx\n  a\n  b\n"
    lines = (Line(" ", "1|   a"), Line("-", "2|   b"), Line("+", "2|   c"))
    assert edit_text(text, [Hunk(lines=lines)]).text == text.replace("   b", "   c", 1)
    stale = (Line(" ", "7|   a"), Line("-", "8|   b"), Line("+", "8|   c"))
    with pytest.raises(EditRefused, match="2 places"):
        edit_text(text, [Hunk(lines=stale)])
