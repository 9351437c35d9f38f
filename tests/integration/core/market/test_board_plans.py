"""Of a hundred thousand listings and as many warnings a page reads its own rows, whatever it is asked by."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from core.db.engine import Database
from core.market import board_views, research_views, warning_views
from core.market.research_views import PeerRank
from core.market.rules.research import rank
from core.market.warning_views import WarningFilter

MANY: Final = 100_000
MOST_BLOCKS: Final = 3_000
MOST_PASSED_BY: Final = 3_000
BIG: Final = {"listing_state", "listing", "warning_event", "warning_standing"}
Asked = Callable[[Session], object]

# What is rare is the oldest, and of the least volume: a walk down an order would be the whole way.
_LISTED: Final = """
create temporary table made as
select n, 'T' || n / 10 as base, case when n > :n - 300 then 'coinone' else (array['binance', 'bybit', 'okx',
       'kraken', 'kucoin', 'gate', 'bitget', 'mexc', 'upbit', 'bithumb'])[1 + n % 10] end as exchange,
       case when n > :n - 300 then 'Z' || n else 'USDT' end as quote
from generate_series(1, :n) n;
insert into market_asset (ticker) select distinct base from made;
insert into listing (token_id, exchange, base, quote, is_simulated, created_at)
select lower(exchange || '_' || base || '_' || quote), exchange, base, quote, true, now() from made order by n;
insert into listing_state (listing_id, asset_id, exchange, native_id, native_base, token, symbol, token_id, source,
       is_simulated, first_seen_at, order_usd, updated_at)
select l.id, a.id, l.exchange, l.base || l.quote, l.base, l.base, l.base || '/' || l.quote, l.token_id, 'simulated',
       true, now(), 1e9 / l.id, now()
from listing l join market_asset a on a.ticker = l.base;
alter table warning_event disable trigger user;
insert into warning_event (seq, action, clears_seq, exchange, asset_id, token, listing_id, type, severity,
       is_predictive, at, evidence, rule_version, is_imported, prev_hash, row_hash)
select n, case when n % 3 = 0 then 'cleared' else 'issued' end, case when n % 3 = 0 then n - 1 end,
       case when n <= 300 then 'coinone' else s.exchange end, s.asset_id, s.token, s.listing_id,
       case when n <= 300 then 'st_tag' else 'grade_drop' end,
       case when n <= 300 then 'critical' else 'warning' end, true, now(), '{}', 'v', true, '\\x00', '\\x00'
