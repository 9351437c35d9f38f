"""The tables of the worked pages, which tests compute again."""

from pathlib import Path

DOCS = Path(__file__).parents[5] / "docs"


def table(page: str, name: str) -> list[list[str]]:
    """The cells below the heading of the table that stands behind `<!-- table: name -->`."""
    lines = (
        (DOCS / page)
        .read_text()
        .split(f"<!-- table: {name} -->\n")[1]
        .split("\n\n")[0]
        .splitlines()
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
