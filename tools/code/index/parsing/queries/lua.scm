(comment) @prose
(string_content) @prose
(function_call name: (identifier) @_f (#any-of? @_f "require" "dofile" "loadfile")) @import
(chunk (assignment_statement (variable_list name: (identifier) @variable)))
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @variable))))
