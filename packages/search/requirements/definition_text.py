"""Definitions of a file's text by name: their source and their signature, for a comparison of before and after."""

from __future__ import annotations

import ast

from tools.code.index.parsing.file_facts import detect_language, extract_facts


def read_definition(path: str, text: str | None, name: str) -> list[str]:
    """Return the source of each definition of a name in a text, [] if there is none."""
    if text is None or name.rpartition(".")[2] not in text:
        return []
    lines = text.split("\n")
    return ["\n".join(lines[first - 1 : last]).rstrip() for first, last, _ in _find_symbols(path, text, name)]


def read_signatures(path: str, text: str | None, name: str) -> list[str]:
    """Return the signature of each definition of a name: of Python without annotations, else its first line."""
    if text is None or name.rpartition(".")[2] not in text:
        return []
    if path.endswith((".py", ".pyi")):
        try:
            return _read_python_signatures(text, name)
        except (SyntaxError, ValueError, RecursionError):
            pass  # compared by its first line, as other languages are
    return [" ".join(signature.split()) for _, _, signature in _find_symbols(path, text, name)]


def _find_symbols(path: str, text: str, name: str) -> list[tuple[int, int, str]]:
    language = detect_language(path)
    facts = extract_facts(language, text) if language is not None else None
    if facts is None:
        return []
    return [
        (each.first, each.last, each.signature)
        for each in facts.symbols
        if each.name == name or each.name.endswith(f".{name}")
    ]


def _read_python_signatures(text: str, name: str) -> list[str]:
    found: list[str] = []

    def walk(body: list[ast.stmt], outer: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                own = f"{outer}.{node.name}" if outer else node.name
                if own == name or own.endswith(f".{name}"):
                    found.append(_format_signature(node))
                walk(node.body, own)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                walk([each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)], outer)

    walk(ast.parse(text).body, "")
    return found


def _format_signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        made = [
            _format_arguments(each.args)
            for each in node.body
            if isinstance(each, ast.FunctionDef) and each.name == "__init__"
        ]
        return f"class({''.join(made)})"
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word}({_format_arguments(node.args)})"


def _format_arguments(arguments: ast.arguments) -> str:
    plain = ast.parse(f"def f({ast.unparse(arguments)}): pass").body[0]
    assert isinstance(plain, ast.FunctionDef)
    for each in ast.walk(plain.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    return ast.unparse(plain.args)
