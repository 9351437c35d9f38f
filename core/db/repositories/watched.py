"""All SQL about which vaults the keeper watches: those whose terms we issued, registered or refused by the registry, until the chain ended
them. Terms that a draft no longer has were issued too: who had read them could sign them, and make their vault later."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, and_, column, delete, exists, false, func, join, or_, select, true, values
from sqlalchemy.dialects.postgresql import insert as pg_insert
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.db.repositories.chain import address_of
from core.db.repositories.keeper import NOT_SENT
from core.db.repositories.unregistered import registries
from core.db.tables.chain import ChainBlock, Vault
from core.db.tables.keeper import KeeperEnded, KeeperIntent, VaultMark
from core.db.tables.mandate import Mandate, ReplacedTerms
from core.domain.errors import InvalidNumberError
from core.domain.mandate.terms import stop_floor_usdc_e6
from core.domain.money import UnixSeconds, UsdcE6, usdc_e6_from_text

SETTLE_GRACE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Mark:
    """A worth at a height. `worth_usdc_e6` None = it could not be read there."""

    worth_usdc_e6: UsdcE6 | None
    block_number: int
    at: datetime


@dataclass(frozen=True, slots=True)
class SourcedMark(Mark):
    """`source` says where the worth comes from, or why it is None."""

    source: str


@dataclass(frozen=True, slots=True)
class WatchedVault:
    """A vault whose terms this service issued. `created_at` is unix seconds of its block."""

    vault: str
    public_id: str
    budget_usdc_e6: UsdcE6
    created_at: int
    ends_at: UnixSeconds | None
    last_sent: Mark | None  # newest mark that is under way or on chain
    last_written: SourcedMark | None  # newest row of vault_mark
    floor_usdc_e6: UsdcE6 | None  # of the signed terms; None when the mandate's terms are no longer those of the vault
    is_recorded_at_work: bool  # the record has the mandate as working: its vault was funded


def watched_vaults(session: Session, chain_id: int, now: datetime) -> list[WatchedVault]:
    """Every vault whose terms we issued, whatever the record says of its mandate, oldest first, then those that the registry refuses, and
    those of replaced terms; with what was last sent and written.

    Left out are those that ended (`add_ended`), but for a stopped one in the grace after its end, and those whose
    creating block was orphaned; one whose block is no longer kept is not.
    """
    found = [one for registry in registries(session, chain_id) for one in _watched(session, registry, Mandate, chain_id, now)]
    return found + _watched(session, Vault, ReplacedTerms, chain_id, now)


def _watched(
    session: Session, registry: type[Vault], terms: type[Mandate] | type[ReplacedTerms], chain_id: int, now: datetime
) -> list[WatchedVault]:
    """Of one registry, the table or what it refuses: the vaults of mandates, or those of terms that mandates no longer have."""
    in_grace = func.coalesce(and_(terms.ends_at <= now, terms.ends_at > now - SETTLE_GRACE), false())
    ended = exists().where(
        KeeperEnded.chain_id == registry.chain_id, KeeperEnded.vault == registry.address, or_(KeeperEnded.status == "settled", ~in_grace)
    )
    orphaned = exists().where(
        ChainBlock.chain_id == registry.chain_id, ChainBlock.hash == registry.created_block_hash, ChainBlock.canonical.is_(False)
    )
    sent, written = _last_sent(registry), _last_written(registry)
    has_its_terms: ColumnElement[bool] = true()
    is_at_work: ColumnElement[bool] = false()
    if terms is ReplacedTerms:
        of_them = and_(ReplacedTerms.digest == registry.terms_digest, registry.is_of_replaced_terms)
        issued = join(join(registry, ReplacedTerms, of_them), Mandate, Mandate.id == ReplacedTerms.mandate_id)
    else:
        has_its_terms, is_at_work = Mandate.terms_digest == registry.terms_digest, Mandate.status == "working"
        issued = join(registry, Mandate, Mandate.id == registry.mandate_id)
    query = (
        select(registry.address, Mandate.public_id, terms.budget_usdc_e6, registry.created_at, terms.ends_at)
        .add_columns(terms.stop_floor_bps, has_its_terms, sent, written, is_at_work)
        .select_from(issued)
        .join(sent, true(), isouter=True)
        .join(written, true(), isouter=True)
        .where(registry.chain_id == chain_id, ~ended, ~orphaned)
        .order_by(registry.created_number, registry.address)
    )
    return [
        WatchedVault(
            address_of(row[0]),
            row[1],
            UsdcE6(int(row[2])),
            row[3],
            None if row[4] is None else UnixSeconds(int(row[4].timestamp())),
            _sent_mark(*row[7:10]),
            _written_mark(*row[10:14]),
            _floor(int(row[2]), row[5]) if row[6] else None,
            row[-1],
        )
        for row in session.execute(query)
    ]


def _floor(budget_usdc_e6: int, stop_floor_bps: int) -> UsdcE6 | None:
    try:
        return stop_floor_usdc_e6(budget_usdc_e6, stop_floor_bps)
    except InvalidNumberError:
        return None


def add_ended(session: WriteSession, chain_id: int, ended: Iterable[tuple[str, str]], block_number: int, now: datetime) -> None:
    """(vault, `stopped` or `settled`) as it is at a safe block: these are watched no more."""
    values = [
        {"chain_id": chain_id, "vault": _bytes(vault), "status": status, "block_number": block_number, "at": now} for vault, status in ended
    ]
    if not values:
        return
    statement = pg_insert(KeeperEnded)
    said = {name: statement.excluded[name] for name in ("status", "block_number", "at")}
    session.execute(statement.on_conflict_do_update(index_elements=[KeeperEnded.chain_id, KeeperEnded.vault], set_=said), values)


def forget_ended(session: WriteSession, chain_id: int, vaults: Collection[str]) -> None:
    """These work after all, and are watched again."""
    session.execute(delete(KeeperEnded).where(KeeperEnded.chain_id == chain_id, KeeperEnded.vault.in_(map(_bytes, vaults))))


def ended_statuses(session: Session, chain_id: int, vaults: Collection[str]) -> dict[str, str]:
    """How those of these vaults ended that are watched no more."""
    query = select(KeeperEnded.vault, KeeperEnded.status).where(KeeperEnded.chain_id == chain_id)
    return {address_of(vault): status for vault, status in session.execute(query.where(KeeperEnded.vault.in_(map(_bytes, vaults))))}


def some_ended(session: Session, chain_id: int, after: str, limit: int) -> list[str]:
    """Vaults that are watched no more, in the order of their addresses, after this one."""
    query = select(KeeperEnded.vault).where(KeeperEnded.chain_id == chain_id, KeeperEnded.vault > _bytes(after))
    return [address_of(vault) for vault in session.scalars(query.order_by(KeeperEnded.vault).limit(limit))]


def last_known_worths(session: Session, chain_id: int, vaults: Collection[str]) -> dict[str, UsdcE6]:
    """The worth of each vault's newest judgement that knew it."""
    asked = values(column("vault", LargeBinary), name="asked").data([(_bytes(vault),) for vault in vaults])
    last = (
        select(VaultMark.worth_usdc_e6)
        .where(VaultMark.vault == asked.c.vault, VaultMark.chain_id == chain_id, VaultMark.worth_usdc_e6.is_not(None))
        .order_by(VaultMark.id.desc())
        .limit(1)
        .lateral("last")
    )
    query = select(asked.c.vault, last.c.worth_usdc_e6).select_from(asked).join(last, true())
    return {address_of(bytes(vault)): UsdcE6(int(worth)) for vault, worth in session.execute(query)} if vaults else {}


