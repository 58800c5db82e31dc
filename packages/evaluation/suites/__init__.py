"""Public suites as task folders: each module turns a copy of a data set into tasks; nothing of it is kept here."""
