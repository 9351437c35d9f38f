"""All SQL of accounts, keys, sessions and sign-in nonces. Nothing here commits.

Laws
- No secret comes in here: keys, tokens and recovery codes are looked up and stored by their HMAC
  hash.
- Addresses are 20 bytes in the table and checksum text outside.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import (
    Select,
    any_,
    case,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA
from sqlalchemy.orm import Session

from core.db import locks
from core.db.engine import WriteSession
from core.db.locks import LockClass
from core.hexes import address_of, bytes_of
from core.identity.tables import Account, ApiKey, RecoveryFailure, RequestCount, SignInNonce
from core.identity.tables import Session as SessionRow

EXPIRED_NONCES_A_SWEEP = 100


def ids_with_agents(account_id: int) -> Select[int]:
    """The account itself and, if it is an owner's, its agents; for use within another query."""
    return select(Account.id).where(or_(Account.id == account_id, Account.owner_id == account_id))


# Accounts


def find_account(session: Session, account_id: int) -> Account | None:
    return session.get(Account, account_id)


def find_agent(session: Session, agent_id: int) -> Account | None:
    """The agent with this public user id; owners and operators are never found by an id."""
    account = session.get(Account, agent_id)
    return account if account is not None and account.kind == "agent" else None


def find_account_of_wallet(session: Session, address: str) -> Account | None:
    return session.scalar(select(Account).where(Account.wallet_address == bytes_of(address)))


