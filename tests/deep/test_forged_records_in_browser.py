"""Forged records through the check in the browser: what it finds of each is what verify-record
finds, row by row.

`FORGED_RECORDS`: how many (default 100, since every one is checked twice).
"""

import copy
import os
from contextlib import suppress
from random import Random

from tests.deep.lies import ON_HEAD, ON_ROWS
from tests.deep.test_forged_records import (
    UNTELLABLE,
    Forged,
    forged,  # noqa: F401 (a fixture)
)
from tests.integration.client.browser_check import checked_in_browser
from tests.integration.client.forging import Forgery

COUNT = min(1_000, int(os.environ.get("FORGED_RECORDS", "100")))
MOST_LIES = 3


def forgery_of(record: tuple[bytes, ...], random: Random) -> list[bytes] | None:
    """One to three lies in a record, sealed again. None: nothing that a forger could finish."""
    forgery = copy.deepcopy(Forgery.of(record))
    lies = [random.choice(ON_ROWS + ON_HEAD) for _ in range(random.randint(1, MOST_LIES))]
    for lie in lies:
        if lie in ON_ROWS:
            with suppress(*UNTELLABLE):
                lie(forgery, random)
    try:
        forgery.seal()
    except UNTELLABLE:
        return None
    for lie in lies:
        if lie in ON_HEAD:
            with suppress(*UNTELLABLE):
                lie(forgery, random)
    return forgery.lines()


def test_forged_records__are_judged_alike_by_the_browser_and_the_command(forged: Forged) -> None:
    records = {}
    for seed in range(COUNT):
        random = Random(seed)
        lines = forgery_of(forged.records[random.choice(("proven", "claimed"))], random)
        if lines is not None:
            records[f"seed {seed}"] = lines
    assert len(records) > COUNT // 2
    found = checked_in_browser(
        forged.chain, records, options={"x402Adapters": [forged.options.x402_adapter]}
    )
    for name, lines in records.items():
        wanted, one = forged.judged(lines), found[name]
        told = {(finding["name"], finding["seq"]) for finding in one["findings"]}
        assert (name, told) == (name, {(finding.name, finding.seq) for finding in wanted.findings})
        assert (name, one["verdict"]) == (name, wanted.verdict.value)
        assert (name, one["claims"]) == (name, wanted.claims)
