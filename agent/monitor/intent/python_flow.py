"""Data flow of a Python program: what its statements read, write and send, and the variables that connect them."""

from __future__ import annotations

import ast
import itertools
import posixpath
import shlex
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from agent.monitor.intent.command_roles import EVALUATING
from agent.monitor.intent.programs import NETWORK_MODULES, RUNNING_CALLS
from sandbox.policy.shell.commands.path_effects import create_classifier
from sandbox.policy.shell.data_flow import Flow, trace_command_line
from sandbox.policy.shell.parsing.expansion import make_static_arg
from sandbox.policy.shell.parsing.syntax import parse_word_set
from sandbox.secrets.child_environment import find_home

MAX_CODE = 100_000
"""Characters of a program that is followed."""

MAX_FLOWS = 400
"""Statements of a program that are followed."""

KERNEL = "python:"
"""Prefix of the names of variables that a kernel keeps from block to block, used like paths."""

_READING = frozenset(("read_text", "read_bytes", "readlines"))
_WRITING = frozenset(("write_text", "write_bytes"))
_COPYING = parse_word_set("""
    shutil.copy shutil.copy2 shutil.copyfile shutil.move os.rename os.replace shutil.copytree
""")
_READERS = parse_word_set("""
    dotenv.load_dotenv dotenv.dotenv_values load_dotenv dotenv_values read shutil.make_archive
""")
_EVALUATING = frozenset(("exec", "eval", "marshal.loads", "pickle.loads"))
_REMOVING = frozenset(("os.remove", "os.unlink", "shutil.rmtree", "os.rmdir"))


def trace_python(
    code: str, *, root: Path, keeps_variables: bool = False, connections: Iterable[str] = ()
) -> list[Flow]:
    """Return the flows of a program's statements; [] if it does not parse.

    keeps_variables: it runs in a kernel: variables of other blocks are read, and its own are kept
    connections: names of those that talk to other machines: clients, sockets, functions
    """
    if len(code) > MAX_CODE:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes and the like in the code of others
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    program = _Program(root, keeps_variables, connections)
    try:
        program.trace_body(tree.body)
    except RecursionError:  # nested beyond what a person writes
        return []
    return program.finish()


