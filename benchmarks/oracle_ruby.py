"""What Ruby's own parser (Ripper) says of files: where things are defined, and where code names them.

Ruby binds names as it runs. So a use is a name in the place of a call or of a constant that something in the folder
defines, as with Python's parser.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = r"""
require "json"
require "ripper"

root = ARGV[0]
out = {definitions: [], named: [], files: []}
STDIN.each_line(chomp: true) do |path|
  tree = Ripper.sexp(File.read(File.join(root, path), encoding: "UTF-8")) rescue nil
  next if tree.nil?
  out[:files] << path
  token = ->(node, into) do
    return unless node.is_a?(Array) && node[0].is_a?(Symbol) && node[0].to_s.start_with?("@")
    out[into] << [path, node[1], node[2][0]] if %i[@ident @const].include?(node[0])
  end
  visit = ->(node) do
    next unless node.is_a?(Array)
    case node[0]
    when :def then token.(node[1], :definitions)
    when :defs then token.(node[3], :definitions)
    when :class, :module then token.(node[1][-1], :definitions)
    when :vcall, :fcall, :command then token.(node[1], :named)
    when :call, :command_call then token.(node[3], :named)
    when :var_ref, :top_const_ref then token.(node[1], :named) if node[1].is_a?(Array) && node[1][0] == :@const
    when :const_path_ref then token.(node[2], :named)
    end
    node.each { |inner| visit.(inner) }
  end
  visit.(tree)
end
puts JSON.dump(out)
"""


def asked(root: Path, paths: list[str]) -> dict[str, Any]:
    """Definitions, uses of what the folder defines, and the files that the parser understood."""
    done = subprocess.run(
        ["ruby", "-e", PROGRAM, str(root)],
        input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    rows: dict[str, Any] = json.loads(done.stdout)
    names = {name for _, name, _ in rows["definitions"]}
    return {**rows, "uses": [place for place in rows["named"] if place[1] in names]}
