"""What owners, agents and strangers run themselves. It stands on core alone and is a distribution of its own (pyproject.toml beside it)."""
