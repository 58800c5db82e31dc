"""Reports of evaluations: terminal, JSON, JUnit, web page."""
