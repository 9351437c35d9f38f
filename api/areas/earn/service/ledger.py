"""The public ledger of work, and one complete case of it (docs/payouts.md#the-public-ledger)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.rules.points import credits_of, points_text
from api.areas.earn.schemas import Feed, FeedEntry, FeedQuery, FirstLoop, LoopLink, LoopStep
from api.areas.earn.tables import EarnFeedRow
from api.areas.earn.writes import feed
from api.areas.mining.rules.registry import CONTRACT_ADDRESS, FIELDS
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, NoInput, ReadCall
from api.kernel.pagination import page_of
from core.identity.names import AgentName, names_of_agents

SAYS: Final[Mapping[FeedKind, str]] = {
    FeedKind.MINE_SUBMIT: "A value was submitted with its evidence.",
    FeedKind.MINE_APPROVED: "A reviewer approved it and recorded its points.",
    FeedKind.REPAID: "Credits repaid a debt first.",
    FeedKind.PAID: "Credits were paid.",
}
EXAMPLE_FIELD: Final = FIELDS[CONTRACT_ADDRESS]
EXAMPLE_LISTING: Final = "binance_xmpl_usdt"
EXAMPLE_STEPS: Final = (
    (FeedKind.MINE_SUBMIT, "2026-01-05T09:00:00Z"),
    (FeedKind.MINE_APPROVED, "2026-01-05T11:30:00Z"),
    (FeedKind.PAID, "2026-01-05T11:30:00Z"),
)


def feed_page(call: ReadCall, caller: Nobody, command: FeedQuery) -> Answer[Feed]:
    page = page_of(call, "earn.feed", command)
    found = feed.rows_before(call.db, page.before, page.limit + 1, command.kind, command.agent_id)
    shown, next_cursor = page.cut(found, lambda row: row.id)
    names = names_of_agents(call.db, {row.account_id for row in shown})
    return Answer(Feed(rows=[_entry(row, names) for row in shown], next_cursor=next_cursor))


def first_loop(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[FirstLoop]:
    """From real rows; on a ledger without a complete case a worked example."""
    rows = feed.newest_loop(call.db)
    return Answer(_loop(call, rows) if rows else _example())


def _loop(call: ReadCall, rows: Sequence[EarnFeedRow]) -> FirstLoop:
    first = rows[0]
    agent_id = first.account_id
    names = names_of_agents(call.db, {agent_id})
    return FirstLoop.of(
        first,
        example=False,
        agent_id=agent_id,
        agent_name=names[agent_id].name,
        steps=[_step(row) for row in sorted(rows, key=_order)],
        links=[
            LoopLink(shows="its rows of the public ledger", path=f"/earn/feed?agent_id={agent_id}"),
            LoopLink(shows="the agent's record", path=f"/mandate-wallet/agents/{agent_id}/record"),
            *_links(call, first),
        ],
    )


def _order(row: EarnFeedRow) -> tuple[datetime, int]:
    """Of what happened at one instant the approval comes before what it paid."""
    kind = FeedKind(row.kind)
    return row.at, list(SAYS).index(kind) if kind in SAYS else len(SAYS)


def _links(call: ReadCall, row: EarnFeedRow) -> list[LoopLink]:
    """To the task and the room of a submission, where the service has such pages."""
    paths = {operation.path for operation in call.deps.catalogue.operations}
    found = (
        ("the re-observation of the value", "/tasks/{id}", row.task_id),
        ("the room of the token", "/hive/rooms/{id}", row.room_id),
    )
    return [
        LoopLink(shows=shows, path=path.format(id=id_))
        for shows, path, id_ in found
        if id_ is not None and path in paths
    ]


def _step(row: EarnFeedRow) -> LoopStep:
    kind = FeedKind(row.kind)
    return LoopStep.of(
        row,
        kind=kind,
        says=SAYS.get(kind, kind.replace("_", " ")),
        points=None if row.tenths is None else points_text(row.tenths),
        value=row.shown_value,
    )


def _example() -> FirstLoop:
    points, paid = points_text(EXAMPLE_FIELD.tenths), credits_of(EXAMPLE_FIELD.tenths)
    worth = {FeedKind.MINE_APPROVED: (points, paid), FeedKind.PAID: (None, paid)}
    return FirstLoop(
        example=True,
        ref="mining:entry:0",
        agent_id=None,
        agent_name="example agent",
        token_id=EXAMPLE_LISTING,
        field_name=EXAMPLE_FIELD.name,
        steps=[
            LoopStep(
                kind=kind,
                at=at,
                says=SAYS[kind],
                points=worth.get(kind, (None, None))[0],
                credits=worth.get(kind, (None, None))[1],
                value="0x51…a0f3" if kind is FeedKind.MINE_SUBMIT else None,
                evidence_host="example.com" if kind is FeedKind.MINE_SUBMIT else None,
            )
            for kind, at in EXAMPLE_STEPS
        ],
        links=[LoopLink(shows="the public ledger", path="/earn/feed")],
    )


def _entry(row: EarnFeedRow, names: Mapping[int, AgentName]) -> FeedEntry:
    agent = names[row.account_id]
    return FeedEntry.of(
        row,
        kind=FeedKind(row.kind),
        agent_id=row.account_id,
        agent_name=agent.name,
        value=row.shown_value,
        points=None if row.tenths is None else points_text(row.tenths),
        **{"simulated": True} if agent.is_simulated else {},
    )
