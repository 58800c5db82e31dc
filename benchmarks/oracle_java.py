"""What Java's own compiler knows of definitions and uses, for `code_oracles.py`. Needs a JDK, 17 or later."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

JAVA = """
import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.*;
import javax.tools.*;

public class Oracle {
  static final StringBuilder definitions = new StringBuilder(), uses = new StringBuilder(), files = new StringBuilder();

  static void add(StringBuilder to, String row) {
    to.append(to.length() == 0 ? "" : ",").append(row);
  }

  static String quoted(String text) {
    return '"' + text.replace("\\\\", "\\\\\\\\").replace("\\"", "\\\\\\"") + '"';
  }

  static String place(String path, CharSequence name, long line) {
    return "[" + quoted(path) + "," + quoted(name.toString()) + "," + line + "]";
  }

  public static void main(String[] arguments) throws Exception {
    Path root = Path.of(arguments[0]).toRealPath();
    List<Path> paths = new ArrayList<>();
    for (String line; (line = Console.next()) != null; ) paths.add(root.resolve(line));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
    List<String> options = List.of("-proc:none", "-Xmaxerrs", "1", "-XDshould-stop.ifError=FLOW");
    JavacTask task = (JavacTask) compiler.getTask(
        null, manager, problem -> {}, options, null, manager.getJavaFileObjectsFromPaths(paths));
    Trees trees = Trees.instance(task);
    SourcePositions positions = trees.getSourcePositions();
    Set<CompilationUnitTree> own = new LinkedHashSet<>();
    for (CompilationUnitTree unit : task.parse()) {
      own.add(unit);
      String path = root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
      add(files, quoted(path));
      new TreeScanner<Void, String>() {
        void defined(Tree tree, CharSequence name) {
          long at = positions.getStartPosition(unit, tree);
          if (name.length() > 0) add(definitions, place(path, name, unit.getLineMap().getLineNumber(at)));
        }

        @Override public Void visitClass(ClassTree tree, String around) {
          defined(tree, tree.getSimpleName());
          return super.visitClass(tree, tree.getSimpleName().toString());
        }

        @Override public Void visitMethod(MethodTree tree, String around) {
          defined(tree, tree.getName().contentEquals("<init>") ? around : tree.getName());
          return super.visitMethod(tree, around);
        }
      }.scan(unit, "");
    }
    task.analyze();
    for (CompilationUnitTree unit : own) {
      String path = root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
      new TreePathScanner<Void, Void>() {
        void used(CharSequence name, long at) {
          Element element = trees.getElement(getCurrentPath());
          if (element == null || at < 0) return;
          boolean kind = element.getKind() == ElementKind.METHOD
              || (element.getKind().isClass() || element.getKind().isInterface());
          if (!kind || !element.getSimpleName().contentEquals(name)) return;
          TreePath there = trees.getPath(element);
          if (there != null && own.contains(there.getCompilationUnit()))
            add(uses, place(path, name, unit.getLineMap().getLineNumber(at)));
        }

        @Override public Void visitIdentifier(IdentifierTree tree, Void nothing) {
          used(tree.getName(), positions.getStartPosition(unit, tree));
          return super.visitIdentifier(tree, nothing);
        }

        @Override public Void visitMemberSelect(MemberSelectTree tree, Void nothing) {
          used(tree.getIdentifier(), positions.getEndPosition(unit, tree) - 1);
          return super.visitMemberSelect(tree, nothing);
        }

        @Override public Void visitMemberReference(MemberReferenceTree tree, Void nothing) {
          used(tree.getName(), positions.getEndPosition(unit, tree) - 1);
          return super.visitMemberReference(tree, nothing);
        }
      }.scan(unit, null);
    }
    System.out.println("[[" + definitions + "],[" + uses + "],[" + files + "]]");
  }

  static class Console {
    static final Scanner in = new Scanner(System.in, "UTF-8");

    static String next() {
      return in.hasNextLine() ? in.nextLine() : null;
    }
  }
}
"""


def asked(root: Path, paths: list[str]) -> dict[str, Any]:
    """Rows of definitions, uses and files. What the folder imports from elsewhere is not there, nor looked for."""
    wanted = [path for path in paths if path.endswith(".java") and not path.endswith("module-info.java")]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "Oracle.java"
        program.write_text(JAVA)
        done = subprocess.run(
            ["java", "-Dfile.encoding=UTF-8", str(program), str(root)],
            input="\n".join(wanted), stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    rows: dict[str, Any] = dict(zip(("definitions", "uses", "files"), json.loads(done.stdout), strict=True))
    lines = {path: (root / path).read_text("utf-8", "replace").split("\n") for path in rows["files"]}
    # The compiler adds names that nobody wrote: `value` in @Since(1.0), the types of an enum's own methods.
    rows["uses"] = [[path, name, line] for path, name, line in rows["uses"] if name in lines[path][line - 1]]
    return rows
