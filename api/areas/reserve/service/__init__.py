"""The reserve token, and whether sponsored buys of it are taken."""
