(comment) @prose
(string_content) @prose
(import_statement) @import
(import_from_statement) @import
(module (expression_statement (assignment left: (identifier) @variable)))
(class_definition body: (block (expression_statement (assignment left: (identifier) @variable))))
