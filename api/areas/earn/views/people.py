"""Who is paid, as caps count them: accounts beside their owners and funding wallets, and what groups owe."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import BigInteger, Row, Text, any_, cast, exists, func, or_, select, text, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased

from api.areas.earn.rules.groups import FUNDED_MOST
from api.areas.earn.rules.payout import Payee
from api.areas.earn.rules.points import STANDING_CLAIMS
from api.areas.earn.tables import IS_OWED, EarnGroupDebt, EarnStanding
from core.credits.tables import CreditHead
from core.hexes import ZERO_ADDRESS, address_or_none, hex_of
from core.identity.tables import Account
from core.transfers.tables import FUNDS, PLACE_ON_CHAIN, SENDER, TransferEntry

_FUNDED_MANY: Final = text(f"""
select sender from unnest(cast(:senders as text[])) asked(sender)
where (
    with recursive funded(account_id, n) as (
        select (select min(account_id) from transfer_entry where {FUNDS} and lower(payload ->> 'from') = sender), 1
        union all
        select (select min(t.account_id) from transfer_entry t
                where {FUNDS} and lower(payload ->> 'from') = sender and t.account_id > funded.account_id), n + 1
        from funded where account_id is not null and n <= :most
    )
    select count(account_id) from funded
) > :most
""")  # noqa: S608 (of constants alone)
# As many senders as one likes fund strangers in one transaction.
_FUNDING_MANY: Final = text(f"""
select tx_hash from unnest(cast(:chains as bigint[]), cast(:transactions as bytea[])) asked(chain_id, tx_hash)
where (
    select count(*) from (
        select distinct t.account_id from transfer_entry t
        where t.chain_id = asked.chain_id and t.tx_hash = asked.tx_hash and {FUNDS} limit :most + 1
    ) funded
) > :most
""")  # noqa: S608 (of constants alone)


def payees_of(
    session: Session, account_ids: Collection[int], shared_funders: Collection[str] = ()
) -> dict[int, Payee]:
    """By account, in three statements. `shared_funders`: wallets, in lower case, that fund strangers;
    whom they fund has no funder, nor has one whose funder or transaction funded more than FUNDED_MOST accounts.
    """
    owner, reversal = aliased(Account), aliased(TransferEntry)
    funding = (
        select(SENDER.label("sender"), TransferEntry.chain_id, TransferEntry.tx_hash)
        .where(
            TransferEntry.account_id == Account.id,
            text(FUNDS),  # as its index says it, so that dust is not read
            ~exists().where(reversal.reverses_id == TransferEntry.id),
        )
        .order_by(*(text(one) for one in PLACE_ON_CHAIN), TransferEntry.seq)
        .limit(1)
        .lateral("funding")
    )
    query = (
        select(
            Account.id,
            Account.owner_id,
            Account.registered_from,
            Account.wallet_address,
            owner.registered_from.label("owner_from"),
            owner.wallet_address.label("owner_wallet"),
            funding.c.sender,
            funding.c.chain_id,
            funding.c.tx_hash,
            func.coalesce(EarnStanding.verified_claims, 0).label("claims"),
        )
        .outerjoin(owner, owner.id == Account.owner_id)
        .outerjoin(EarnStanding, EarnStanding.account_id == Account.id)
        .outerjoin(funding, true())
        .where(Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))))
    )
    rows = session.execute(query).all()
    known = {ZERO_ADDRESS, *shared_funders}  # what is minted, by a bridge for one, nobody sent
    funded = [row for row in rows if row.sender is not None and row.sender not in known]
    strangers = known | _funders_of_many(session, {row.sender for row in funded})
    batches = _transactions_of_many(session, [row for row in funded if row.sender not in strangers])
    return {row.id: _payee(row, strangers, batches) for row in rows}


def _payee(row: Row[Any], shared_funders: Collection[str], batches: Collection[bytes]) -> Payee:
    is_own = row.sender is not None and row.sender not in shared_funders
    has_own_tx = is_own and row.tx_hash is not None and row.tx_hash not in batches
    return Payee(
        account_id=row.id,
        owner_id=row.owner_id,
        address=row.registered_from if row.owner_id is None else row.owner_from,
        funder=row.sender if is_own else None,
        has_standing=row.claims >= STANDING_CLAIMS,
        other_address=None if row.owner_id is None else row.registered_from,
        wallets=tuple(
            None if raw is None else hex_of(raw) for raw in (row.wallet_address, row.owner_wallet)
        ),
        funding_tx=hex_of(row.tx_hash) if has_own_tx else None,
    )


def _funders_of_many(session: Session, senders: Collection[str]) -> set[str]:
    """Of these wallets those that funded more than FUNDED_MOST accounts. Of each the index is asked
    for so many accounts, whatever it sent them.
    """
    if not senders:
        return set()
    asked = {"senders": list(senders), "most": FUNDED_MOST}
    return set(session.scalars(_FUNDED_MANY, asked))


def _transactions_of_many(session: Session, funded: Sequence[Row[Any]]) -> set[bytes]:
    """Of the transactions that funded these those that funded more than FUNDED_MOST accounts."""
    places = {(row.chain_id, row.tx_hash) for row in funded if row.tx_hash is not None}
    if not places:
        return set()
    chains, hashes = zip(*places, strict=True)
    asked = {"chains": list(chains), "transactions": list(hashes), "most": FUNDED_MOST}
    return set(session.scalars(_FUNDING_MANY, asked))


def group_debts(session: Session, keys: Collection[str], due: int) -> dict[str, dict[int, int]]:
    """By key and account, in the order of accounts, what groups owe together; of each key as many as
    can be repaid of `due`.
    """
    left = func.least(EarnGroupDebt.left_credits, CreditHead.owed)
    query = (
        select(EarnGroupDebt.key, EarnGroupDebt.account_id, left)
        .join(CreditHead, CreditHead.account_id == EarnGroupDebt.account_id)
        .where(
            IS_OWED, CreditHead.owed > 0, EarnGroupDebt.key == any_(cast(list(keys), ARRAY(Text)))
        )
    )
    found, sums = defaultdict[str, dict[int, int]](dict), defaultdict[str, int](int)
    for key, account_id, amount in session.execute(query.order_by(EarnGroupDebt.account_id)):
        if sums[key] < due:
            found[key][account_id] = amount
            sums[key] += amount
    return found


def own_among(session: Session, operator_id: int, account_ids: Collection[int]) -> set[int]:
    """Of these accounts, those whose work the operator may not decide on: itself, the agents that it
    owns, and those whose wallet its own sent at least 1 USDC to, whoever owns them.
    """
    operator, reversal = session.get_one(Account, operator_id), aliased(TransferEntry)
    funded = exists().where(
        TransferEntry.account_id == Account.id,
        text(FUNDS),
        SENDER.in_([(address_or_none(operator.wallet_address) or "").lower()]),
        ~exists().where(reversal.reverses_id == TransferEntry.id),
    )
    query = select(Account.id).where(
        Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))),
        or_(Account.id == operator_id, Account.owner_id == operator_id, funded),
    )
    return set(session.scalars(query))
