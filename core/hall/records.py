"""Records of agents: of all the mandates that accounts with one wallet have had.

    account 1001, wallet A, mandates of A         unlinked; account 2001 links A
    group {1001, 2001}, one record, listed at 2001

Law
- A record follows the wallet: accounts that have or had one wallet have one record, and it is listed
  where the wallet is now. A new account does not leave an old record behind.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy.orm import Session

from core.hall import queries, views
from core.hall.queries import AgentFigures
from core.hall.rules.shown import record_to_json, sorts_of
from core.hall.rules.standing import CountedDay, MandateRecord, record_of
from core.hall.views import AgentAccount, MandateLife

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
        found, had = views.accounts_of(session, fresh), views.lives_of(session, fresh)
        accounts += found
        lives += had
        wallets = {one.wallet for one in found} | {one.wallet for one in had}
        fresh = views.with_wallets(session, [one for one in wallets if one]) - known
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


def figures_of(session: Session, groups: Sequence[WalletGroup], today: date) -> list[AgentFigures]:
    """A row of the Hall for each account of the groups."""
    ids = [one.mandate_id for group in groups for one in group.lives]
    days = queries.days_of(session, ids)
    return [row for group in groups for row in _of_group(group, days, today)]


def _of_group(
    group: WalletGroup, days: dict[int, list[CountedDay]], today: date
) -> Iterable[AgentFigures]:
    owners = {one.owner_id for one in group.accounts}
    on_chain = [one for one in group.lives if not one.is_paper]
    on_paper = [one for one in group.lives if one.is_paper]
    record = record_of(
        [_mandate(one, days[one.mandate_id], owners) for one in on_chain],
        [day for one in on_paper for day in days[one.mandate_id]],
        today,
    )
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
    said = life.standing
    ended_on = _day(said.get("ended_on"))
    return MandateRecord(
        mandate_id=life.mandate_id,
        owner_id=life.owner_id,
        is_own=life.owner_id in owners,
        is_working=life.is_working,
        funded_on=_day(said.get("funded_on")),
        live_until=ended_on or (None if life.ends_at is None else life.ends_at.date()),
        stopped_by=said.get("stopped_by"),
        violations=life.violations,
        out_usdc_e6=said.get("out_usdc_e6", 0),
        worth_usdc_e6=said.get("worth_usdc_e6", 0),
        is_readable=life.is_readable,
        days=days,
    )


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def _newest(lives: Iterable[MandateLife]) -> datetime | None:
    said = [one.standing.get("last_at") for one in lives]
    return max((datetime.fromisoformat(at) for at in said if at is not None), default=None)
