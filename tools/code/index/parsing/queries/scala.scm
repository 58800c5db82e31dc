(comment) @prose
(block_comment) @prose
(string) @prose
(interpolated_string) @prose
(interpolation) @hole
(import_declaration) @import
(compilation_unit (val_definition pattern: (identifier) @variable))
(compilation_unit (var_definition pattern: (identifier) @variable))
(template_body (val_definition pattern: (identifier) @variable))
(template_body (var_definition pattern: (identifier) @variable))
(template_body (val_declaration name: (identifier) @variable))
(simple_enum_case name: (identifier) @variable)
(full_enum_case name: (identifier) @variable)
