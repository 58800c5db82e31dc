(comment) @prose
(multiline_comment) @prose
(line_str_text) @prose
(multi_line_str_text) @prose
(raw_str_part) @prose
(raw_str_end_part) @prose
(import_declaration) @import
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @variable)))
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @variable)))
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @variable)))
(enum_entry name: (simple_identifier) @variable)
