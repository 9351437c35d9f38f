"""Records of agents: of all the mandates that accounts with one wallet have had.

    account 1001, wallet A, mandates of A         unlinked; account 2001 links A
    group {1001, 2001}, one record, listed at 2001

Law
- A record follows the wallet: accounts that have or had one wallet have one record, and it is listed
  where the wallet is now. A new account does not leave an old record behind.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from api.areas.hall import queries
from api.areas.hall.queries import AgentFigures, KeptPast
from api.areas.hall.rules.shown import record_to_json, sorts_of
from api.areas.hall.rules.standing import (
    AgentRecord,
    MandateRecord,
    daily_returns,
    past_to_keep,
    record_of,
)
from api.areas.hall.rules.sums import CountedDay, Past
from api.areas.hall.views import sources
from api.areas.hall.views.sources import AgentAccount, MandateLife

ROUNDS_MOST = 20  # of wallets and accounts in turn; what is further away keeps a record of its own
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WalletGroup:
    """Accounts with one record, and their mandates."""

    accounts: Sequence[AgentAccount]
    lives: Sequence[MandateLife]

    @property
    def holder_id(self) -> int:
        """Where the record is listed: the account that linked its wallet last."""
        return max(self.accounts, key=_place).agent_id

    @property
    def digest_of_funded(self) -> bytes:
        """Of the mandates that count together."""
        funded = sorted(one.mandate_id for one in self.lives if one.is_funded)
        return blake2b(" ".join(map(str, funded)).encode(), digest_size=16).digest()


def _place(account: AgentAccount) -> tuple[bool, datetime, int]:
    return account.wallet is not None, account.wallet_since or LONG_AGO, account.agent_id


def groups_of(session: Session, agent_ids: Collection[int]) -> list[WalletGroup]:
    """The groups that these agents are in."""
    known, fresh = set[int](), set(agent_ids)
    accounts, lives = list[AgentAccount](), list[MandateLife]()
    for _ in range(ROUNDS_MOST):
        if not fresh:
            break
        known |= fresh
        found, had = sources.accounts_of(session, fresh), sources.lives_of(session, fresh)
        accounts += found
        lives += had
        wallets = {one.wallet for one in found} | {one.wallet for one in had}
        fresh = sources.with_wallets(session, [one for one in wallets if one]) - known
    return _grouped(accounts, lives)


def _grouped(accounts: Sequence[AgentAccount], lives: Sequence[MandateLife]) -> list[WalletGroup]:
    """Accounts that one wallet joins, each in one group."""
    root = {one.agent_id: one.agent_id for one in accounts}

    def find(agent_id: int) -> int:
        while root[agent_id] != agent_id:
            root[agent_id] = agent_id = root[root[agent_id]]
        return agent_id

    first = dict[bytes, int]()
    edges: Iterable[tuple[int, bytes | None]] = (
        *((one.agent_id, one.wallet) for one in accounts),
        *((one.agent_id, one.wallet) for one in lives),
    )
    for agent_id, wallet in edges:
        if wallet is not None:
            root[find(first.setdefault(wallet, agent_id))] = find(agent_id)
    groups = dict[int, WalletGroup]()
    members = dict[int, tuple[list[AgentAccount], list[MandateLife]]]()
    for account in accounts:
        members.setdefault(find(account.agent_id), ([], []))[0].append(account)
    for life in lives:
        members[find(life.agent_id)][1].append(life)
    for at, (of_group, had) in members.items():
        groups[at] = WalletGroup(of_group, had)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class Summed:
    """A row of the Hall for each account of the groups; `pasts`: those that were made for it, to be
    kept until the day is over.
    """

    figures: list[AgentFigures]
    pasts: list[KeptPast]


@dataclass(frozen=True, slots=True)
class GroupDays:
    """Groups, each with its past where one of today is at hand, and the days that are to be summed."""

    groups: Sequence[tuple[WalletGroup, Past | None]]
    days: Sequence[Row[Any]]


def days_of(session: Session, groups: Sequence[WalletGroup], today: date) -> GroupDays:
    """Where a past of today is at hand, the days before today are not read."""
    kept = queries.pasts_at(
        session, [life.mandate_id for one in groups for life in one.lives], today
    )
    pasts = [(group, _at_hand(group, kept)) for group in groups]
    first = {
        life.mandate_id: date.min if past is None else today
        for group, past in pasts
        for life in group.lives
    }
    return GroupDays(pasts, queries.days_of(session, first))


def figures_of(read: GroupDays, today: date) -> Summed:
    days, summed = queries.counted_days(read.days), Summed([], [])
    for group, past in read.groups:
        on_chain, on_paper = _mandates(group, days)
        if past is None:
            past = past_to_keep(on_chain, on_paper, today)
            summed.pasts.extend(_to_keep(group, past))
        record = record_of(on_chain, on_paper, today, past)
        summed.figures.extend(_figures(group, record))
    return summed


def curve_of(session: Session, agent_id: int, most: int) -> list[tuple[date, int]] | None:
    """What an agent's record has returned at the ends of days, as `daily_returns` says it. None:
    facts of a ledger are held back.
    """
    [group] = groups_of(session, [agent_id])
    read = queries.days_of(session, {one.mandate_id: date.min for one in group.lives})
    on_chain, _ = _mandates(group, queries.counted_days(read))
    return daily_returns(on_chain, most) if all(one.is_readable for one in on_chain) else None


def _at_hand(group: WalletGroup, kept: Mapping[int, KeptPast]) -> Past | None:
    """None: not all of it is, or other mandates counted together then."""
    rows = [kept.get(life.mandate_id) for life in group.lives]
    digest = group.digest_of_funded
    found = [one for one in rows if one is not None and one.funded == digest]
    if not found or len(found) < len(rows):
        return None
    return Past({one.mandate_id: one.past for one in found}, found[0].together)


def _to_keep(group: WalletGroup, past: Past) -> Iterable[KeptPast]:
    digest = group.digest_of_funded
    for mandate_id, its_past in past.mandates.items():
        yield KeptPast(mandate_id=mandate_id, funded=digest, past=its_past, together=past.together)


def _mandates(
    group: WalletGroup, days: Mapping[int, Sequence[CountedDay]]
) -> tuple[list[MandateRecord], list[MandateRecord]]:
    """Those on the chain, and those on paper."""
    owners = {one.owner_id for one in group.accounts}
    on_chain, on_paper = list[MandateRecord](), list[MandateRecord]()
    for life in group.lives:
        into = on_paper if life.is_paper else on_chain
        into.append(_mandate(life, days.get(life.mandate_id, ()), owners))
    return on_chain, on_paper


def _figures(group: WalletGroup, record: AgentRecord) -> Iterable[AgentFigures]:
    is_empty, reason = not group.lives, record.unranked_reason
    holder_id = group.holder_id
    for account in group.accounts:
        yield AgentFigures(
            agent_id=account.agent_id,
            is_listed=account.agent_id == holder_id,
            ranked=reason is None and account.agent_id == holder_id,
            days_live=record.days_live,
            trades=record.trades_total,
            sorts=None if is_empty else sorts_of(record),
            record=None if is_empty else record_to_json(record),
            as_of=_newest(group.lives),
        )


def _mandate(
    life: MandateLife, days: Sequence[CountedDay], owners: Collection[int | None]
) -> MandateRecord:
    standing = life.standing
    ended_on = _day(standing.get("ended_on"))
    return MandateRecord(
        mandate_id=life.mandate_id,
        owner_id=life.owner_id,
        is_own=life.owner_id in owners,
        is_working=life.is_working,
        funded_on=_day(standing.get("funded_on")),
        live_until=ended_on or (None if life.ends_at is None else life.ends_at.date()),
        stopped_by=standing.get("stopped_by"),
        violations=life.violations,
        out_usdc_e6=standing.get("out_usdc_e6", 0),
        worth_usdc_e6=standing.get("worth_usdc_e6", 0),
        is_readable=life.is_readable,
        days=days,
    )


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def _newest(lives: Iterable[MandateLife]) -> datetime | None:
    times = [one.standing.get("last_at") for one in lives]
    return max((datetime.fromisoformat(at) for at in times if at is not None), default=None)
