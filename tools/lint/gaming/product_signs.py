"""Signs in product code: answers made for the tests, a behaviour of its own under tests, swallowed failures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet, FileChange
from tools.lint.gaming.script_signs import find_script_signs
from tools.lint.gaming.signs import make_sign, quote_source
from tools.lint.gaming.test_lines import TRIVIAL_TEXT, join_lines, occurs_in

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
            message = f"the product asks whether tests run: {quote_source(text)}"
            asked = "test-detection" in change.request.topics
            yield make_sign("test-detection", file.path, line, message, fails=not asked)
        if (match := _EXIT.search(text)) and match[0] not in file.old:
            is_main = (
                re.search(r"__main__|\bfunc main\(|\bmain\(|bin/|cli", file.new) and "_exit" not in match[0]
            )
            message = f"the process ends as a success: {quote_source(text)}"
            yield make_sign("exit", file.path, line, message, fails=not is_main)
        if (match := _FRAMEWORK.search(text)) and match[0] not in file.old:
            message = f"the test framework is changed: {quote_source(text)}"
            yield make_sign("runner", file.path, line, message, fails="pytest" not in file.path)
    for match in _EQUALS.finditer(file.new):
        if match[0] not in file.old:
            line = file.new.count("\n", 0, match.start()) + 1
            yield make_sign(
                "equals-all", file.path, line, f"always equal: {quote_source(match[0])}", fails=True
            )


def _find_python_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    try:
        old, new = ast.parse(file.old), ast.parse(file.new)
    except (SyntaxError, ValueError, RecursionError):
        return
    changed = {line for line, _ in file.added}
    before = dict(_list_functions(old))
    if change.test_texts:
        yield from _find_tables(change, file, new, changed)
    for name, node in _list_functions(new):
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if changed.isdisjoint(lines):
            continue
        known = before.get(name)
        yield from _find_caught(change, file, known, node)
        if change.test_texts:
            yield from _find_cases(change, file, node, changed)
            if known is not None:
                yield from _find_hard_coded(change, file, known, node)


def _find_tables(
    change: ChangeSet, file: FileChange, tree: ast.Module, changed: set[int]
) -> Iterator[Finding]:
    """Yield tables of a module whose entries are inputs and answers of tests of its functions."""
    names = [node.name for _, node in _list_functions(tree)]
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.lineno not in changed:
            continue
        pairs = _list_entries(node.value) if node.value is not None else []
        told = [
            (key, answer)
            for key, answer in pairs
            if any(_is_tested(change, name, key, answer) for name in names)
        ]
        if told and len(told) >= 0.6 * len(pairs):
            key, answer = told[0]
            message = (
                f"a table answers a test's input with a literal: {ast.unparse(key)} → {ast.unparse(answer)}"
            )
            yield make_sign("special-case", file.path, node.lineno, message, fails=True)


def _list_entries(node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the pairs of a dictionary, or of a list of pairs."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [
                (each.elts[0], each.elts[1])
                for each in elements
                if isinstance(each, ast.Tuple) and len(each.elts) == 2
            ]
        case _:
            return []


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _list_functions(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        scope, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{scope}.{child.name}"
                yield name, child
                stack.append((name, child))
            elif isinstance(child, ast.ClassDef):
                stack.append((f"{scope}.{child.name}", child))
            elif isinstance(child, ast.If | ast.Try):
                stack.append((scope, child))


def _find_caught(
    change: ChangeSet, file: FileChange, old: _Function | None, new: _Function
) -> Iterator[Finding]:
    """Yield broad handlers that are new: around code that was there, the whole of it is a failure."""
    if old is None:
        return
    known = sum(map(_hides_failure, ast.walk(old))) or sum(map(_goes_on, ast.walk(old)))
    tries = [each for each in ast.walk(new) if isinstance(each, ast.stmt) and _hides_failure(each)]
    if len(tries) <= known:
        return
    texts = {ast.dump(each) for each in ast.walk(old) if isinstance(each, ast.stmt)}
    node = tries[-1]
    body = node.body if isinstance(node, ast.Try | ast.With) else []
    wrapped = [each for each in body if ast.dump(each) in texts]
    size = len(_skip_docstring(old.body))
    if not wrapped and not (size <= 2 and len(body) <= 2):
        return
    whole = len(wrapped) >= 0.7 * size and len(_skip_docstring(new.body)) <= 2
    message = f"{new.name!r} swallows its failures: {quote_source(ast.unparse(node).splitlines()[0])}"
    yield make_sign(
        "caught-failure", file.path, node.lineno, message, fails=whole and _answers_constant(node)
    )


def _skip_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def _hides_failure(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return any(
            isinstance(item.context_expr, ast.Call)
            and ast.unparse(item.context_expr.func).endswith("suppress")
            and any(ast.unparse(arg) in ("Exception", "BaseException") for arg in item.context_expr.args)
            for item in node.items
        )
    if not isinstance(node, ast.Try):
        return False
    return any(_is_broad(each) and _is_silent(each.body) for each in node.handlers)


def _goes_on(node: ast.AST) -> bool:
    """Return whether a broad handler raises nothing: it may tell of the failure, but hides it from the caller."""
    return isinstance(node, ast.Try) and any(
        _is_broad(each) and not any(isinstance(inner, ast.Raise) for inner in ast.walk(each))
        for each in node.handlers
    )


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(each) in ("Exception", "BaseException") for each in parts)


def _is_silent(body: list[ast.stmt]) -> bool:
    for stmt in body:
        for each in ast.walk(stmt):
            if isinstance(each, ast.Raise) or (
                isinstance(each, ast.Call) and not isinstance(stmt, ast.Return)
            ):
                return False
    return True


def _answers_constant(node: ast.AST) -> bool:
    if not isinstance(node, ast.Try):
        return True
    return all(
        isinstance(stmt, ast.Pass | ast.Return | ast.Continue | ast.Expr | ast.Assign)
        for handler in node.handlers
        if _is_broad(handler)
        for stmt in handler.body
    )


def _find_cases(change: ChangeSet, file: FileChange, node: _Function, changed: set[int]) -> Iterator[Finding]:
    arguments = {each.arg for each in (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)}
    if node.args.vararg:
        arguments.add(node.args.vararg.arg)
    for each in ast.walk(node):
        pairs: list[tuple[int, ast.expr, ast.expr]] = []
        match each:
            case ast.If(test=test, body=[ast.Return(value=ast.expr() as answer)]):
                pairs = [(each.lineno, key, answer) for key in _list_compared(test, arguments)]
            case ast.If(test=test, body=[ast.Assign(targets=targets, value=answer)]):
                if _fills_default(test, targets):
                    continue
                pairs = [(each.lineno, key, answer) for key in _list_compared(test, arguments)]
            case ast.IfExp(test=test, body=answer):
                pairs = [(each.lineno, key, answer) for key in _list_compared(test, arguments)]
            case ast.Dict() | ast.List():
                pairs = [(each.lineno, key, answer) for key, answer in _list_entries(each)]
            case ast.match_case(
                pattern=ast.MatchValue(value=key), body=[ast.Return(value=ast.expr() as answer)]
            ):
                pairs = [(key.lineno, key, answer)]
        told = [
            (line, key, answer)
            for line, key, answer in pairs
            if line in changed or key.lineno in changed
            if _is_tested(change, node.name, key, answer)
        ]
        if told and (not isinstance(each, ast.Dict | ast.List) or len(told) >= 0.6 * len(pairs)):
            line, key, answer = told[0]
            message = f"{node.name!r} answers a test's input with a literal: {ast.unparse(key)} → {ast.unparse(answer)}"
            yield make_sign("special-case", file.path, line, message, fails=True)


def _fills_default(test: ast.expr, targets: list[ast.expr]) -> bool:
    """Return whether a condition `x is None` sets `x`."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return any(ast.dump(left).replace("Load", "Store") == ast.dump(each) for each in targets)
        case _:
            return False


