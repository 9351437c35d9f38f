"""What the service says of itself, and how each of its parts does."""
