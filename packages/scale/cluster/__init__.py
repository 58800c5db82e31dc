"""A Ray cluster: the connection, its nodes, archives between them, and the limits that they share."""
