(comment) @prose
(string_fragment) @prose
(regex_pattern) @prose
(jsx_text) @prose
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: [(identifier) (import)] @_f arguments: (arguments . (string)) (#any-of? @_f "require" "import")) @import
(program (lexical_declaration (variable_declarator name: (identifier) @variable)))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @variable))))
