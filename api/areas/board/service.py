"""Reads of the board, of warnings and of what happened to a token (docs/board.md)."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from api.areas.board.schemas import (
    MOST_PASSED_BY,
    BoardPage,
    BoardPlace,
    BoardRowsQuery,
    BoardWarnings,
    CrisisWarning,
    OutcomeFigure,
    TimelineEntry,
    TimelineQuery,
    TokenTimeline,
    WarningsQuery,
    WarningStatistics,
    WciReport,
    WciWindow,
)
from api.kernel.built import BuiltBody
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Lines, ReadCall, Refusal
from api.kernel.pagination import page_of
from api.shared.board_row import (
    exchange_code,
    exchange_or_none,
    rows_of,
    simulated,
    symbol_prefix,
    ticker_of,
    transfer_word,
)
from api.shared.ledger_download import LEDGER_ROWS, LedgerDownload
from api.shared.published import chosen_version, publication
from core.market import board_views, warning_views
from core.market.ledger import export
from core.market.rules.warnings import RULES
from core.market.rules.wci import DEFINITION_SINCE, VERSION
from core.market.scan_tables import MarketSummary
from core.market.tables import MarketWarning, MarketWarningStanding
from core.market.warning_views import TimelineKind, TimelineRow, WarningFilter
from core.published.rules import PublishedVersion

B3: Final = "B3"
PREDICTIVE: Final = frozenset(rule.type.value for rule in RULES if rule.is_predictive)
SKIP_BITS: Final = 12  # of a place in a timeline: how many rows of its instant were shown
MOST_SKIPPED: Final = 2**SKIP_BITS - 1
MICROSECOND: Final = timedelta(microseconds=1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def rows(call: ReadCall, caller: Nobody, command: BoardRowsQuery) -> Answer[BoardPage]:
    """A page of the board. Errors: InvalidParameterError; Refusal invalid_parameter."""
    exchange = exchange_or_none(command.exchange)
    prefix = None if command.q is None else symbol_prefix(command.q)
    if command.offset > MOST_PASSED_BY or (command.cursor is not None and command.offset):
        raise Refusal(
            "invalid_parameter",
            f"offset: at most {MOST_PASSED_BY}, and never together with cursor; to read "
            "further, send the next_cursor of the previous page as cursor, or narrow the "
            "board with exchange or q.",
            next_calls=("board.rows",),
        )
    place = BoardPlace(exchange=exchange, q=prefix, cursor=command.cursor)
    page_after = page_of(call, "board.rows", place)
    found = board_views.board_page(
        call.db, exchange, prefix, command.offset, command.limit + 1, page_after.before
    )
    shown = found[: command.limit]
    has_more, next_offset = len(found) > command.limit, command.offset + command.limit
    is_near = command.cursor is None and next_offset <= MOST_PASSED_BY
    is_whole = exchange is None and prefix is None
    page = rows_of(call, shown)
    fields = {
        "rows": page,
        "limit": command.limit,
        "offset": command.offset,
        "next_offset": next_offset if has_more and is_near else None,
        "next_cursor": page_after.cursor(shown[-1].version.listing_id) if has_more else None,
        "total": board_views.row_count(call.db) if is_whole else None,
        **simulated(any("simulated" in row for row in page)),
    }
    return Answer(BuiltBody[BoardPage](fields))


def warnings(call: ReadCall, caller: Nobody, command: WarningsQuery) -> Answer[BoardWarnings]:
    """A page of warnings, beside a day of their statistics. Errors: InvalidParameterError."""
    page = page_of(call, "board.warnings", command)
    found = chosen_version(
        partial(warning_views.statistics_of, call.db),
        ("stats_day", command.stats_day),
        ("stats_version", command.stats_version),
    )
    chosen = WarningFilter(
        exchange_or_none(command.exchange),
        None if command.token is None else ticker_of(command.token),
        command.type,
        command.severity,
    )
    listed: list[tuple[MarketWarning | MarketWarningStanding, datetime, datetime | None]]
    if command.all:
        issued = warning_views.issued_warnings(call.db, chosen, page.before, page.limit + 1)
        shown, next_cursor = page.cut(issued, lambda one: one[0].seq)
        listed = [(one, one.at, ended) for one, ended in shown]
    else:
        standing = warning_views.open_warnings(call.db, chosen, page.before, page.limit + 1)
        kept, next_cursor = page.cut(standing, lambda one: one.seq)
        listed = [(one, one.issued_at, None) for one in kept]
    token_ids = board_views.token_ids_of(
        call.db, {one.listing_id for one, _, _ in listed if one.listing_id is not None}
    )
    return Answer(
        BoardWarnings(
            warnings=[
                _warning(one, at, ended, token_ids.get(one.listing_id or 0))
                for one, at, ended in listed
            ],
            next_cursor=next_cursor,
            stats=_statistics(found, board_views.summary(call.db)),
            **simulated(board_views.is_simulated(call.db)),
        )
    )


def ledger(call: ReadCall, caller: Nobody, command: LedgerDownload) -> Answer[Lines]:
    """The ledger of warnings behind a row (docs/verify.md#ledgers-of-the-service)."""
    return Answer(Lines(), lines=iter([*export.lines(call.db, command.after, LEDGER_ROWS)]))


def timeline(call: ReadCall, caller: Nobody, command: TimelineQuery) -> Answer[TokenTimeline]:
    """Errors: InvalidParameterError; Refusal not_found."""
    page = page_of(call, "board.timeline", command)
    exchange, token = exchange_or_none(command.exchange), ticker_of(command.token)
    asset = board_views.find_asset(call.db, token)
    if asset is None:
        raise Refusal(
            "not_found",
            f"No exchange lists {token}; search for it by the beginning of its ticker.",
            next_calls=("board.rows",),
        )
    until, skipped = _place(page.before)
    wanted = page.limit + 1 + skipped
    found = warning_views.timeline(call.db, asset.asset_id, exchange, until, wanted)[skipped:]
    shown = found[: page.limit]
    next_cursor = None
    if len(found) > page.limit:
        last = shown[-1].at
        same = sum(row.at == last for row in shown) + (skipped if last == until else 0)
        next_cursor = page.cursor(_microseconds(last) << SKIP_BITS | min(same, MOST_SKIPPED))
    return Answer(
        TokenTimeline(
            token=token,
            rows=[_entry(row) for row in shown],
            next_cursor=next_cursor,
            **simulated(asset.is_simulated),
        )
    )


def _place(before: int | None) -> tuple[datetime | None, int]:
    """The instant of the last row shown, and how many rows of that instant were."""
    if before is None:
        return None, 0
    return EPOCH + (before >> SKIP_BITS) * MICROSECOND, before & MOST_SKIPPED


def _microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def _warning(
    one: MarketWarning | MarketWarningStanding,
    issued_at: datetime,
    cleared_at: datetime | None,
    token_id: str | None,
) -> CrisisWarning:
    return CrisisWarning.of(
        one,
        predictive=one.type in PREDICTIVE,
        exchange_code=exchange_code(one.exchange),
        token_id=token_id,
        issued_at=issued_at,
        cleared_at=cleared_at,
    )


def _entry(row: TimelineRow) -> TimelineEntry:
    is_transfer = row.kind is TimelineKind.TRANSFER
    return TimelineEntry.of(
        row,
        exchange_code=exchange_code(row.exchange),
        state=transfer_word(row.is_open) if is_transfer else None,
    )


def _statistics(found: PublishedVersion | None, counted: MarketSummary | None) -> WarningStatistics:
    reports = (
        {}
        if found is None
        else {name: _report(name, one, found.day) for name, one in found.figures.items()}
    )
    headline = reports.get(VERSION)
    return WarningStatistics(
        published=None if found is None else publication(found),
        wci_rate=None if headline is None else headline.headline.rate,
        wci_definition_version=VERSION,
        wci_definition_since=DEFINITION_SINCE,
        precision_90d=None if headline is None else headline.headline.precision,
        wci_b3=reports.get(B3),
        wci_b31=headline,
        unsure_notices_90d=None if counted is None else counted.figures.get("unsure_notices_90d"),
    )


def _report(name: str, reading: Mapping[str, Any], day: date) -> WciReport:
    headline = _window(reading, "headline")
    return WciReport(
        version=name,
        wci_definition=reading["definition"],
        day=day,
        headline=headline,
        second=_window(reading, "second"),
        xflag_credit=headline.xflag_credit,
    )


def _window(reading: Mapping[str, Any], name: str) -> WciWindow:
    """`reading`: as core.market.rules.wci.to_json wrote it."""
    one = SimpleNamespace(**reading[name])
    by_type = [OutcomeFigure(type=of.pop("kind"), **of) for of in map(dict, one.by_kind)]
    return WciWindow.of(one, by_type=by_type)
