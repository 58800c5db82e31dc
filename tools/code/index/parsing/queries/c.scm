(comment) @prose
(string_content) @prose
(preproc_include) @import
(preproc_def name: (identifier) @variable)
