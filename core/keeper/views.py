"""All SQL about which vaults the keeper watches: those whose terms we issued, registered or refused
by the registry, until the chain ended them. Terms that a draft no longer has were issued too: who
had read them could sign them, and make their vault later.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    DateTime,
    LargeBinary,
    Numeric,
    Select,
    and_,
    bindparam,
    case,
    column,
    exists,
    false,
    func,
    join,
    null,
    or_,
    select,
    true,
    values,
)
from sqlalchemy.orm import Session, aliased

from core.blocks.tables import ChainBlock, Vault
from core.errors import InvalidNumberError
from core.hexes import address_of, bytes_of
from core.keeper.rules import NOT_SENT, LacksMark
from core.keeper.tables import KeeperEnded, KeeperIntent, VaultMark
from core.mandate.rules.lifecycle import CLOSED, SETTLE_GRACE_S, Status
from core.mandate.rules.terms import stop_floor_usdc_e6
from core.mandate.tables import Mandate, MandateHead, ReplacedTerms
from core.money import UnixSeconds, UsdcE6, usdc_e6_from_text
from core.quarantine.queries import MANDATE, is_held

SETTLE_GRACE = timedelta(seconds=SETTLE_GRACE_S)
RESTS = timedelta(hours=1)  # a ledger that ended, before its vault is watched no more
SIGNED = ("budget_usdc_e6", "ends_at", "stop_floor_bps")  # columns of terms
A_FEW_AT_A_TIME = {
    "yield_per": 5_000
}  # the rows of 100,000 vaults take more memory than the vaults


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
    floor_usdc_e6: UsdcE6 | None  # of the signed terms
    is_recorded_at_work: bool  # the record has the mandate as working: its vault was funded
    lacks_mark: LacksMark | None = None
    recorded_end: str | None = None  # how the record has had it end for RESTS, until that is noted


def watched_vaults(session: Session, chain_id: int, now: datetime) -> list[WatchedVault]:
    """Every vault whose terms we issued, whatever the record says of its mandate, oldest first,
    then those of replaced terms; with what was last sent and
    written.

    Left out are those that ended (`add_ended`), but for a stopped one in the grace after its end and
    one that works after all by the record; and those whose creating block was orphaned; one whose
    block is no longer kept is not.
    """
    of_mandates = _watched(session, Mandate, chain_id, now)
    return of_mandates + _watched(session, ReplacedTerms, chain_id, now)


def _watched(
    session: Session,
    terms: type[Mandate] | type[ReplacedTerms],
    chain_id: int,
    now: datetime,
) -> list[WatchedVault]:
    """The vaults of mandates, or those of terms that mandates no longer have."""
    times = {"now": now, "grace_since": now - SETTLE_GRACE, "rests_since": now - RESTS}
    return [
        WatchedVault(
            address_of(row[0]),
            row[1],
            UsdcE6(int(row[3])),
            row[2],
            None if row[4] is None else UnixSeconds(int(row[4].timestamp())),
            _sent_mark(*row[6:9]),
            _written_mark(*row[10:14]),
            _floor(int(row[3]), row[5]),
            row[-3],
            None if row[-2] is None else LacksMark(row[-2]),
            row[-1],
        )
        for row in session.execute(
            _watched_rows(terms, chain_id), times, execution_options=A_FEW_AT_A_TIME
        )
    ]


@cache
def _watched_rows(
    terms: type[Mandate] | type[ReplacedTerms], chain_id: int
) -> Select[*tuple[Any, ...]]:
    """Built once, since each tick asks it. As of `now`; a stopped vault is in its grace if it ended
    after `grace_since`.
    """
    in_grace = func.coalesce(
        and_(terms.ends_at <= bindparam("now"), terms.ends_at > bindparam("grace_since")), false()
    )
    is_at_work: ColumnElement[bool] = false()
    if terms is Mandate:
        is_at_work = Mandate.status == Status.WORKING
    ended = exists().where(
        KeeperEnded.chain_id == Vault.chain_id,
        KeeperEnded.vault == Vault.address,
        or_(KeeperEnded.status == Status.SETTLED, ~in_grace),
        ~is_at_work,
    )
    orphaned = exists().where(
        ChainBlock.chain_id == Vault.chain_id,
        ChainBlock.hash == Vault.created_block_hash,
        ChainBlock.canonical.is_(False),
    )
    sent, written = _last_sent(), _last_written()
    lacks_mark: ColumnElement[Any] = null()
    recorded_end: ColumnElement[Any] = null()
    columns = tuple(getattr(terms, name) for name in SIGNED)
    if terms is ReplacedTerms:
        of_them = and_(ReplacedTerms.digest == Vault.terms_digest, Vault.is_of_replaced_terms)
        issued = join(
            join(Vault, ReplacedTerms, of_them), Mandate, Mandate.id == ReplacedTerms.mandate_id
        )
    else:
        lacks_mark, recorded_end = _lacks_mark(sent), _recorded_end()
        old = _terms_before()
        columns = tuple(func.coalesce(old.c[name], getattr(Mandate, name)) for name in SIGNED)
        issued = join(Vault, Mandate, Mandate.id == Vault.mandate_id).join(
            MandateHead, MandateHead.mandate_id == Mandate.id, isouter=True
        )
        issued = issued.join(old, true(), isouter=True)
    return (
        select(Vault.address, Mandate.public_id, Vault.created_at, *columns)
        .add_columns(sent, written, is_at_work, lacks_mark, recorded_end)
        .select_from(issued)
        .join(sent, true(), isouter=True)
        .join(written, true(), isouter=True)
        .where(Vault.chain_id == chain_id, ~ended, ~orphaned)
        .order_by(Vault.created_number, Vault.address)
    )


def _lacks_mark(sent: Any) -> ColumnElement[str | None]:
    """Nothing of a vault that never spent: it is worth its cash. The last one is older than the stop,
    or, while adapters still value something, than what came back since or than the terms' end.
    """
    state = MandateHead.state
    stopped_at, returned_at = (
        state[name].as_string().cast(DateTime(timezone=True))
        for name in ("stopped_at", "last_return_at")
    )
    is_out = state["valued_out_usdc_e6"].as_string().cast(Numeric) > 0
    by_a_party = and_(
        _is_since(sent, stopped_at), state["stop_worth_usdc_e6"].as_string().is_(None)
    )
    came_back = and_(stopped_at.is_not(None), _is_since(sent, returned_at), is_out)
    is_over = and_(Mandate.ends_at <= bindparam("now"), _is_since(sent, Mandate.ends_at), is_out)
    return case(
        (func.coalesce(MandateHead.spent_usdc_e6, 0) == 0, None),
        (
            MandateHead.status.in_(CLOSED),
            case((or_(by_a_party, came_back), LacksMark.END)),
        ),
        (is_over, LacksMark.OVER),
        (sent.c.created_at.is_(None), LacksMark.FIRST),
    )


def _terms_before() -> Any:
    """Those that a vault was made of, where its mandate's were written again at the same moment."""
    before = select(*(getattr(ReplacedTerms, name) for name in SIGNED)).where(
        ReplacedTerms.digest == Vault.terms_digest, Mandate.terms_digest != Vault.terms_digest
    )
    return before.limit(1).lateral("before")


