"""The prices of ticks: the vectors and the contract's factors are those of one computation."""

import json
import re
from pathlib import Path

from tests.vectors.ticks import FILE, vectors

LIBRARY = Path(__file__).parents[4] / "contracts" / "libraries" / "TickLib.sol"


def test_vectors__are_what_the_script_writes() -> None:
    assert json.loads(FILE.read_text()) == vectors()


def test_factors__of_the_contract__are_those_of_the_script() -> None:
    lines = re.findall(r"n & (0x\w+) != 0\) ratio = ratio \* (0x\w+) >> 64", LIBRARY.read_text())
    assert lines == [(hex(2**bit), factor) for bit, factor in enumerate(vectors()["factors"])]