from generate_series(1, :n) n
join (select *, row_number() over (order by listing_id desc) as place from listing_state) s on s.place = n;
insert into warning_standing (seq, exchange, asset_id, token, listing_id, type, severity, issued_at, evidence)
select seq, exchange, asset_id, token, listing_id, type, severity, at, evidence
from warning_event where action = 'issued' on conflict do nothing;
analyze listing, market_asset, listing_state, warning_event, warning_standing;
"""


@pytest.fixture
def many(database: Database) -> Database:
    with database.write() as session:
        session.execute(text("set local statement_timeout = '120s'"))
        for statement in _LISTED.split(";\n"):
            if statement.strip():
                session.execute(text(statement), {"n": MANY} if ":n" in statement else {})
    return database


def page(exchange: str | None = None, prefix: str | None = None, offset: int = 0) -> Asked:
    return lambda session: board_views.board_page(session, exchange, prefix, offset, 201)


def page_after(place: int, exchange: str | None = None) -> Asked:
    """Behind the listing that has so many before it."""

    def ask(session: Session) -> object:
        first = session.execute(text("select min(listing_id) from listing_state")).scalar_one()
        after = first + place - 1
        return board_views.board_page(session, exchange, None, 0, 201, after)

    return ask


def found(prefix: str, offset: int = 0) -> Asked:
    return lambda session: board_views.found_tokens(session, prefix, offset, 21)


def standing(before: int | None = None, **chosen: str) -> Asked:
    return lambda session: warning_views.open_warnings(session, WarningFilter(**chosen), before, 51)


def issued(before: int | None = None, **chosen: str) -> Asked:
    return lambda session: warning_views.issued_warnings(
        session, WarningFilter(**chosen), before, 51
    )


RARE: Final[Mapping[str, str]] = {
    "exchange": "coinone",
    "token": "T9990",
    "type": "st_tag",
    "severity": "critical",
}
ASKED: Final[Mapping[str, Asked]] = {
    "the board": page(),
    "its fifth page": page(offset=800),
    "its last page but one, by a cursor": page_after(99_000),
    "an exchange far down, by a cursor": page_after(99_000, "okx"),
    "an exchange": page("binance"),
    "a small exchange": page("coinone"),
    "q of a token": page(prefix="T77/"),
    "q of a tenth": page(prefix="T1"),
    "q of everything": page(prefix="T"),
    "q of nothing": page(prefix="NOSUCH"),
    "q at an exchange": page("okx", "T77"),
    "a search": found("T77"),
    "a search of everything": found("T"),
    "a search of a pair": found("T77/USDT"),
    "a search of nothing": found("NOSUCH"),
    **{f"open by {name}": standing(**{name: value}) for name, value in RARE.items()},
    **{f"issued by {name}": issued(**{name: value}) for name, value in RARE.items()},
    "open": standing(),
    "open, a later page": standing(before=MANY // 2),
    "open by all": standing(**RARE),
    "open by what is usual": standing(exchange="okx", type="grade_drop", severity="warning"),
    "issued": issued(),
    "issued, a later page": issued(before=MANY // 2),
    "issued by all": issued(**RARE),
    "issued by what is usual": issued(exchange="okx", type="grade_drop", severity="warning"),
    "a token": lambda session: board_views.venues_of(session, 7, 50),
    "the warnings of assets": lambda session: board_views.standing_of(session, range(1, 50)),
    "the rows of ids": lambda session: board_views.values_of(session, range(1, 200)),
}


def test_a_page__reads_no_table_from_its_beginning_to_its_end(many: Database) -> None:
    dear = {
        what: seen
        for what, ask in ASKED.items()
        for plan in plans(many, ask)
        if (seen := faults(plan))
    }
    assert dear == {}


def test_ranks_among_peers__are_those_among_all_their_values(many: Database) -> None:
    with many.write() as session:
        pairs = session.execute(
            text(
                "update listing_state set in_hours = 24, in_spread_bps = listing_id, in_depth_usd = 1, "
                "in_slip_10k_bps = case when listing_id % 4 > 0 then listing_id end "
                "where exchange in ('okx', 'coinone') returning exchange, listing_id"
            )
        ).all()
    spreads = sorted(float(id_) for exchange, id_ in pairs if exchange == "okx")
    slips = [math.inf if one % 4 == 0 else one for one in spreads]
    for value in (spreads[0], spreads[3_333], spreads[-1], math.inf):
        asked = {"spread_bps": value, "slip_10k_bps": value, "depth_usd": None, "volume_24h_usd": 1}
        with many.read() as session:
            found = research_views.peer_ranks(session, "okx", asked)
        assert found["spread_bps"] == PeerRank(rank(value, spreads), len(spreads))
        assert found["slip_10k_bps"] == PeerRank(rank(value, slips), len(spreads))
    assert found["depth_usd"] == PeerRank(None, len(spreads))
    assert found["volume_24h_usd"] == PeerRank(None, 0)


def test_a_page_far_down__reads_the_warnings_of_its_own_rows_alone(many: Database) -> None:
    [plan] = plans(many, page(offset=50_000))
    looked = [node["Actual Loops"] for node in nodes(plan) if on(node) == "warning_standing"]
    assert max(looked) <= 201


def plans(database: Database, ask: Asked) -> list[Any]:
    """How each statement of a read was answered."""
    sent: list[tuple[str, Any]] = []
    with database.read() as session:
        connection = session.connection()

        def hear(*told: Any) -> None:
            sent.append((told[2], told[3]))

        event.listen(connection, "before_cursor_execute", hear)
        ask(session)
        event.remove(connection, "before_cursor_execute", hear)
        return [
            connection.exec_driver_sql(
                f"explain (analyze, buffers, format json) {statement}", parameters
            ).scalar_one()[0]["Plan"]
            for statement, parameters in sent
        ]


def nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def on(node: Any) -> str | None:
    return node.get("Relation Name")


def faults(plan: Any) -> list[str]:
    blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    seen = [f"{blocks} blocks"] if blocks > MOST_BLOCKS else []
    for node in nodes(plan):
        if node["Node Type"] == "Seq Scan" and on(node) in BIG:
            seen.append(f"all of {on(node)}")
        if (past := node.get("Rows Removed by Filter", 0)) > MOST_PASSED_BY:
            seen.append(f"{past} rows of {on(node)} passed by")
    return seen