def _recorded_end() -> ColumnElement[str | None]:
    """Nothing of a ledger that lacks facts."""
    is_noted = exists().where(
        KeeperEnded.chain_id == Vault.chain_id,
        KeeperEnded.vault == Vault.address,
        KeeperEnded.status == MandateHead.status,
    )
    has_rested = and_(
        MandateHead.status.in_(CLOSED), MandateHead.updated_at <= bindparam("rests_since")
    )
    is_whole = ~is_held(MANDATE, Vault.mandate_id)
    return case((and_(has_rested, is_whole, ~is_noted), MandateHead.status))


def _is_since(sent: Any, at: ColumnElement[Any] | Any) -> ColumnElement[bool]:
    """That time is later than the block by which the last mark was decided."""
    seconds = func.extract("epoch", at)
    return and_(at.is_not(None), or_(sent.c.block_at.is_(None), sent.c.block_at < seconds))


def _floor(budget_usdc_e6: int, stop_floor_bps: int) -> UsdcE6 | None:
    try:
        return stop_floor_usdc_e6(budget_usdc_e6, stop_floor_bps)
    except InvalidNumberError:
        return None


def vaults_of(session: Session, chain_id: int, mandate_ids: Collection[int]) -> list[str]:
    """Addresses of the vaults of these mandates."""
    mine = (Vault.chain_id == chain_id, Vault.mandate_id.in_(mandate_ids))
    return [address_of(one) for one in session.scalars(select(Vault.address).where(*mine))]


def last_known_worths(
    session: Session, chain_id: int, vaults: Collection[str]
) -> dict[str, UsdcE6]:
    """The worth of each vault's newest judgement that knew it."""
    asked = values(column("vault", LargeBinary), name="asked").data(
        [(bytes_of(vault),) for vault in vaults]
    )
    last = (
        select(VaultMark.worth_usdc_e6)
        .where(
            VaultMark.vault == asked.c.vault,
            VaultMark.chain_id == chain_id,
            VaultMark.worth_usdc_e6.is_not(None),
        )
        .order_by(VaultMark.id.desc())
        .limit(1)
        .lateral("last")
    )
    query = select(asked.c.vault, last.c.worth_usdc_e6).select_from(asked).join(last, true())
    return (
        {address_of(bytes(vault)): UsdcE6(int(worth)) for vault, worth in session.execute(query)}
        if vaults
        else {}
    )


def _last_sent() -> Any:
    intent = aliased(KeeperIntent)
    return (
        select(
            intent.reason["worth_usdc"].as_string().label("sent_worth"),
            intent.trigger_block_number,
            intent.created_at,
            intent.reason["block_at"].as_integer().label("block_at"),
        )
        .where(
            intent.vault == Vault.address,
            intent.chain_id == Vault.chain_id,
            intent.kind == "mark",
            intent.state.not_in(NOT_SENT),
        )
        .order_by(intent.id.desc())
        .limit(1)
        .lateral("sent")
    )


def _last_written() -> Any:
    return (
        select(
            VaultMark.worth_usdc_e6,
            VaultMark.block_number,
            VaultMark.at,
            VaultMark.source,
            VaultMark.floor_usdc_e6,
        )
        .where(VaultMark.vault == Vault.address, VaultMark.chain_id == Vault.chain_id)
        .order_by(VaultMark.id.desc())
        .limit(1)
        .lateral("written")
    )


def _sent_mark(worth: str | None, block_number: int, at: datetime) -> Mark | None:
    """A text that is no amount is as good as none: the next mark says it again."""
    try:
        return (
            None
            if worth is None
            else Mark(usdc_e6_from_text(worth, "worth_usdc"), block_number, at)
        )
    except InvalidNumberError:
        return None


def _written_mark(
    worth: Decimal | None, block_number: int | None, at: datetime, source: str
) -> SourcedMark | None:
    return None if block_number is None else SourcedMark(_usdc(worth), block_number, at, source)


def _usdc(value: Decimal | None) -> UsdcE6 | None:
    return None if value is None else UsdcE6(int(value))