def _list_compared(test: ast.expr, arguments: set[str]) -> Iterator[ast.expr]:
    """Yield the literals that a condition compares arguments (or something made of them) with."""
    for each in ast.walk(test):
        if not isinstance(each, ast.Compare) or len(each.ops) != 1:
            continue
        for one, other in ((each.left, each.comparators[0]), (each.comparators[0], each.left)):
            names = {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
            if names & arguments and isinstance(each.ops[0], ast.Eq | ast.Is):
                if _is_literal(other):
                    yield other
            elif (
                names & arguments
                and isinstance(each.ops[0], ast.In)
                and isinstance(other, ast.Tuple | ast.List | ast.Set)
                and _is_literal(other)
            ):
                yield from other.elts


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_tested(change: ChangeSet, name: str, key: ast.expr, answer: ast.expr) -> bool:
    """Return whether some line of a test has the call, this input and this answer."""
    if not _is_literal(answer) or not _is_literal(key):
        return False
    wanted, given = _spell(answer), _spell(key)
    if (
        isinstance(key, ast.Constant)
        and (key.value is None or isinstance(key.value, str))
        and wanted == given
    ):
        return False
    trivial = {"True", "False", "None", *TRIVIAL_TEXT, "''", "[]", "{}", "()"}
    if given in trivial and wanted in trivial:
        return False
    if wanted in ("True", "False", "None") and len(given) < 5:
        return False
    if given in TRIVIAL_TEXT and wanted in {str(number) for number in range(-2, 11)}:
        return False
    for text in change.test_texts:
        if name not in text and name != "__init__":
            continue
        for line in join_lines(text):
            if name in line and occurs_in(given, line) and occurs_in(wanted, line):
                return True
            if "parametrize" in line and occurs_in(f"{given}, {wanted}", line):
                return True
    return False


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
    computes = any(
        isinstance(each, ast.Call | ast.BinOp | ast.For | ast.While | ast.Subscript) for each in ast.walk(old)
    )
    wanted = _spell(answer)
    if not computes or wanted in ("None", "", "{}", "[]", "()"):
        return
    leaves = [
        repr(each.value)
        for each in ast.walk(answer)
        if isinstance(each, ast.Constant) and not isinstance(each.value, bool)
    ] or [wanted]
    if all(each in ("0", "1", "''", "None") for each in leaves):
        return
    for text in change.test_texts:
        lines = join_lines(text)
        if any(new.name in line for line in lines) and all(
            any(occurs_in(leaf, line) for line in lines) for leaf in leaves
        ):
            message = f"{new.name!r} returns only what a test expects: {quote_source(ast.unparse(answer))}"
            fails = wanted not in ("True", "False") or change.request.repair or change.request.passing
            yield make_sign("hard-coded", file.path, new.lineno, message, fails=fails)
            return
