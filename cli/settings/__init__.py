"""Settings: what there is to set, the layers it comes from, and the checks that each layer passes."""
