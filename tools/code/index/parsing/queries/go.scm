(comment) @prose
(interpreted_string_literal_content) @prose
(raw_string_literal_content) @prose
(import_spec) @import
(source_file (const_declaration (const_spec name: (identifier) @variable)))
(source_file (var_declaration (var_spec name: (identifier) @variable)))