def _last_sent(registry: type[Vault]) -> Any:
    intent = aliased(KeeperIntent)
    return (
        select(intent.reason["worth_usdc"].as_string().label("sent_worth"), intent.trigger_block_number, intent.created_at)
        .where(intent.vault == registry.address, intent.chain_id == registry.chain_id, intent.kind == "mark", intent.state.not_in(NOT_SENT))
        .order_by(intent.id.desc())
        .limit(1)
        .lateral("sent")
    )


def _last_written(registry: type[Vault]) -> Any:
    return (
        select(VaultMark.worth_usdc_e6, VaultMark.block_number, VaultMark.at, VaultMark.source, VaultMark.floor_usdc_e6)
        .where(VaultMark.vault == registry.address, VaultMark.chain_id == registry.chain_id)
        .order_by(VaultMark.id.desc())
        .limit(1)
        .lateral("written")
    )


def _sent_mark(worth: str | None, block_number: int, at: datetime) -> Mark | None:
    """A text that is no amount is as good as none: the next mark says it anew."""
    try:
        return None if worth is None else Mark(usdc_e6_from_text(worth, "worth_usdc"), block_number, at)
    except InvalidNumberError:
        return None


def _written_mark(worth: Decimal | None, block_number: int | None, at: datetime, source: str) -> SourcedMark | None:
    return None if block_number is None else SourcedMark(_usdc(worth), block_number, at, source)


def _usdc(value: Decimal | None) -> UsdcE6 | None:
    return None if value is None else UsdcE6(int(value))


def _bytes(hex_text: str) -> bytes:
    return bytes.fromhex(hex_text.removeprefix("0x"))
