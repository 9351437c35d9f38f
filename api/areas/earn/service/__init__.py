"""What the operations of the area earn do."""
