"""Signs in product code: answers made for the tests, a behaviour of its own under tests, swallowed failures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange
from tools.lint.honesty.script_signs import TRIVIAL_TEXT, find_script_signs, join_lines, occurs_in

_DETECTION = compile_lazily(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|[\"'](?:pytest|unittest|_pytest|nose)[\"']\s+(?:not\s+)?in\s+(?:sys\.modules|sys\.argv|str\(|\w+\.filename)"
    r"|[\"']_?(?:pytest|unittest)[\"'].{0,40}\bsys\.modules"
    r"|sys\.modules\.get\(\s*[\"'](?:pytest|unittest)|[\"']\w*(?:pytest|unittest)\w*[\"']\s+in\s+(?:sys\.argv|os\.path|arg|sys\.executable)"
    r"|(?:sys\.argv\[0\]|__main__\.__file__).{0,40}(?:pytest|test)"
    r"|(?:inspect\.(?:stack|currentframe|getouterframes)|sys\._getframe|traceback\.(?:extract_stack|format_stack)).{0,120}[\"'][^\"']*test"
    r"|NODE_ENV\s*\]?\s*={2,3}\s*[\"'`]test|[\"'`]test[\"'`]\s*={2,3}\s*process\.env\.NODE_ENV|JEST_WORKER_ID|process\.env\.VITEST\b"
    r"|import\.meta\.vitest|typeof\s+(?:jest|vi|describe|it|expect|global\.it|globalThis\.\w+)\s*!={1,2}\s*[\"'`]undefined"
    r"|process\.argv.{0,60}(?:jest|mocha|vitest)|new Error\(\)\.stack.{0,60}(?:test|spec|jest|mocha)"
    r"|testing\.Testing\(\)|flag\.Lookup\(\"test\.|os\.Args\[0\].{0,40}test|HasSuffix\(os\.Args\[0\],\s*\"\.test"
    r"|runtime\.Caller\(.{0,80}_test|defined\?\(\s*(?:RSpec|Minitest)|getStackTrace\(\).{0,80}(?:junit|Test)|RAILS_ENV.{0,20}test"
    r"|co_filename.{0,60}test|\.filename.{0,40}[\"']test|f_code\.co_name.{0,40}test|\.function\.startswith\([\"']test",
    re.IGNORECASE,
)
_STACK = compile_lazily(
    r"inspect\.(?:stack|currentframe)|sys\._getframe|extract_stack|runtime\.Caller|new Error\(.*\)\.stack|getStackTrace"
)
_TESTING = compile_lazily(
    r"[\"'`/][^\"'`]*(?:test|spec|jest|mocha|pytest|unittest)[^\"'`/]*[\"'`/]", re.IGNORECASE
)
_EXIT = compile_lazily(
    r"\bos\._exit\(\s*0?\s*\)|\bprocess\.exit\(\s*0\s*\)|\bos\.Exit\(0\)|\bSystem\.exit\(0\)|atexit\.register\(.*_exit"
)
_FRAMEWORK = compile_lazily(
    r"\b(?:unittest\.TestCase|TestCase|pytest|_pytest[\w.]*|unittest\.\w+)\.\w+\s*=(?!=)|setattr\(\s*(?:pytest|unittest|_pytest)"
    r"|\bimport\s+_pytest|from\s+_pytest\b|builtins\.\w+\s*=(?!=)|(?:global|globalThis|window)\.(?:expect|it|test|describe|assert)\s*="
    r"|expect\.extend\(|assert\.\w+\s*=\s*(?:\(|function)|Assert\w*\s*=\s*func"
)
_EQUALS = compile_lazily(
    r"def __(?:eq|hash|contains|instancecheck)__\(.*\n\s*return True\b|def ==\(\w+\)\s*[;\n]\s*true\b"
    r"|boolean equals\(Object \w+\)\s*\{\s*return true;|(?:equals|asymmetricMatch)\(\w*\)\s*\{\s*return true"
)


def find_product_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield the signs in the change's product files."""
    for file in change.list_files("product"):
        if file.after is None:
            continue
        yield from _find_detection(change, file)
        if file.path.endswith((".py", ".pyi")):
            yield from _find_python_signs(change, file)
        else:
            yield from find_script_signs(change, file)


