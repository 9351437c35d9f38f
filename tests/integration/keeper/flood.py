"""Very many requests of starter wallets in the outbox, as if the API had taken them all."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from eth_account import Account as Keys
from sqlalchemy import insert
from sqlalchemy.orm import Session

from core.custody import queries as custody
from core.custody.keys import KeyMaker, KeyRing
from core.custody.tables import CustodialTransfer
from core.db.engine import Database
from core.identity.tables import Account
from core.keeper.gas import TOTAL, account_scope
from core.keeper.tables import Outbox, OutboxCount, OutboxQueue
from tests.integration.chain_fixtures import USDC, DeployedChain

SEALING_KEY = b"\x4b" * 32


@dataclass(frozen=True, slots=True)
class Starter:
    """An agent's starter wallet, and the wallet that it pays out to."""

    account_id: int
    address: str
    linked: str


def flood(
    chain: DeployedChain, database: Database, count: int, *, wallets: int = 1, at: datetime
) -> list[Starter]:
    """`count` transfers of 1 USDC each out of so many wallets, which hold enough for them. They are
    good for a month: a keeper's change takes two days of the chain, which no keeper's clock knows.
    """
    with database.write() as session:
        starters = [_starter(session, n, at) for n in range(wallets)]
    for starter in starters:
        chain.mint(starter.address, (count // wallets + 1) * USDC)
    with database.write() as session:
        _ask(session, chain, [starters[n % wallets] for n in range(count)], at)
    return starters


def _starter(session: Session, n: int, at: datetime) -> Starter:
    linked = Keys.create().address
    account = Account(
        kind="agent",
        name=f"agent {n}",
        wallet_address=bytes.fromhex(linked[2:]),
        wallet_linked_at=at,
        wallet_payable_at=at,
        created_at=at,
    )
    session.add(account)
    session.flush()
    sealed = KeyMaker(KeyRing([SEALING_KEY])).new_key(account.id)
    custody.add_wallet(session, sealed, at)
    return Starter(account.id, sealed.address, linked)


def _ask(session: Session, chain: DeployedChain, starters: list[Starter], at: datetime) -> None:
    usdc = bytes.fromhex(chain.contracts["usdc"][2:])
    asked = [
        {
            "key": f"custodial_transfer:{n}", "chain_id": chain.chain_id,
            "kind": "custodial_transfer", "role": "custody", "to": usdc,
            "data": None, "reason": {"account_id": starter.account_id}, "created_at": at,
        }
        for n, starter in enumerate(starters)
    ]  # fmt: skip
    ids = list(
        session.scalars(insert(Outbox).returning(Outbox.id, sort_by_parameter_order=True), asked)
    )
    moved = [
        {
            "outbox_id": outbox_id, "account_id": starter.account_id,
            "to": bytes.fromhex(starter.linked[2:]), "amount_usdc_e6": USDC,
            "expires_at": at + timedelta(days=30), "created_at": at,
        }
        for outbox_id, starter in zip(ids, starters, strict=True)
    ]  # fmt: skip
    session.execute(insert(CustodialTransfer), moved)
    queued = [
        {
            "outbox_id": outbox_id, "chain_id": chain.chain_id, "account_id": starter.account_id,
            "owner_id": None, "due_at": at,
            "tries": 0, "is_taken": False, "reserved_wei": 0,
        }
        for outbox_id, starter in zip(ids, starters, strict=True)
    ]  # fmt: skip
    session.execute(insert(OutboxQueue), queued)
    counts = Counter(
        [TOTAL] * len(starters) + [account_scope(starter.account_id) for starter in starters]
    )
    session.execute(
        insert(OutboxCount),
        [{"scope": scope, "waiting": waiting} for scope, waiting in counts.items()],
    )
