"""Definitions and uses that the index knows, against those that other tools know of the same files.

    python benchmarks/code_oracles.py FOLDER...

Oracles, each if it is there: Python's own parser; Universal Ctags (`ctags` on the PATH; definitions alone); Go's own
parser and type checker (`go` on the PATH); Java's compiler (a JDK's `java` on the PATH); Ruby's own parser (`ruby` on
the PATH); TypeScript's checker (`node` on the PATH, PATCHWRIGHT_TYPESCRIPT=…/node_modules/typescript); libclang (the
package `libclang`, in this environment or in the folder PATCHWRIGHT_LIBCLANG). Uses are those that the oracle resolves
to a definition in the folder, found when the index has the name on that line. Definitions are compared both ways: what
the oracle has and we miss, what we have and the oracle does not.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

Place = tuple[str, str, int]
"""A path, a name, a line."""


@dataclass(kw_only=True)
class Said:
    """What an oracle says. uses: None if it knows none; files: that it has read"""

    definitions: set[Place] = field(default_factory=set)
    uses: set[Place] | None = None
    files: set[str] = field(default_factory=set)


HEAD = 12
"""Lines from a definition's first to its name: decorators, return types."""


def python(root: Path, paths: list[str]) -> Said:
    said = Said(uses=set())
    assert said.uses is not None
    trees = {}
    for path in paths:
        if path.endswith(".py"):
            try:
                trees[path] = ast.parse((root / path).read_bytes())
            except (SyntaxError, ValueError):
                continue
    said.files = set(trees)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                said.definitions.add((path, node.name, node.lineno))
    names = {name for _, name, _ in said.definitions}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in names:
                said.uses.add((path, node.id, node.lineno))
            elif isinstance(node, ast.Attribute) and node.attr in names:
                said.uses.add((path, node.attr, node.end_lineno or node.lineno))
    return said


CTAGS_KINDS = frozenset(
    ["function", "func", "method", "class", "struct", "enum", "union", "interface", "trait", "singletonMethod",
     "object", "procedure", "generator"]
)  # fmt: skip


def ctags(root: Path, paths: list[str]) -> Said:
    done = subprocess.run(
        ["ctags", "--output-format=json", "--fields=+nKl", "--extras=-{anonymous}", "-L", "-", "-f", "-"],
        cwd=root, input="\n".join(paths), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip
    said = Said()
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if row.get("kind") in CTAGS_KINDS:
            name = str(row["name"]).split("::")[-1].split(".")[-1].split(":")[-1]
            # It takes `def thing.close` of Ruby for a definition of `thing`: what is defined is `close`.
            if aimed := re.search(rf"def {re.escape(name)}\.(\w+)", str(row.get("pattern", ""))):
                name = aimed[1]
            if name.isidentifier():
                said.definitions.add((row["path"], name, int(row["line"])))
            said.files.add(row["path"])
    return said


GO = """
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
)

type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) { return nil, os.ErrNotExist }

func main() {
	root, set := os.Args[1], token.NewFileSet()
	packages := map[string][]*ast.File{}
	definitions, uses, files := [][]any{}, [][]any{}, []string{}
	place := func(name string, at token.Pos) []any {
		where := set.Position(at)
		path, _ := filepath.Rel(root, where.Filename)
		return []any{path, name, where.Line}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		file, err := parser.ParseFile(set, filepath.Join(root, lines.Text()), nil, 0)
		if err != nil {
			continue
		}
		files = append(files, lines.Text())
		key := filepath.Dir(lines.Text()) + " " + file.Name.Name
		packages[key] = append(packages[key], file)
		ast.Inspect(file, func(node ast.Node) bool {
			switch each := node.(type) {
			case *ast.FuncDecl:
				definitions = append(definitions, place(each.Name.Name, each.Name.Pos()))
			case *ast.TypeSpec:
				definitions = append(definitions, place(each.Name.Name, each.Name.Pos()))
			}
			return true
		})
	}
	for key, parsed := range packages {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		check := types.Config{Importer: nothing{}, Error: func(error) {}}
		check.Check(key, set, parsed, info)
		for ident, object := range info.Uses {
			_, function := object.(*types.Func)
			named, kind := object.(*types.TypeName)
			if object.Pos().IsValid() && (function || kind && named.Parent() == named.Pkg().Scope()) {
				uses = append(uses, place(ident.Name, ident.Pos()))
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"definitions": definitions, "uses": uses, "files": files})
}
"""


def go(root: Path, paths: list[str]) -> Said:
    """Uses are those that lead to the same package: nothing that it imports is looked for."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "main.go"
        program.write_text(GO)
        done = subprocess.run(
            ["go", "run", str(program), str(root)],
            cwd=folder, input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return _said(json.loads(done.stdout))


def _said(rows: dict[str, Any]) -> Said:
    return Said(
        definitions={tuple(each) for each in rows["definitions"]},
        uses={tuple(each) for each in rows["uses"]},
        files=set(rows["files"]),
    )


def java(root: Path, paths: list[str]) -> Said:
    from oracle_java import asked

    return _said(asked(root, paths))


def ruby(root: Path, paths: list[str]) -> Said:
    from oracle_ruby import asked

    return _said(asked(root, paths))


TYPESCRIPT = """
const ts = require(process.argv[2]), fs = require("fs"), path = require("path");
const root = fs.realpathSync(process.argv[3]);
const files = fs.readFileSync(0, "utf8").split("\\n").filter(Boolean).map(each => path.join(root, each));
const options = {allowJs: true, noResolve: false, noLib: true, types: [], jsx: ts.JsxEmit.Preserve,
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
  maxNodeModuleJsDepth: 0};
const program = ts.createProgram(files, options), checker = program.getTypeChecker();
const own = new Set(files), out = {definitions: [], uses: [], files: []};
const value = node => node && (ts.isFunctionExpression(node) || ts.isArrowFunction(node) || ts.isClassExpression(node));
const assigned = node => ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
  value(node.right) && ts.isPropertyAccessExpression(node.left);
const defines = node => ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) ||
  ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node) || ts.isTypeAliasDeclaration(node) ||
  ts.isMethodSignature(node) || (ts.isVariableDeclaration(node) && value(node.initializer)) ||
  (ts.isPropertyDeclaration(node) && value(node.initializer)) ||
  (ts.isPropertyAssignment(node) && value(node.initializer)) || ts.isModuleDeclaration(node) ||
  ts.isGetAccessor(node) || ts.isSetAccessor(node);
