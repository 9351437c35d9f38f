"""What a read of a mandate costs when its ledger is long: the same questions of a ledger of 1,000
rows and one of 100,000.

Both ledgers hold the same rows in the week that is asked for and in the last day; the long one has
a hundred times as many before. A ratio near 1 says that the work grows with what is asked. Of the
long one the statements of a read are counted too. The last line is one JSON object.
"""

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

from sqlalchemy import event
from starlette.testclient import TestClient

from api.kernel.credentials import KEY_HEADER
from api.main import create_app, deps_of
from core.db.engine import Database, WriteSession
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.ledger import NewRow, ReportedBy, RowKind
from core.mandate.rules.weeks import week_of
from core.mandate.tables import Mandate
from core.money import UsdcE6, usdc_text
from core.settings import Settings
from scripts._ports import Ports
from scripts.demo import Story, sign_and_fund, sign_in
from scripts.devstack import Stack

SHORT, LONG = 1_000, 100_000
WEEK_ROWS = 200  # in the week that is asked for
ROUNDS = {"statement": 150, "progress": 400, "limits": 400}
CENT = 10_000
TARGET = "0x" + "7A" * 20


def rows(count: int, now: datetime, salt: int) -> list[NewRow]:
    """Actions of the agent: most of them over the weeks before, WEEK_ROWS in this one; what goes
    out comes back.
    """
    week = week_of(now).start_at
    before, within = count - WEEK_ROWS, (now - week) / (WEEK_ROWS + 1)
    old = timedelta(weeks=50) / max(1, before)
    times = [week - timedelta(weeks=50) + n * old for n in range(before)] + [
        week + (n + 1) * within for n in range(WEEK_ROWS)
    ]
    return [_action(salt + n, at, spends=n % 2 == 0) for n, at in enumerate(times)]


def _action(number: int, at: datetime, *, spends: bool) -> NewRow:
    spent, received = (CENT, 0) if spends else (0, CENT)
    executed = {
        "target": TARGET,
        "selector": "0xd96a094a",
        "spent": usdc_text(spent),
        "received": usdc_text(received),
        "nonce": number,
    }
    tx_hash = f"0x{number:064x}"
    return NewRow(
        kind=RowKind.MOVE,
        reported_by=ReportedBy.CHAIN,
        occurred_at=at,
        base_key=f"log:{tx_hash}:0",
        amount_usdc_e6=UsdcE6(CENT),
        cash_delta_usdc_e6=received - spent,
        chain_id=84532,
        tx_hash=tx_hash,
        log_index=0,
        block_number=number,
        block_hash=f"0x{number:064x}",
        payload={"executed": executed},
    )


def fill(session: WriteSession, public_id: str, count: int, salt: int) -> None:
    mandate_id = session.query(Mandate.id).filter(Mandate.public_id == public_id).scalar()
    now = datetime.now(UTC)
    listed = rows(count, now, salt)
    for first in range(0, count, 5_000):
        mandate_ledger.append_ledgers(session, {mandate_id: listed[first : first + 5_000]}, now)


def p99_ms(ask: Callable[[str], Any], mandates: Sequence[str], rounds: int) -> list[float]:
    """Of each mandate, asked in turn, so that what else the machine does falls on all of them."""
    times: list[list[float]] = [[] for _ in mandates]
    for _ in range(rounds):
        for mandate_id, taken in zip(mandates, times, strict=True):
            begun = time.perf_counter()
            ask(mandate_id)
            taken.append((time.perf_counter() - begun) * 1000)
    return [statistics.quantiles(taken, n=100)[98] for taken in times]


def statements_of_a_read(stack: Stack, story: Story, mandate_id: str) -> int:
    """What the database is asked for one read by the agent, beside the statement that proves and
    counts its key.
    """
    sent: list[str] = []
    with patch.dict(os.environ, stack.children["api"].environment):
        deps = deps_of(Settings())
    event.listen(
        deps.database.engine,
        "before_cursor_execute",
        lambda connection, cursor, statement, *_: sent.append(statement),
    )
    with TestClient(create_app(deps), base_url=deps.base_url) as client:
        answer = client.get(
            f"/mandate-wallet/mandates/{mandate_id}", headers={KEY_HEADER: str(story.agent_api.key)}
        )
    assert answer.status_code == 200, answer.text
    return len(sent)


def new_mandate(story: Story) -> str:
    sign_and_fund(story)
    return story.id


def measure() -> dict[str, float]:
    """{statement_p99_ratio, progress_p99_ratio, limits_p99_ratio}: long over short;
    {mandate_get_sql}.
    """
    parent = Path(mkdtemp(prefix="bench-"))
    parent.chmod(0o755)
    try:
        with Stack(parent / "s", Ports.free()) as stack:
            return _measured(stack)
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def _measured(stack: Stack) -> dict[str, float]:
    story = Story(stack.facts)
    sign_in(story)
    short, long = new_mandate(story), new_mandate(story)
    database = Database(stack.facts["database_url"])
    print(f"writing ledgers of {SHORT} and {LONG} rows", flush=True)
    with database.write() as session:
        fill(session, short, SHORT, 1_000_000)
        fill(session, long, LONG, 2_000_000)
    questions = {
        "statement": lambda mandate_id: story.owner_api.get(
            f"/mandate-wallet/mandates/{mandate_id}/statement"
        ),
        "progress": lambda mandate_id: story.owner_api.get(
            f"/mandate-wallet/mandates/{mandate_id}"
        ),
        "limits": lambda mandate_id: story.agent_api.get(f"/mandate-wallet/mandates/{mandate_id}"),
    }
    found: dict[str, float] = {"mandate_get_sql": statements_of_a_read(stack, story, long)}
    for name, ask in questions.items():
        of_short, of_long = p99_ms(ask, (short, long), ROUNDS[name])
        print(
            f"{name}: p99 {of_short:.1f} ms of {SHORT} rows, {of_long:.1f} ms of {LONG}", flush=True
        )
        found[f"{name}_p99_ratio"] = round(of_long / of_short, 2)
    database.close()
    return found


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
