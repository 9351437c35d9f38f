"""The playbooks as calls, and the shelf that they stand on."""