class _Program:
    def __init__(self, root: Path, keeps_variables: bool, connections: Iterable[str]) -> None:
        self.flows: list[Flow] = []
        self._root = root
        self._keeps = keeps_variables
        self._places = create_classifier(root, None)
        self._modules: dict[str, str] = {}  # name → what was imported under it
        self._values: dict[str, list[str]] = {}  # name → texts that it may be
        self._givers: dict[str, set[int]] = {}  # name → flows that it may hold results of
        self._files: dict[str, set[str]] = {}  # name of an open file → paths that writing to it changes
        self._connections = set(connections)  # names of sockets, clients and sessions
        self._bodies: dict[str, list[int]] = {}  # function → flows of its body

    def finish(self) -> list[Flow]:
        """Return the flows; with the variables of a kernel as paths."""
        if not self._keeps:
            return self.flows
        kept: dict[int, set[str]] = {}
        for name, givers in self._givers.items():
            for number in givers:
                kept.setdefault(number, set()).add(KERNEL + name)
        return [
            replace(flow, writes=flow.writes | frozenset(kept.get(number, ())))
            for number, flow in enumerate(self.flows)
        ]

    def trace_body(self, body: Iterable[ast.stmt]) -> None:
        """Add the flows of statements, in their order."""
        for statement in body:
            if len(self.flows) >= MAX_FLOWS:
                return
            self._trace_statement(statement)

    def _trace_statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._bind_imports(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = len(self.flows)
                self.trace_body(statement.body)
                numbers = list(range(first, len(self.flows)))
                self._bodies[statement.name] = numbers
                self._givers.setdefault(statement.name, set()).update(numbers)
            case ast.For() | ast.AsyncFor():
                self._add_flow(statement, [statement.iter], [statement.target])
                self._bind_values(statement.target, statement.iter)
                self.trace_body([*statement.body, *statement.orelse])
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    targets = [item.optional_vars] if item.optional_vars is not None else []
                    self._add_flow(statement, [item.context_expr], targets)
                self.trace_body(statement.body)
            case ast.If() | ast.While():
                self._add_flow(statement, [statement.test], [])
                self.trace_body([*statement.body, *statement.orelse])
            case ast.Try():
                handlers = itertools.chain.from_iterable(each.body for each in statement.handlers)
                self.trace_body([*statement.body, *handlers, *statement.orelse, *statement.finalbody])
            case ast.Assign():
                self._add_flow(statement, [statement.value], statement.targets)
                for target in statement.targets:
                    self._bind_values(target, statement.value)
            case ast.AnnAssign() | ast.AugAssign():
                if statement.value is not None:
                    self._add_flow(statement, [statement.value], [statement.target])
                    self._bind_values(statement.target, statement.value)
            case _:
                self._add_flow(statement, [statement], [])

    # ── One statement ────────────────────────────────────────────────────────────────────────────

    def _add_flow(self, statement: ast.stmt, parts: list[ast.AST], targets: list[ast.expr]) -> None:
        number = len(self.flows)
        self.flows.append(Flow(text=_write_first_line(statement), program="python"))
        used = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
        reads, writes, hosts, network = set[str](), set[str](), list[str](), False
        inner = set[int]()
        program = "python"
        for call in (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)):
            name = self._get_dotted_name(call.func)
            if name in RUNNING_CALLS:
                inner |= self._trace_command(call, number)
            if name in _EVALUATING:
                program = EVALUATING
            self._collect_file_effects(call, name, targets, reads, writes)
            if self._is_network_call(name, call):
                network = True
                hosts += [value for arg in call.args[:2] for value in self._evaluate(arg)]
            for function in {name, name.rpartition(".")[2]} & self._bodies.keys():
                for each in self._bodies[function]:  # its body is given the arguments
                    self.flows[each] = replace(self.flows[each], sources=self.flows[each].sources | {number})
        if self._keeps:
            reads |= {KERNEL + name for name in used if name not in self._givers}
        sources = {giver for name in used for giver in self._givers.get(name, ())} | inner
        self.flows[number] = replace(
            self.flows[number],
            program=program,
            reads=frozenset(reads),
            writes=frozenset(writes),
            hosts=tuple(hosts),
            network=network,
            sources=frozenset(sources - {number}),
        )
        for name in self._list_changed_names(statement, targets):
            self._givers.setdefault(name, set()).add(number)
            if network:
                self._connections.add(name)

    def _collect_file_effects(
        self, call: ast.Call, name: str, targets: list[ast.expr], reads: set[str], writes: set[str]
    ) -> None:
        first = self._evaluate(call.args[0]) if call.args else []
        method = name.rpartition(".")[2]
        owner = self._evaluate(call.func.value) if isinstance(call.func, ast.Attribute) else []
        if name in ("open", "io.open", "codecs.open", "os.open") or (method == "open" and owner):
            paths = first if name.endswith("open") and not owner else owner
            mode = call.args[1 if not owner else 0] if len(call.args) > (0 if owner else 1) else None
            mode = next((each.value for each in call.keywords if each.arg == "mode"), mode)
            modes = self._evaluate(mode) if mode is not None else ["r"]
            if any(set("wax+") & set(each) for each in modes):
                writes |= self._resolve(paths)
                for target in targets:
                    if isinstance(target, ast.Name):
                        self._files[target.id] = self._resolve(paths)
            else:
                reads |= self._resolve(paths)
        elif method in _READING and owner:
            reads |= self._resolve(owner)
        elif method in _WRITING and owner:
            writes |= self._resolve(owner)
        elif name in _COPYING and len(call.args) > 1:
            reads |= self._resolve(first)
            writes |= self._resolve(self._evaluate(call.args[1]))
        elif name in _READERS:
            reads |= self._resolve(first or ([".env"] if "dotenv" in name else []))
        elif name == "write" or name in _REMOVING:
            writes |= self._resolve(first)
        elif name == "urllib.request.urlretrieve" and len(call.args) > 1:
            writes |= self._resolve(self._evaluate(call.args[1]))
        for used in (*call.args, call.func.value if isinstance(call.func, ast.Attribute) else None):
            if isinstance(used, ast.Name):
                writes |= self._files.get(used.id, set())

    def _trace_command(self, call: ast.Call, number: int) -> set[int]:
        """Add the flows of a command line that the program runs; return their places."""
        if not call.args:
            return set()
        line, is_dynamic = self._compose_command(call.args[0])
        base = len(self.flows)
        for each in trace_command_line(line, root=self._root)[:MAX_FLOWS]:
            moved = frozenset(base + source for source in each.sources)
            self.flows.append(replace(each, sources=moved | ({number} if is_dynamic else frozenset())))
        return set(range(base, len(self.flows)))

    def _compose_command(self, node: ast.expr) -> tuple[str, bool]:
        """Return a command line, with variables for its unknown parts, and whether it has some."""
        if isinstance(node, ast.List | ast.Tuple):
            parts = [self._evaluate(each)[:1] for each in node.elts]
            line = " ".join(shlex.quote(each[0]) if each else '"$unknown"' for each in parts)
            return line, not all(parts)
        if known := self._evaluate(node):
            return known[0], False
        if isinstance(node, ast.JoinedStr):
            texts = [value[0] if (value := self._evaluate(each)) else "$unknown" for each in node.values]
            return "".join(texts), True
        if isinstance(node, ast.BinOp):
            left, right = self._compose_command(node.left), self._compose_command(node.right)
            return left[0] + right[0], True
        return "$unknown", True

    # ── Names and values ─────────────────────────────────────────────────────────────────────────

    def _bind_imports(self, statement: ast.Import | ast.ImportFrom) -> None:
        prefix = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
        for each in statement.names:
            name = each.asname or (each.name if prefix else each.name.partition(".")[0])
            self._modules[name] = prefix + each.name if each.asname or prefix else name

    def _bind_values(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            return
        if isinstance(value, ast.List | ast.Tuple | ast.Set):
            self._values[target.id] = [text for each in value.elts for text in self._evaluate(each)]
        else:
            self._values[target.id] = self._evaluate(value)
        if isinstance(value, ast.Name | ast.Attribute) and (name := self._get_dotted_name(value)):
            self._modules[target.id] = name
        if isinstance(value, ast.Call) and self._get_dotted_name(value) in NETWORK_MODULES:
            self._modules[target.id] = self._get_dotted_name(value)

    def _list_changed_names(self, statement: ast.stmt, targets: list[ast.expr]) -> Iterator[str]:
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                yield name  # a method may change its object
            case ast.Expr(value=ast.Await(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name))))):
                yield name

    def _is_network_call(self, name: str, call: ast.Call) -> bool:
        if any(name == each or name.startswith(f"{each}.") for each in NETWORK_MODULES):
            return True
        match call.func:
            case ast.Attribute(value=ast.Name(id=owner)) | ast.Name(id=owner):
                return owner in self._connections
        return False

    def _get_dotted_name(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return self._modules.get(name, name)
            case ast.Attribute(value=value, attr=attr):
                return f"{self._get_dotted_name(value)}.{attr}"
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, attr, *_]):
                return f"{self._get_dotted_name(owner)}.{(self._evaluate(attr) or ['?'])[0]}"
            case ast.Call(func=func, args=[name, *_]) if self._get_dotted_name(func) in (
                "__import__",
                "importlib.import_module",
            ):
                return (self._evaluate(name) or ["?"])[0]
            case ast.Call(func=func):
                return self._get_dotted_name(func)
        return "?"

    def _evaluate(self, node: ast.expr) -> list[str]:
        """Return the texts that an expression may be, as far as its parts are known."""
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Constant(value=bytes(raw)):
                return [raw.decode("utf-8", "replace")]
            case ast.Name(id=name):
                return self._values.get(name, [])
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return [text for each in elts for text in self._evaluate(each)]
            case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
                joint = "/" if isinstance(op, ast.Div) else ""
                pairs = itertools.product(self._evaluate(left)[:8], self._evaluate(right)[:8])
                return [posixpath.join(a, b) if joint else a + b for a, b in pairs]
            case ast.JoinedStr(values=values):
                found = [self._evaluate(each)[:4] for each in values]
                return ["".join(each) for each in itertools.islice(itertools.product(*found), 16)]
            case ast.FormattedValue(value=value):
                return self._evaluate(value)
            case ast.Call(func=func, args=args):
                return self._evaluate_call(self._get_dotted_name(func), func, args)
        return []

    def _evaluate_call(self, name: str, func: ast.expr, args: list[ast.expr]) -> list[str]:
        if name in ("pathlib.Path.home", "Path.home"):
            return [str(find_home())]
        if name in ("pathlib.Path", "Path", "os.path.join", "pathlib.PurePath"):
            found = [self._evaluate(each)[:4] for each in args]
            return [posixpath.join(*each) for each in itertools.islice(itertools.product(*found), 16) if each]
        if name in ("str", "os.fspath", "os.path.expanduser", "os.path.abspath", "open"):
            return [_expand_home(each) for arg in args[:1] for each in self._evaluate(arg)]
        if name == "chr" or not isinstance(func, ast.Attribute):
            return []
        if func.attr in ("expanduser", "resolve", "absolute", "strip", "as_posix"):
            return [_expand_home(each) for each in self._evaluate(func.value)]
        if func.attr == "join":
            return ["".join(self._evaluate(arg)) for arg in args[:1]]
        return []

    def _resolve(self, texts: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for text in texts:
            if text and "\0" not in text and len(text) < 4_096:
                found.update(self._places.classify_read(make_static_arg(_expand_home(text))).paths)
        return found


def _expand_home(text: str) -> str:
    return f"{find_home()}{text[1:]}" if text == "~" or text.startswith("~/") else text


def _write_first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).partition("\n")[0]