def lock_account(session: WriteSession, account_id: int) -> Account:
    """The row, held until the transaction ends. Errors: sqlalchemy.exc.NoResultFound."""
    query = (
        select(Account)
        .where(Account.id == account_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return session.execute(query).scalar_one()


def lock_owner(session: WriteSession, account_id: int) -> None:
    """What an owner does to secrets comes one after the other, until the transaction ends; alerts
    are written meanwhile.
    """
    session.execute(
        select(Account.id).where(Account.id == account_id).with_for_update(key_share=True)
    )


def count_write(session: WriteSession, account_id: int, today: date, most: int) -> bool:
    """Count one more write of an owner on this UTC day; False: there were `most` already."""
    is_new_day = Account.writes_on.is_distinct_from(today)
    query = (
        update(Account)
        .where(Account.id == account_id, or_(is_new_day, Account.writes < most))
        .values(writes_on=today, writes=case((is_new_day, 1), else_=Account.writes + 1))
        .returning(Account.id)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(query) is not None


def owner_of_wallet(
    session: WriteSession, address: str, client: str, now: datetime
) -> Account | None:
    """The owner account of a wallet, made if the wallet has no account yet; None when the wallet is
    someone else's.

    `client`: the network address that a new one counts for.

    Waits for a concurrent link of the same wallet.
    """
    account = find_account_of_wallet(session, address)
    if account is None:
        _lock_wallet(session, address)
        account = find_account_of_wallet(session, address)
    if account is None:
        account = Account(
            kind="owner",
            name=address,
            wallet_address=bytes_of(address),
            registered_from=client,
            created_at=now,
        )
        session.add(account)
        session.flush()
    return account if account.kind == "owner" else None


def add_agent(
    session: WriteSession,
    name: str,
    owner_id: int | None,
    client: str,
    recovery_hash: bytes,
    now: datetime,
    external_id: str | None = None,
    recovery_name: str | None = None,
) -> Account:
    account = Account(
        kind="agent",
        name=name,
        owner_id=owner_id,
        registered_from=client,
        recovery_hash=recovery_hash,
        external_id=external_id,
        recovery_name=recovery_name,
        created_at=now,
    )
    session.add(account)
    session.flush()
    return account


def add_key(session: WriteSession, account_id: int, key_hash: bytes, now: datetime) -> ApiKey:
    key = ApiKey(account_id=account_id, key_hash=key_hash, scopes=None, created_at=now)
    session.add(key)
    session.flush()
    return key


def set_operator_key(session: WriteSession, key_hash: bytes | None, now: datetime) -> None:
    """Make this the one live key of the operator, and its account if there is none; None revokes
    the last one.
    """
    locks.own("operator").wait(session)
    operators = select(Account.id).where(Account.kind == "operator")
    live = select(ApiKey).where(ApiKey.account_id.in_(operators), ApiKey.revoked_at.is_(None))
    keys = {key.key_hash: key for key in session.scalars(live)}
    for other in keys.keys() - {key_hash}:
        keys[other].revoked_at = now
    if key_hash is None or key_hash in keys:
        return
    account_id = session.scalar(operators)
    add_key(session, account_id or _add_operator(session, now), key_hash, now)


def _add_operator(session: WriteSession, now: datetime) -> int:
    account = Account(kind="operator", name="operator", created_at=now)
    session.add(account)
    session.flush()
    return account.id


def link_wallet(
    session: WriteSession,
    account_id: int,
    address: str,
    now: datetime,
    payable_at: datetime | None = None,
) -> bool:
    """Set the wallet of an account; False when another account has it.

    Waits for a concurrent link or first sign-in of the same wallet.

    `payable_at`: from when the account's starter wallet pays it (inclusive); None: from now on.
    """
    _lock_wallet(session, address)
    holder = find_account_of_wallet(session, address)
    if holder is not None:
        return holder.id == account_id
    linked = {
        "wallet_address": bytes_of(address),
        "wallet_linked_at": now,
        "wallet_payable_at": payable_at or now,
    }
    session.execute(
        update(Account)
        .where(Account.id == account_id)
        .values(**linked, wallet_generation=Account.generation)
    )
    return True


def _lock_wallet(session: WriteSession, address: str) -> None:
    """Held by whoever gives the wallet its account, until the transaction ends."""
    locks.named(LockClass.WALLET, (address,)).wait(session)


# What an owner sets for an agent, and what replaces a lost secret


def live_key(session: Session, account_id: int) -> ApiKey:
    """The one live key of an agent. Errors: sqlalchemy.exc.NoResultFound."""
    return session.scalars(
        select(ApiKey).where(ApiKey.account_id == account_id, ApiKey.revoked_at.is_(None))
    ).one()


def replace_key(session: WriteSession, account_id: int, key_hash: bytes, now: datetime) -> None:
    """The old key is dead at once.

    Scopes, limits and the day's count stay: a new secret gives nobody more than the old one.
    """
    statement = update(ApiKey).where(ApiKey.account_id == account_id, ApiKey.revoked_at.is_(None))
    session.execute(statement.values(key_hash=key_hash, created_at=now))


def replace_scopes(
    session: WriteSession,
    account_id: int,
    scopes: list[str] | None,
    per_order_usdc_e6: int | None,
    per_day_usdc_e6: int | None,
) -> None:
    """`scopes` None: full access; empty: none. A limit that is None does not limit."""
    statement = update(ApiKey).where(ApiKey.account_id == account_id, ApiKey.revoked_at.is_(None))
    session.execute(
        statement.values(
            scopes=scopes, per_order_usdc_e6=per_order_usdc_e6, per_day_usdc_e6=per_day_usdc_e6
        )
    )
    session.expire_all()


def agents_of_owner(session: Session, owner_id: int) -> list[tuple[Account, ApiKey]]:
    """The fleet with each agent's live key, oldest first."""
    query = (
        select(Account, ApiKey)
        .join(ApiKey, ApiKey.account_id == Account.id)
        .where(ApiKey.revoked_at.is_(None))
    )
    rows = session.execute(
        query.where(Account.owner_id == owner_id, Account.kind == "agent").order_by(Account.id)
    )
    return [(account, key) for account, key in rows]


def last_calls(session: Session, key_ids: Iterable[int]) -> dict[int, datetime]:
    """When each key was last used; a key that never was is left out."""
    query = select(RequestCount.key_id, func.max(RequestCount.last_at)).where(
        RequestCount.key_id.in_(list(key_ids))
    )
    return dict(session.execute(query.group_by(RequestCount.key_id)).all())


def lock_recoverable(session: WriteSession, recovery_hash: bytes) -> Account | None:
    """The account of a recovery code, held until the transaction ends.

    Of two calls with one code, the second finds nothing.
    """
    query = select(Account).where(Account.recovery_hash == recovery_hash, Account.kind == "agent")
    return session.scalar(query.with_for_update().execution_options(populate_existing=True))


def lock_recoveries(session: WriteSession, client: str) -> None:
    """Recoveries from one network address come one after the other, until the transaction ends."""
    locks.named(LockClass.RECOVERY, (client,)).wait(session)


def recovery_failures(session: Session, client: str, after: datetime) -> list[datetime]:
    """When wrong codes came from this address, later than `after` (exclusive), oldest first."""
    query = select(RecoveryFailure.at).where(
        RecoveryFailure.client == client, RecoveryFailure.at > after
    )
    return list(session.scalars(query.order_by(RecoveryFailure.at)))


def add_recovery_failure(
    session: WriteSession, client: str, now: datetime, keep_after: datetime
) -> None:
    """Count a wrong code, and drop those that no limit looks back to."""
    session.execute(
        delete(RecoveryFailure).where(
            RecoveryFailure.client == client, RecoveryFailure.at <= keep_after
        )
    )
    session.add(RecoveryFailure(client=client, at=now))
    session.flush()


def external_id_is_taken(session: WriteSession, external_id: str) -> bool:
    """Waits for a registration of the same id that is under way."""
    locks.named(LockClass.EXTERNAL_ID, (external_id,)).wait(session)
    return session.scalar(select(Account.id).where(Account.external_id == external_id)) is not None


# Registrations of a network address


def lock_registrations(session: WriteSession, client: str) -> None:
    """Registrations from one network address come one after the other, until the transaction
    ends.
    """
    locks.named(LockClass.REGISTRATION, (client,)).wait(session)


def unowned_registrations(session: Session, client: str, after: datetime) -> list[datetime]:
    """When unowned agents were registered from this address, later than `after` (exclusive), oldest
    first.
    """
    query = select(Account.created_at).where(
        Account.registered_from == client,
        Account.kind == "agent",
        Account.owner_id.is_(None),
        Account.created_at > after,
    )
    return list(session.scalars(query.order_by(Account.created_at)))


def count_unowned_registrations(session: Session, client: str, since: datetime) -> int:
    """How many unowned agents were registered from this address from `since` on (inclusive)."""
    query = select(func.count()).where(
        Account.registered_from == client,
        Account.kind == "agent",
        Account.owner_id.is_(None),
        Account.created_at >= since,
    )
    return session.scalar(query) or 0


def count_owner_sign_ups(session: Session, client: str, since: datetime) -> int:
    """How many owners signed in for the first time from this address from `since` on
    (inclusive).
    """
    query = select(func.count()).where(
        Account.registered_from == client, Account.kind == "owner", Account.created_at >= since
    )
    return session.scalar(query) or 0


def agent_ids_of_owner(session: Session, owner_id: int) -> list[int]:
    return list(
        session.scalars(
            select(Account.id).where(Account.owner_id == owner_id, Account.kind == "agent")
        )
    )


# Sessions


def add_session(
    session: WriteSession,
    kind: str,
    account_id: int,
    token_hash: bytes,
    now: datetime,
    expires_at: datetime,
) -> SessionRow:
    row = SessionRow(
        token_hash=token_hash,
        kind=kind,
        account_id=account_id,
        created_at=now,
        expires_at=expires_at,
    )
    session.add(row)
    session.flush()
    return row


def revoke_sessions(
    session: WriteSession, account_id: int, now: datetime, but: int | None = None
) -> None:
    """End every session of an account, except the one with the id `but`."""
    statement = update(SessionRow).where(
        SessionRow.account_id == account_id, SessionRow.revoked_at.is_(None)
    )
    if but is not None:
        statement = statement.where(SessionRow.id != but)
    session.execute(statement.values(revoked_at=now))


def session_is_revoked(session: Session, session_id: int) -> bool:
    """As it is committed now, whatever this transaction read before."""
    return (
        session.scalar(select(SessionRow.revoked_at).where(SessionRow.id == session_id)) is not None
    )


def revoke_session(session: WriteSession, session_id: int, now: datetime) -> None:
    session.execute(update(SessionRow).where(SessionRow.id == session_id).values(revoked_at=now))


# Sign-in texts


def lock_nonces(session: WriteSession, address: str, purpose: str) -> None:
    """Texts of a wallet and purpose are issued one after the other, until the transaction ends."""
    locks.named(LockClass.SIGN_IN, (address, purpose)).wait(session)


def nonces_of(session: Session, address: str, purpose: str) -> Sequence[SignInNonce]:
    """The texts of a wallet and purpose that were not used, the newest first, expired or not."""
    query = select(SignInNonce).where(
        SignInNonce.wallet_address == bytes_of(address), SignInNonce.purpose == purpose
    )
    return session.scalars(query.order_by(SignInNonce.created_at.desc(), SignInNonce.nonce)).all()


def add_nonce(
    session: WriteSession, address: str, purpose: str, values: Mapping[str, str | datetime]
) -> None:
    """Keep one more text; `values` are nonce, message, created_at and expires_at."""
    session.execute(
        insert(SignInNonce).values(wallet_address=bytes_of(address), purpose=purpose, **values)
    )


def take_nonce(
    session: WriteSession, address: str, purpose: str, nonce: str, now: datetime
) -> bool:
    """Use a nonce up; False when it was not issued, was used or has expired.

    Of two at once, one gets it.
    """
    statement = delete(SignInNonce).where(
        SignInNonce.wallet_address == bytes_of(address),
        SignInNonce.purpose == purpose,
        SignInNonce.nonce == nonce,
        SignInNonce.expires_at > now,
    )
    return session.execute(statement.returning(SignInNonce.nonce)).scalar_one_or_none() is not None


def sweep_nonces(session: WriteSession, now: datetime, limit: int = EXPIRED_NONCES_A_SWEEP) -> int:
    """Drop some expired texts, so that unused ones do not pile up; how many.

    Rows that another call holds are left to it.
    """
    expired = select(SignInNonce.nonce).where(SignInNonce.expires_at <= now).limit(limit)
    statement = delete(SignInNonce).where(
        SignInNonce.nonce.in_(expired.with_for_update(skip_locked=True))
    )
    return len(session.scalars(statement.returning(SignInNonce.nonce)).all())


@dataclass(frozen=True, slots=True)
class LinkedWallet:
    """An agent's wallet.

    `since`: unix second of the link; what came before is not the service's to note.
    """

    account_id: int
    since: int


def linked_wallets(session: Session, among: Iterable[str] | None = None) -> dict[str, LinkedWallet]:
    """Wallet -> whose it is and since when: of every agent that linked one, or of those among the
    given addresses.
    """
    query = select(Account.wallet_address, Account.id, Account.wallet_linked_at)
    query = query.where(
        Account.kind == "agent",
        Account.wallet_address.is_not(None),
        Account.wallet_linked_at.is_not(None),
    )
    if among is not None:
        query = query.where(
            Account.wallet_address
            == any_(cast([bytes_of(address) for address in among], ARRAY(BYTEA)))
        )
    found = session.execute(query)
    return {
        address_of(wallet): LinkedWallet(id_, int(at.timestamp()))
        for wallet, id_, at in found
        if wallet and at
    }
