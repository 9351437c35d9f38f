"""Legs of ended mandates are closed by the keeper's process, also by the one that takes over."""

import time
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from eth_account import Account as Wallet
from sqlalchemy import select

from core.custody import queries as custody
from core.custody.keys import KeyRing
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.tables import Mandate
from core.perps import queries as legs
from core.perps.rules.orders import cloid_of
from core.perps.tables import PerpsOrder
from tests.hl_exchange import Exchange, serving
from tests.integration.keeper.conftest import USDC, Stage
from tests.integration.keeper.processes import WITHIN_S, Start, environment_of, starting
from tests.personas import AGENT, GUARD, KEEPER, OWNER

KEY = b"\x4b" * 32
AGENTS_WALLET = Wallet.from_key("0x" + "44" * 32)
CLOSED_WITHIN_S = 60.0
PUBLIC_ID = "m_perpsleg00"


@pytest.fixture
def exchange() -> Iterator[tuple[Exchange, str]]:
    """The owner's account is long 0.5 BTC."""
    exchange = Exchange()
    holder = exchange.holder(OWNER.address)
    holder.agents.add(AGENTS_WALLET.address.lower())
    holder.positions["BTC"] = Decimal("0.5")
    with serving(exchange) as url:
        yield exchange, url


@pytest.fixture
def start(stage: Stage, exchange: tuple[Exchange, str], tmp_path: Path) -> Iterator[Start]:
    with starting(
        {
            **environment_of(stage, tmp_path),
            "KEEPER_PRIVATE_KEY": KEEPER.private_key,
            "CUSTODY_KEY": KEY.hex(),
            "CUSTODY_GAS_PRIVATE_KEY": GUARD.private_key,
            "HL_URL": exchange[1],
        }
    ) as found:
        yield found


@pytest.fixture
def mandate_id(stage: Stage) -> int:
    """Stopped by its owner, with a leg that names its agent's starter wallet."""
    now = stage.now()
    with stage.database.write() as session:
        (working,) = session.scalars(select(Mandate))
        agent = session.scalars(select(Account).where(Account.kind == "agent")).one()
        columns = {
            column.name: getattr(working, column.name)
            for column in Mandate.__table__.columns
            if column.name != "id"
        }
        mandate = Mandate(
            **columns | {"public_id": PUBLIC_ID, "vault_address": None, "status": "signed"}
        )
        session.add(mandate)
        session.flush()
        sealed = KeyRing([KEY]).seal(bytes(AGENTS_WALLET.key), agent.id)
        assert custody.add_wallet(session, sealed, now)
        leg = legs.bind(
            session,
            mandate.id,
            owner_address=OWNER.address,
            agent_address=AGENTS_WALLET.address,
            dex="",
            now=now,
        )
        assert leg is not None
        mandate_ledger.append_many(session, mandate.id, rows_until_the_stop(stage), now)
        return mandate.id


def rows_until_the_stop(stage: Stage) -> list[NewRow]:
    """Signed, funded, and stopped by the owner; of the vault nothing is read."""
    now, owner = stage.now(), OWNER.address
    digest = "0x" + "33" * 32
    signed = NewRow(
        kind=RowKind.SIGNED,
        reported_by=ReportedBy.OWNER,
        occurred_at=now,
        base_key="signed",
        payload={"terms_digest": digest, "version": 2},
    )
    block, tx = "0x" + "11" * 32, "0x" + "22" * 32
    reason = "0x" + b"owner".ljust(32, b"\0").hex()
    budget = 1_000 * USDC
    events = (
        ev.VaultCreated(AGENT.address, digest, owner, AGENT.address, PUBLIC_ID, None, ()),  # type: ignore[arg-type]
        ev.Deposited(owner, budget, budget, budget),
        ev.Stopped(owner, reason, 0, 0, False),
    )
    refs = (
        ev.LogRef(stage.chain.chain_id, 1, block, int(now.timestamp()), tx, index, stage.vault)
        for index in range(len(events))
    )
    usdc = stage.chain.contracts["usdc"]
    rows = [
        row_from_event(event, ref, KEEPER.address, owner, AGENT.address, usdc=usdc)
        for event, ref in zip(events, refs, strict=True)
    ]
    return [signed, *(row for row in rows if row is not None)]


def words(stage: Stage, mandate_id: int) -> list[tuple[str, str]]:
    with stage.database.read() as session:
        rows = mandate_ledger.load_rows(session, mandate_id)
    return [
        (word, payload["status"])
        for row in rows
        for word, payload in row.payload.items()
        if word.startswith("hl_")
    ]


def wait_until_closed(stage: Stage, mandate_id: int) -> None:
    until = time.monotonic() + CLOSED_WITHIN_S
    while ("hl_stop_line", "closed") not in words(stage, mandate_id):
        assert time.monotonic() < until, words(stage, mandate_id)
        time.sleep(0.2)


@pytest.mark.slow
def test_run__closes_the_leg_of_a_mandate_that_has_ended(
    stage: Stage, start: Start, exchange: tuple[Exchange, str], mandate_id: int
) -> None:
    process = start("run", is_real=True)
    wait_until_closed(stage, mandate_id)
    process.terminate()
    said = process.said(WITHIN_S)
    assert process.returncode == 0, said
    assert KEY.hex() not in said
    assert [one["c"] for one in exchange[0].orders] == [cloid_of(PUBLIC_ID, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("arrives", [True, False])
def test_run__killed_while_its_order_is_under_way__its_spare_sends_no_order_twice(
    stage: Stage,
    start: Start,
    exchange: tuple[Exchange, str],
    mandate_id: int,
    arrives: bool,
) -> None:
    served, _ = exchange
    first = start("run")

    def kill(_: object) -> None:
        served.before = lambda _: None
        start("run")
        first.kill()
        first.wait(WITHIN_S)
        served.is_deaf = not arrives

    served.before = kill
    until = time.monotonic() + CLOSED_WITHIN_S
    while first.returncode is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    served.is_deaf = False
    assert words(stage, mandate_id)[0] == ("hl_order", "sending")
    if not arrives:  # nobody waits for it in this test: the order's time is over
        _let_expire(stage)
    wait_until_closed(stage, mandate_id)
    assert [one["c"] for one in served.orders] == [cloid_of(PUBLIC_ID, 1 if arrives else 2)]
    results = [status for word, status in words(stage, mandate_id) if word == "hl_order_result"]
    assert results == (["accepted"] if arrives else ["rejected", "accepted"])


def _let_expire(stage: Stage) -> None:
    with stage.database.write() as session:
        for order in session.scalars(select(PerpsOrder)):
            order.expires_at -= timedelta(hours=1)
