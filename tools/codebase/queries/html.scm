(comment) @prose
(text) @prose
