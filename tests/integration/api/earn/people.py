"""Accounts that share caps in every way: what tests of payouts in Postgres pay."""

from api.areas.earn.rules.points import STANDING_CLAIMS
from api.areas.earn.views import standing
from core.db.engine import WriteSession
from core.identity.tables import Account
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.ledger.writer import DEPOSIT, NewTransfer
from core.transfers.rules import USDC, FourStates
from tests.integration.core.rows import CHAIN, NOW

ENOUGH_TO_FUND_E6 = 1_000_000


def add_agent(
    session: WriteSession,
    address: str = "192.0.2.1",
    owner_id: int | None = None,
    *,
    has_standing: bool = False,
) -> int:
    agent = Account(
        kind="agent", name="agent", owner_id=owner_id, registered_from=address, created_at=NOW
    )
    session.add(agent)
    session.flush()
    if has_standing:
        for number in range(STANDING_CLAIMS):
            standing.note_verified_claims(session, {f"test:{agent.id}:{number}": agent.id}, NOW)
    return agent.id


def add_owner(session: WriteSession, address: str = "192.0.2.9") -> int:
    owner = Account(kind="owner", name="owner", registered_from=address, created_at=NOW)
    session.add(owner)
    session.flush()
    return owner.id


def add_people(session: WriteSession) -> list[int]:
    """Two unowned agents of one address, one of another, and three of two owners of a third; three
    of them are new accounts.
    """
    one, other = add_owner(session), add_owner(session)
    return [
        add_agent(session, "192.0.2.1"),
        add_agent(session, "192.0.2.1", has_standing=True),
        add_agent(session, "192.0.2.3"),
        add_agent(session, "192.0.2.4", one, has_standing=True),
        add_agent(session, "192.0.2.4", one),
        add_agent(session, "192.0.2.4", other, has_standing=True),
    ]


def fund(
    session: WriteSession,
    account_id: int,
    sender: str,
    number: int = 1,
    amount_e6: int = ENOUGH_TO_FUND_E6,
) -> None:
    """USDC reaches the agent's wallet, as the chain shows it."""
    deposit = NewTransfer(
        kind=DEPOSIT,
        base_key=f"deposit:{number}",
        chain_id=CHAIN,
        asset=USDC,
        deltas=FourStates(idle_e6=amount_e6),
        reported_by="chain",
        tx_hash=f"0x{number:064x}",
        payload={"from": sender},
    )
    transfer_ledger.post(session, account_id, deposit, NOW)
