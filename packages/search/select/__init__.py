"""Choice of one among several candidates, by levels of evidence."""
