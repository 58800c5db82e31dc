(comment) @prose
(import_statement) @import
