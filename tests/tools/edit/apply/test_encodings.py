"""Files in other encodings: what they declare is used by every tool, what is a guess is never written as a fact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.repo import Repo
from tests.tools.workspaces import call, refused, workspace
from tools.core.registry import Tool
from tools.edit.edit_tools import apply_patch, edit
from tools.fs.file_tools import read, write
from tools.fs.search import search

DECLARED: Mapping[str, tuple[str, str, str, Mapping[str, str]]] = {  # name → file, codec, text, other files
    "python": ("a.py", "cp1251", "# -*- coding: cp1251 -*-\ns = 'привет'\nx = 1\n", {}),
    "second line": ("a.rb", "koi8-r", "#!/usr/bin/ruby\n# encoding: koi8-r\ns = 'привет'\nx = 1\n", {}),
    "xml": ("a.xml", "iso8859-2", '<?xml version="1.0" encoding="ISO-8859-2"?>\n<a>Zażółć</a>\nx = 1\n', {}),
    "html": ("a.html", "cp1252", '<html><meta charset="iso-8859-1">\n<p>5 €</p>\nx = 1\n', {}),
    "template": ("a.php", "cp1252", '<meta charset="latin1">\n<p>5 €</p>\nx = 1\n', {}),
    "css": ("a.css", "cp1252", '@charset "windows-1252";\na::after { content: "é"; }\nx = 1\n', {}),
    "vim": ("a.c", "cp932", "/* vim: set fileencoding=shift_jis : */\n/* テスト */\nx = 1\n", {}),
    "gettext": (
        "a.po",
        "latin-1",
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-1\\n"\né\nx = 1\n',
        {},
    ),
    "editorconfig": (
        "b/a.txt",
        "latin-1",
        "café\nx = 1\n",
        {".editorconfig": "[*.{txt,md}]\ncharset = latin1\n"},
    ),
    "git": ("a.txt", "gbk", "测试 文件\nx = 1\n", {".gitattributes": "*.txt working-tree-encoding=GBK\n"}),
}


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_is_read_written_and_found(tmp_path: Path, name: str) -> None:
    path, codec, text, others = DECLARED[name]
    repo = Repo(tmp_path / "repo")
    for other, content in others.items():
        repo.write(other, content)
    repo.write(path, text.encode(codec))
    at = repo.workspace()
    letter = next(each for each in text if each > "\x7f")
    assert letter in call(read, at, path=path).text
    found = call(search, at, pattern=letter).text
    assert f"{path}\n" in found
    assert letter in found.split(f"{path}\n")[1]
    new = f"x = '{letter}'"
    call(edit, at, path=path, old="x = 1", new=new)
    assert (repo.root / path).read_bytes() == text.replace("x = 1", new).encode(codec)
    back = f"--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-{new}\n+x = 1\n"
    call(apply_patch, at, patch=back)
    assert (repo.root / path).read_bytes() == text.encode(codec)
    call(write, at, path=path, content=text + letter + "\n")
    assert (repo.root / path).read_bytes() == (text + letter + "\n").encode(codec)
    assert "which has no '🙂'" in refused(edit, at, path=path, old="x = 1", new="x = '🙂'")


@pytest.mark.parametrize("name", DECLARED)
def test_a_new_file_is_written_as_it_is_declared(tmp_path: Path, name: str) -> None:
    path, codec, text, others = DECLARED[name]
    repo = Repo(tmp_path / "repo")
    for other, content in others.items():
        repo.write(other, content)
    call(write, repo.workspace(), path=path, content=text)
    assert (repo.root / path).read_bytes() == text.encode(codec)


def test_a_file_that_is_mostly_utf8_stays_utf8_with_its_odd_bytes(tmp_path: Path) -> None:
    content = "# Größe, naïve café\nx = 1\n".encode() + b"# stray \xff and \x80\n"
    at = workspace(tmp_path, {"a.py": content})
    shown = call(read, at, path="a.py").text
    assert "Größe" in shown
    assert "stray \ufffd and \ufffd" in shown
    call(edit, at, path="a.py", old="x = 1", new="x = '→'")
    assert (at.root / "a.py").read_bytes() == content.replace(b"x = 1", "x = '→'".encode())
    text = refused(edit, at, path="a.py", old="x = '→'", new="x = '\ufffd'")
    assert "U+FFFD" in text


COMMON = {
    "koi8-r": "Привет мир, это текст для проверки кодировки.",
    "cp866": "Привет мир, это текст для проверки кодировки.",
    "iso8859-2": "Zażółć gęślą jaźń",
    "euc-jp": "これは日本語のテキストです。設定ファイル",
    "mac-roman": "L'été à la façade où naît déjà",
}


@pytest.mark.parametrize("codec", COMMON)
def test_common_encodings_are_guessed_and_shown_as_they_are(tmp_path: Path, codec: str) -> None:
    at = workspace(tmp_path, {"a.txt": f"{COMMON[codec]}\nx = 1\n".encode(codec)})
    shown = call(read, at, path="a.txt").text
    assert COMMON[codec] in shown
    assert "(a guess)" in shown


def test_tex_declares_its_encoding_in_the_first_line_too(tmp_path: Path) -> None:
    text = "\\usepackage[latin9]{inputenc}\nfünf\nx\n"
    at = workspace(tmp_path, {"a.tex": text.encode("iso8859-15")})
    call(read, at, path="a.tex")
    call(edit, at, path="a.tex", old="x", new="5 €")
    assert (at.root / "a.tex").read_bytes() == text.replace("\nx", "\n5 €").encode("iso8859-15")


GUESSED: Mapping[str, bytes] = {
    "latin-1": "# José, São Paulo, piñón\nx = 1\n".encode("latin-1"),
    "windows-1252": "# Preis: 5 € – „Größe“\nx = 1\n".encode("cp1252"),
    "cyrillic": "# Привет, это тест кодировки\nx = 1\n".encode("cp1251"),
    "declared otherwise": "# -*- coding: latin-1 -*-\n# é is UTF-8\nx = 1\n".encode(),
    "not what it says": b"# -*- coding: utf-8 -*-\n# caf\xe9 cr\xe8me\nx = 1\n",
}


@pytest.mark.parametrize("name", GUESSED)
@pytest.mark.parametrize("tool", [edit, apply_patch], ids=lambda each: each.name)
def test_a_new_character_is_refused_where_the_encoding_is_a_guess(
    tmp_path: Path, name: str, tool: Tool
) -> None:
    at = workspace(tmp_path, {"a.py": GUESSED[name]})
    given = {"path": "a.py", "old": "x = 1", "new": "x = 'ő'"}
    if tool is apply_patch:
        given = {"patch": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-x = 1\n+x = 'ő'\n"}
    text = refused(tool, at, **given)
    assert "could get wrong bytes" in text
    assert (at.root / "a.py").read_bytes() == GUESSED[name]
    call(edit, at, path="a.py", old="x = 1", new="x = 2")
    assert (at.root / "a.py").read_bytes() == GUESSED[name].replace(b"x = 1", b"x = 2")


def test_no_edit_changes_the_declaration_without_the_bytes(tmp_path: Path) -> None:
    content = "# coding: cp1251\n# привет\n".encode("cp1251")
    at = workspace(tmp_path, {"a.py": content})
    text = refused(edit, at, path="a.py", old="# coding: cp1251", new="# coding: utf-8")
    assert "convert it first" in text
    assert (at.root / "a.py").read_bytes() == content
