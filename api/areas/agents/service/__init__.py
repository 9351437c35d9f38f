"""An agent's pages and self-record, and what its owner does for it, one file a use case."""
