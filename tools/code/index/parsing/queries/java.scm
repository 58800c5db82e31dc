(line_comment) @prose
(block_comment) @prose
(string_fragment) @prose
(import_declaration) @import
(field_declaration declarator: (variable_declarator name: (identifier) @variable))
