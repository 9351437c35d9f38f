"""What a command found of one part of what it asks: a line, `ok`, or `WRONG` with what to do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartFinding:
    """`says`: what was found; of a fault also what to do."""

    is_right: bool
    what: str
    says: str

    def __str__(self) -> str:
        return (
            f"{'ok   ' if self.is_right else 'WRONG'}  {self.what}: {' '.join(self.says.split())}"
        )


def right(what: str, says: str) -> PartFinding:
    return PartFinding(True, what, says)


def wrong(what: str, says: str) -> PartFinding:
    return PartFinding(False, what, says)
