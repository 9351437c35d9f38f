"""Statements as files (docs/statements.md): what their JSON says, once more for a spreadsheet and
once more for paper.

figures     the leaves of a statement by name, and what people call them
csv_file    RFC 4180
pdf_file    A4
files       whichever was asked for
"""
