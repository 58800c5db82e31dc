"""What other agents keep of a repository, taken over as claims on request."""
