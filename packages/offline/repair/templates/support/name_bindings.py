"""Names that statements of a module, and functions, bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def iter_outside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module that are in no function, class or lambda, breadth first; those themselves too."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))


def list_bound_names(node: ast.AST) -> list[str]:
    """Return the names that a definition, an import or an assignment binds."""
    if isinstance(node, _Function | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(each.asname or each.name).split(".")[0] for each in node.names]
    if isinstance(node, ast.Assign):
        return [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def list_local_names(function: _Function) -> list[str]:
    """Return parameters, then all names assigned in the function, each once."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each is not None]
    stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    nested = [n for n in ast.walk(function) if isinstance(n, _Function) and n is not function]
    names += [node.id for node in sorted(stores, key=lambda n: (n.lineno, n.col_offset))]
    for inner in nested:
        names += [inner.name, *(each.arg for each in inner.args.args)]
    return list(dict.fromkeys(names))