for (const source of program.getSourceFiles()) {
  if (!own.has(source.fileName)) continue;
  const name = path.relative(root, source.fileName);
  out.files.push(name);
  const line = node => source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  const visit = node => {
    if (defines(node) && node.name && ts.isIdentifier(node.name))
      out.definitions.push([name, node.name.text, line(node.name)]);
    if (assigned(node)) out.definitions.push([name, node.left.name.text, line(node.left.name)]);
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      const real = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const there = real && real.declarations && real.declarations.find(each => own.has(each.getSourceFile().fileName));
      if (there && defines(there) && there.name !== node) out.uses.push([name, node.text, line(node)]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
console.log(JSON.stringify(out));
"""


def typescript(root: Path, paths: list[str]) -> Said:
    where = os.environ["PATCHWRIGHT_TYPESCRIPT"]
    wanted = [path for path in paths if path.endswith((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx"))]
    done = subprocess.run(
        ["node", "-e", TYPESCRIPT, "-", where, str(root)],
        input="\n".join(wanted), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return _said(json.loads(done.stdout))


def libclang(root: Path, paths: list[str]) -> Said:
    from clang.cindex import Config, Cursor, CursorKind, Index, TranslationUnitLoadError

    if (library := os.environ.get("PATCHWRIGHT_LIBCLANG")) and not Config.loaded:
        Config.set_library_path(str(Path(library) / "clang/native"))
    kinds = {
        CursorKind.FUNCTION_DECL, CursorKind.STRUCT_DECL, CursorKind.UNION_DECL, CursorKind.ENUM_DECL,
        CursorKind.CLASS_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR,
        CursorKind.FUNCTION_TEMPLATE, CursorKind.CLASS_TEMPLATE,
    }  # fmt: skip
    said = Said(uses=set())
    assert said.uses is not None
    folders = sorted({str(Path(path).parent) for path in paths if path.endswith((".h", ".hpp"))})
    options = [f"-I{root / folder}" for folder in folders] + ["-D_GNU_SOURCE"]
    if shutil.which("cc"):  # the wheel of libclang lacks the compiler's own headers (stddef.h)
        own = subprocess.run(
            ["cc", "-print-file-name=include"], stdout=subprocess.PIPE, text=True, check=True
        )
        options += ["-isystem", own.stdout.strip()]
    index = Index.create()
    texts: dict[str, list[str]] = {}

    def place(cursor: Cursor) -> Place | None:
        """Where the name itself stands; None outside of the folder and for what a macro wrote."""
        if cursor.location.file is None or not (name := cursor.spelling.split("<")[0]):
            return None
        path = os.path.relpath(cursor.location.file.name, root)
        if path.startswith(".."):
            return None
        if path not in texts:
            texts[path] = (root / path).read_text("utf-8", "replace").split("\n")
        line = cursor.location.line
        return (path, name, line) if line <= len(texts[path]) and name in texts[path][line - 1] else None

    def walk(cursor: Cursor) -> None:
        assert said.uses is not None
        for each in cursor.get_children():
            at = place(each)
            if each.location.file is not None and os.path.relpath(each.location.file.name, root).startswith(
                ".."
            ):
                continue  # a header of the system
            if each.kind in kinds and each.is_definition() and at and each.spelling.isidentifier():
                said.definitions.add(at)
            elif each.kind.is_reference() or each.kind in (
                CursorKind.DECL_REF_EXPR,
                CursorKind.MEMBER_REF_EXPR,
            ):
                aim = each.referenced
                if at and aim is not None and aim.kind in kinds and place(aim):
                    bare = aim.spelling.split("<")[0]
                    if bare in texts[at[0]][at[2] - 1]:
                        said.uses.add((at[0], bare, at[2]))
            walk(each)

    for path in paths:
        if path.endswith((".c", ".cc", ".cpp", ".cxx")):
            try:
                unit = index.parse(str(root / path), args=options)
            except TranslationUnitLoadError:
                continue
            said.files.add(path)
            walk(unit.cursor)
    return said


def oracles() -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Name, function, and the endings of files that it is asked about."""
    yield "python ast", python, (".py",)
    if shutil.which("ctags"):
        yield "ctags", ctags, ()
    if shutil.which("go"):
        yield "go", go, (".go",)
    if shutil.which("javac"):
        yield "java", java, (".java",)
    if shutil.which("ruby"):
        yield "ruby", ruby, (".rb",)
    if shutil.which("node") and os.environ.get("PATCHWRIGHT_TYPESCRIPT"):
        yield "typescript", typescript, (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
    if library := os.environ.get("PATCHWRIGHT_LIBCLANG"):
        sys.path.append(library)
    if importlib.util.find_spec("clang") is not None:
        yield "libclang", libclang, (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp")


VALUES = frozenset({"variable", "object", "namespace", "module", "type", "macro", "property", "given"})
"""Kinds that not every oracle knows: left out where ours are looked for in it."""


def compare(root: Path, said: Said, index: Any, endings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    by_language: dict[str, Counter[str]] = {}
    outlines = index.outlines(list(index.paths))
    uses = {path: index.uses(path) for path in index.paths}
    missing: dict[str, list[Place]] = {}
    for path, name, line in sorted(said.definitions):
        if path in outlines and outlines[path].symbols and (not endings or path.endswith(endings)):
            count = by_language.setdefault(outlines[path].language, Counter())
            there = any(
                each.short.lstrip("#~") == name.lstrip("~") and each.first <= line <= each.first + HEAD
                for each in outlines[path].symbols
            )
            count["definitions"] += 1
            count["found"] += there
            if not there:
                missing.setdefault(outlines[path].language, []).append((path, name, line))
    for path in said.files & outlines.keys():
        known = {(name, line) for at, name, line in said.definitions if at == path}
        for each in outlines[path].symbols:
            if each.kind not in VALUES and (not endings or path.endswith(endings)):
                count = by_language.setdefault(outlines[path].language, Counter())
                count["ours"] += 1
                count["right"] += any((each.short, each.first + at) in known for at in range(HEAD + 1))
    for path, name, line in said.uses or ():
        if path in uses:
            count = by_language.setdefault(outlines[path].language, Counter())
            count["uses"] += 1
            there = line in {mark >> 1 for mark in uses[path].get(name, ())}
            count["seen"] += there
            if not there:
                missing.setdefault(outlines[path].language + " uses", []).append((path, name, line))
    for language, count in sorted(by_language.items()):
        found = f"{count['found']:6}/{count['definitions']:<6} {share(count['found'], count['definitions'])}"
        right = f"{count['right']:6}/{count['ours']:<6} {share(count['right'], count['ours'])}"
        seen = (
            f"{count['seen']:7}/{count['uses']:<7} {share(count['seen'], count['uses'])}"
            if count["uses"]
            else ""
        )
        yield language, f"{found}   {right}   {seen}"
    if os.environ.get("PATCHWRIGHT_SHOW_MISSING"):
        for kind, places in missing.items():
            print(kind, *(f"\n    {path}:{line} {name}" for path, name, line in places[:15]))


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else "      "


def main() -> None:
    from tools.code.index.code_index import Index

    folders = [Path(each).resolve() for each in sys.argv[1:]]
    if not folders:
        print("skipped: name folders (see the top of the file)")
        return
    print(f"{'':38} {'definitions found':>22}   {'ours that are right':>22}   {'uses found':>24}")
    for root in folders:
        with Index(root, None) as index:
            index.refresh()
            for name, oracle, endings in oracles():
                wanted = [path for path in index.code if not endings or path.endswith(endings)]
                if wanted:
                    for language, line in compare(root, oracle(root, wanted), index, endings):
                        print(f"{root.name:18} {name:10} {language:9} {line}", flush=True)


if __name__ == "__main__":
    main()
