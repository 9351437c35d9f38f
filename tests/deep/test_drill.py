"""`make drill`: the database is lost and comes back, exact to the row, and what was tampered with is
told.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.drill.drill import STEPS

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 1_800


def test_the_drill__holds_step_by_step_and_ends_with_zero(stack_directory: Path) -> None:
    stack_directory.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.drill.drill"],
        cwd=ROOT,
        env={**os.environ, "DRILL_DIR": str(stack_directory)},
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    said = done.stdout
    assert done.returncode == 0, said[-4000:] + done.stderr[-2000:]
    assert said.count("   ok, ") == len(STEPS)
    assert f"All {len(STEPS)} steps held" in said
    assert len(re.findall("the same count and digest in each", said)) == 2
    assert "a row of mandate_event changed: WRONG" in said
    assert "a row of credit_entry changed: WRONG" in said
    assert "the record is ahead of this chain" in said
    assert "the record is of another chain" in said
    for doing in (
        "looking through the backups",
        "restoring",
        "looking through the archive",
        "recovering up to the point",
    ):
        assert re.search(rf"^   {doing}: \S", said, re.MULTILINE), said
