"""Work without a model: the repair engine, its model, reproductions of reports, and turns that the harness leads."""