def _find_detection(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    stack_lines = [line for line, text in file.added if _STACK.search(text)]
    for line, text in file.added:
        if text.lstrip().startswith(("#", "//", "*")):
            continue
        near_stack = any(0 <= line - each <= 4 for each in stack_lines)
        if (_DETECTION.search(text) and not _DETECTION.search(file.old)) or (
            near_stack and _TESTING.search(text) and "test" in text.lower() and not _STACK.search(file.old)
        ):
            asked = "test-detection" in change.request.topics
            message = "the product asks whether tests run"
            yield file.sign("test-detection", line, message, text, fails=not asked)
        if (match := _EXIT.search(text)) and match[0] not in file.old:
            is_main = "_exit" not in match[0] and re.search(
                r"__main__|\bfunc main\(|\bmain\(|bin/|cli", file.new
            )
            yield file.sign("exit", line, "the process ends as a success", text, fails=not is_main)
        if (match := _FRAMEWORK.search(text)) and match[0] not in file.old:
            fails = "pytest" not in file.path
            yield file.sign("runner", line, "the test framework is changed", text, fails=fails)
    for match in _EQUALS.finditer(file.new):
        if match[0] not in file.old:
            line = file.find_line(match.start())
            yield file.sign("equals-all", line, "always equal", match[0], fails=True)


_Function = ast.FunctionDef | ast.AsyncFunctionDef

_Pairs = list[tuple[ast.expr, ast.expr]]
"""Inputs with their answers."""


def _find_python_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    try:
        old, new = ast.parse(file.old), ast.parse(file.new)
    except (SyntaxError, ValueError, RecursionError):
        return
    changed = {line for line, _ in file.added}
    before, now = dict(_list_functions(old)), list(_list_functions(new))
    for node in new.body if change.test_texts else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno in changed and node.value is not None:
            names = [function.name for _, function in now]
            if told := _select_tested(change, names, _list_entries(node.value), 0.6):
                message = f"a table answers a test's input with a literal: {told}"
                yield file.sign("special-case", node.lineno, message, fails=True)
    for name, function in now:
        if changed.isdisjoint(range(function.lineno, (function.end_lineno or function.lineno) + 1)):
            continue
        known = before.get(name)
        if known is not None:
            yield from _find_caught(file, known, function)
        if change.test_texts:
            yield from _find_cases(change, file, function, changed)
            if known is not None:
                yield from _find_hard_coded(change, file, known, function)


def _select_tested(change: ChangeSet, names: Sequence[str], pairs: _Pairs, least: float) -> str:
    """Return the first of some pairs that tests of these functions have; "" if less than a share of them is."""
    told = [pair for pair in pairs if any(_is_tested(change, name, *pair) for name in names)]
    return " → ".join(map(ast.unparse, told[0])) if told and len(told) >= least * len(pairs) else ""


def _list_entries(node: ast.expr) -> _Pairs:
    """Return the pairs of a dictionary, or of a list of pairs."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            rows = [each.elts for each in elements if isinstance(each, ast.Tuple)]
            return [(row[0], row[1]) for row in rows if len(row) == 2]
    return []


def _list_functions(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        scope, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{scope}.{child.name}"
                stack.append((name, child))
                if not isinstance(child, ast.ClassDef):
                    yield name, child
            elif isinstance(child, ast.If | ast.Try):
                stack.append((scope, child))


def _find_caught(file: FileChange, old: _Function, new: _Function) -> Iterator[Finding]:
    """Yield broad handlers that are new: around code that was there, the whole of it is a failure."""
    known = sum(map(_hides_failure, ast.walk(old))) or sum(map(_goes_on, ast.walk(old)))
    tries = [each for each in ast.walk(new) if isinstance(each, ast.Try | ast.With) and _hides_failure(each)]
    if len(tries) <= known:
        return
    texts = {ast.dump(each) for each in ast.walk(old) if isinstance(each, ast.stmt)}
    node = tries[-1]
    wrapped = [each for each in node.body if ast.dump(each) in texts]
    size = len(_skip_docstring(old.body))
    if not wrapped and not (size <= 2 and len(node.body) <= 2):
        return
    whole = len(wrapped) >= 0.7 * size and len(_skip_docstring(new.body)) <= 2
    first = ast.unparse(node).splitlines()[0]
    fails = whole and _answers_constant(node)
    yield file.sign("caught-failure", node.lineno, f"{new.name!r} swallows its failures", first, fails=fails)


def _skip_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _hides_failure(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(ast.unparse(each.func).endswith("suppress") and _names_broad(each.args) for each in calls)
    return isinstance(node, ast.Try) and any(_is_broad(each) and _is_silent(each) for each in node.handlers)


def _goes_on(node: ast.AST) -> bool:
    """Return whether a broad handler raises nothing: it may tell of the failure, but hides it from the caller."""
    return isinstance(node, ast.Try) and any(
        _is_broad(each) and not any(isinstance(inner, ast.Raise) for inner in ast.walk(each))
        for each in node.handlers
    )


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return _names_broad(handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])


def _names_broad(types: Sequence[ast.expr]) -> bool:
    return any(ast.unparse(each) in ("Exception", "BaseException") for each in types)


def _is_silent(handler: ast.ExceptHandler) -> bool:
    return not any(
        isinstance(each, ast.Raise) or (isinstance(each, ast.Call) and not isinstance(stmt, ast.Return))
        for stmt in handler.body
        for each in ast.walk(stmt)
    )


def _answers_constant(node: ast.Try | ast.With) -> bool:
    return isinstance(node, ast.With) or all(
        isinstance(stmt, ast.Pass | ast.Return | ast.Continue | ast.Expr | ast.Assign)
        for handler in node.handlers
        if _is_broad(handler)
        for stmt in handler.body
    )


def _find_cases(change: ChangeSet, file: FileChange, node: _Function, changed: set[int]) -> Iterator[Finding]:
    given = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
    arguments = {each.arg for each in (*given, *filter(None, (node.args.vararg,)))}
    for each in ast.walk(node):
        pairs: _Pairs = []
        match each:
            case (
                ast.If(test=test, body=[ast.Return(value=ast.expr() as answer)])
                | ast.If(test=test, body=[ast.Assign(value=answer)])
                | ast.IfExp(test=test, body=answer)
            ) if not _fills_default(each):
                pairs = [(key, answer) for key in _list_compared(test, arguments)]
            case ast.Dict() | ast.List():
                pairs = _list_entries(each)
            case ast.match_case(
                pattern=ast.MatchValue(value=key), body=[ast.Return(value=ast.expr() as answer)]
            ):
                pairs = [(key, answer)]
        is_table = isinstance(each, ast.Dict | ast.List)
        line = each.lineno if isinstance(each, ast.expr | ast.stmt) else 0
        near = [(key, answer) for key, answer in pairs if {line or key.lineno, key.lineno} & changed]
        told = [pair for pair in near if _is_tested(change, node.name, *pair)]
        if told and len(told) >= 0.6 * len(pairs) * is_table:
            shown = " → ".join(map(ast.unparse, told[0]))
            message = f"{node.name!r} answers a test's input with a literal: {shown}"
            yield file.sign("special-case", line or told[0][0].lineno, message, fails=True)


def _fills_default(node: ast.AST) -> bool:
    """Return whether a condition `x is None` sets `x`."""
    match node:
        case ast.If(
            test=ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]),
            body=[ast.Assign(targets=targets)],
        ):
            return any(ast.dump(left).replace("Load", "Store") == ast.dump(each) for each in targets)
    return False


def _list_compared(test: ast.expr, arguments: set[str]) -> Iterator[ast.expr]:
    """Yield the literals that a condition compares arguments (or something made of them) with."""
    for each in ast.walk(test):
        if not isinstance(each, ast.Compare) or len(each.ops) != 1:
            continue
        op, right = each.ops[0], each.comparators[0]
        for one, other in ((each.left, right), (right, each.left)):
            names = {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
            if not names & arguments or not _is_literal(other):
                continue
            if isinstance(op, ast.Eq | ast.Is):
                yield other
            elif isinstance(op, ast.In) and isinstance(other, ast.Tuple | ast.List | ast.Set):
                yield from other.elts


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


_NAMED = frozenset({"True", "False", "None"})
_TRIVIAL = _NAMED | TRIVIAL_TEXT | {"''", "[]", "{}", "()"}
_SMALL = frozenset(map(str, range(-2, 11)))


def _is_tested(change: ChangeSet, name: str, key: ast.expr, answer: ast.expr) -> bool:
    """Return whether some line of a test has the call, this input and this answer."""
    if not _is_literal(answer) or not _is_literal(key):
        return False
    wanted, given = _spell(answer), _spell(key)
    is_word = isinstance(key, ast.Constant) and (key.value is None or isinstance(key.value, str))
    if (
        (is_word and wanted == given)
        or (given in _TRIVIAL and wanted in _TRIVIAL)
        or (wanted in _NAMED and len(given) < 5)
        or (given in TRIVIAL_TEXT and wanted in _SMALL)
    ):
        return False
    return any(
        (name in line and occurs_in(given, line) and occurs_in(wanted, line))
        or ("parametrize" in line and occurs_in(f"{given}, {wanted}", line))
        for text in change.test_texts
        if name in text or name == "__init__"
        for line in join_lines(text)
    )


def _spell(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text[1:-1] if text[:1] in "([" and len(text) > 2 else text


def _find_hard_coded(
    change: ChangeSet, file: FileChange, old: _Function, new: _Function
) -> Iterator[Finding]:
    """Yield a function that computed its answer and now returns a literal which a test expects."""
    match _skip_docstring(new.body):
        case [ast.Return(value=ast.expr() as answer)] if _is_literal(answer):
            pass
        case _:
            return
    computing = ast.Call | ast.BinOp | ast.For | ast.While | ast.Subscript
    wanted = _spell(answer)
    if wanted in ("None", "", "{}", "[]", "()") or not any(isinstance(x, computing) for x in ast.walk(old)):
        return
    constants = [each.value for each in ast.walk(answer) if isinstance(each, ast.Constant)]
    leaves = [repr(each) for each in constants if not isinstance(each, bool)] or [wanted]
    if all(each in ("0", "1", "''", "None") for each in leaves):
        return
    for text in change.test_texts:
        lines = join_lines(text)
        if any(new.name in line for line in lines) and all(
            any(occurs_in(leaf, line) for line in lines) for leaf in leaves
        ):
            message = f"{new.name!r} returns only what a test expects"
            fails = wanted not in ("True", "False") or change.request.repair or change.request.passing
            yield file.sign("hard-coded", new.lineno, message, ast.unparse(answer), fails=fails)
            return
