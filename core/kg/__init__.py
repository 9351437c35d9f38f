"""Knowledge notes and claims about tokens."""
