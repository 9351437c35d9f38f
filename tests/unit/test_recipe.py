"""What CONTRIBUTING's recipe for an area takes: the files of tests/recipe/pledges, as they would
lie in the tree. tests/deep/test_recipe.py follows it in a copy of the tree.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "tests" / "recipe" / "pledges"
MOST_FILES, MOST_CHANGED = 20, 2


def files() -> list[Path]:
    return sorted(
        file.relative_to(RECIPE)
        for file in RECIPE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    )


def test_the_recipe__changes_two_files_at_most_and_has_twenty_at_most() -> None:
    assert len(files()) <= MOST_FILES
    assert [str(file) for file in files() if (ROOT / file).exists()] == [
        "tests/spec/added-routes.tsv",
        "tests/spec/tools.tsv",
    ]
    assert len([file for file in files() if (ROOT / file).exists()]) <= MOST_CHANGED
