"""What a command found of one part of what it asks: a line, `ok`, or `WRONG` with what to do."""

from dataclasses import dataclass
from typing import Final

MOST_LETTERS: Final = 600


@dataclass(frozen=True, slots=True)
class PartFinding:
    """`says`: what was found; of a fault also what to do."""

    is_right: bool
    what: str
    says: str

    def __str__(self) -> str:
        """One line, whatever others wrote into it: a node's words and a record's names may hold what
        moves a terminal's cursor.
        """
        mark = "ok   " if self.is_right else "WRONG"
        says = " ".join(f"{self.what}: {self.says}".split())[:MOST_LETTERS]
        return f"{mark}  {''.join(one if one.isprintable() else '?' for one in says)}"


def right(what: str, says: str) -> PartFinding:
    return PartFinding(True, what, says)


def wrong(what: str, says: str) -> PartFinding:
    return PartFinding(False, what, says)
