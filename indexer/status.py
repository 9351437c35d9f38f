"""How the indexer is, for a person: read from Postgres and one look at the node, shown as tables or
as JSON.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from rich.table import Table
from rich.text import Text
from sqlalchemy.orm import Session

from core.audit import queries as audit
from core.audit.queries import AuditPosition, OpenFinding
from core.blocks import queries as chain
from core.blocks.queries import FINALIZED
from core.chain.blocks import BlockHeader
from core.db.leadership import LeaderRow, leader_row
from core.errors import OutsideError
from core.health import views as health
from core.health.rules import Health, HealthVerdict, IndexerFacts, judge_indexer
from core.health.views import PastReorg
from core.mandate.chain.reader import VaultReader
from core.mandate.queries import ledger_name
from core.mandate.rules.rows import NOT_SEEN
from core.market import scans
from core.market.scans import VenueLine
from core.quarantine.views.held import HeldLedger, held_ledgers
from core.times import instant_text

REORGS_SHOWN = 5
VAULTS_SHOWN = 5
FINDINGS_SHOWN = 20
HELD_SHOWN = 20
UNKNOWN = "unknown"
SCANNER: Final = "scanner"  # the leader's name


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerStatus:
    """`final` is the height below which no reorg is believed; None: the chain said nothing of it
    yet. `head_age_s`: by wall clock.
    """

    verdict: HealthVerdict
    facts: IndexerFacts
    leader: LeaderRow | None
    final: int | None
    head_age_s: int | None
    reorgs: Sequence[PastReorg]
    open_reverts: int
    unknown_vaults: int
    newest_unknown: Sequence[str]
    audit: AuditPosition | None  # None: no round of the auditor ended well yet
    findings: Sequence[OpenFinding]  # the newest that nobody closed
    # what a person calls a ledger that lacks facts, and why it does
    held: Sequence[tuple[str, HeldLedger]]
    scanner: LeaderRow | None
    venues: Sequence[VenueLine]

    @property
    def is_healthy(self) -> bool:
        return self.verdict.health is Health.OK

    @property
    def said(self) -> Mapping[str, Any]:
        """What the loop last said of itself."""
        return {} if self.leader is None else self.leader.status


def read(session: Session, reader: VaultReader, chain_id: int, now: datetime) -> IndexerStatus:
    """A node that does not answer leaves the head unknown; the database must be there."""
    head = _header(reader, "latest")
    facts = health.indexer_facts(session, now, None if head is None else head.number)
    if facts.cursor is not None and facts.is_suspect:
        following = _header(reader, facts.cursor + 1)
        facts = replace(facts, next_block_at=None if following is None else following.timestamp)
    final = chain.cursor(session, FINALIZED)
    count, newest = health.unknown_vaults(session, chain_id, VAULTS_SHOWN)
    return IndexerStatus(
        verdict=_verdict(facts),
        facts=facts,
        leader=leader_row(session, health.INDEXER),
        final=None if final is None else final.number,
        head_age_s=None if head is None else max(0, facts.now_s - head.timestamp),
        reorgs=health.last_reorgs(session, chain_id, REORGS_SHOWN),
        open_reverts=health.open_reverts(session, chain_id),
        unknown_vaults=count,
        newest_unknown=newest,
        audit=audit.audit_position(session, chain_id),
        findings=audit.open_findings(session, chain_id, FINDINGS_SHOWN),
        held=_held_now(session),
        scanner=leader_row(session, SCANNER),
        venues=scans.venues(session),
    )


def _verdict(facts: IndexerFacts) -> HealthVerdict:
    """As health says; without a node's word nobody knows that all is well."""
    found = judge_indexer(facts)
    if facts.head is not None or found.health is Health.DOWN:
        return found
    unseen = "No node in RPC_URLS answered, so the chain's height is unknown."
    return replace(
        found, health=Health.DEGRADED, note=" ".join(note for note in (found.note, unseen) if note)
    )


def _held_now(session: Session) -> list[tuple[str, HeldLedger]]:
    """Those that are held longest."""
    found = held_ledgers(session)[:HELD_SHOWN]
    return [(ledger_name(session, one.ledger, one.ledger_id), one) for one in found]


def _header(reader: VaultReader, at: str | int) -> BlockHeader | None:
    try:
        return reader.header(at)
    except OutsideError:
        return None


def as_json(report: IndexerStatus) -> str:
    """Everything that the tables show, as one object; unknown is null."""
    facts, leader = report.facts, report.leader
    return json.dumps(
        {
            "status": report.verdict.health.value,
            "note": report.verdict.note,
            "state": facts.state,
            "leader": None
            if leader is None
            else {
                "holder": leader.holder,
                "epoch": leader.epoch,
                "since": instant_text(leader.since),
                "beat_age_s": _beat_age_s(report),
            },
            "head": facts.head,
            "head_age_s": report.head_age_s,
            "cursor": facts.cursor,
            "safe": report.said.get("safe"),
            "finalized": report.said.get("finalized"),
            "final_below": report.final,
            "lag_blocks": report.verdict.lag_blocks,
            "lag_s": report.verdict.lag_s,
            "reorgs": [asdict(reorg) | {"at": instant_text(reorg.at)} for reorg in report.reorgs],
            "open_reverts": report.open_reverts,
            "unknown_vaults": {
                "count": report.unknown_vaults,
                "newest": list(report.newest_unknown),
            },
            "audit": _audit_as_json(report),
            "held": _held_as_json(report),
            "scanner": _scanner_as_json(report),
            "not_seen": NOT_SEEN,
        }
    )


def _audit_as_json(report: IndexerStatus) -> dict[str, Any]:
    """`round_at` null: no round ended well yet; `is_same_provider`: the record was held against the
    node that it came from.
    """
    at = report.audit
    return {
        "round_at": None if at is None else instant_text(at.round_at),
        "is_same_provider": None if at is None else at.is_same_provider,
        "blocks": None if at is None else at.blocks_total,
        "books": None if at is None else at.books_total,
        "open_findings": report.facts.open_findings,
        "findings": [
            {"id": one.id, "kind": one.kind, "what": one.what, "seen_at": instant_text(one.seen_at)}
            for one in report.findings
        ],
    }


def _held_as_json(report: IndexerStatus) -> dict[str, Any]:
    """`oldest`: the ledgers that are held longest; `from_block`, `reason` and `note` are of the
    first fact that each of them lacks.
    """
    oldest = [
        {
            "ledger": name,
            "facts": one.facts,
            "from_block": one.from_block,
            "since": instant_text(one.since),
        }
        | {"reason": one.reason, "note": one.note}
        for name, one in report.held
    ]
    return {
        "ledgers": report.facts.held_ledgers,
        "facts": report.facts.held_facts,
        "oldest": oldest,
    }


def _scanner_as_json(report: IndexerStatus) -> dict[str, Any] | None:
    """None: no scanner ever led."""
    row = report.scanner
    if row is None:
        return None
    return {
        "holder": row.holder,
        "epoch": row.epoch,
        "beat_age_s": row.silent_s(report.facts.now),
        "lag_p99_s": row.status.get("lag_p99_s"),
        "venues": [
            asdict(one)
            | {"since": instant_text(one.since), "updated_at": instant_text(one.updated_at)}
            for one in report.venues
        ],
    }


def scanner_tables(report: IndexerStatus) -> list[Table]:
    """Each venue, how it answers, and since when."""
    if report.scanner is None:
        return []
    beat_s = report.scanner.silent_s(report.facts.now)
    title = f"scanner: {report.scanner.holder}, heartbeat {beat_s} s ago"
    shown = Table(title=title, title_justify="left")
    for name in ("venue", "state", "since", "reason", "lag", "pairs"):
        shown.add_column(name, overflow="fold")
    for one in report.venues:
        lag = "unknown" if one.lag_s is None else f"{one.lag_s:.1f} s"
        since = instant_text(one.since)
        shown.add_row(one.exchange, one.state, since, one.reason or "", lag, str(one.listings))
    return [shown]


def tables(report: IndexerStatus) -> list[Table | Text]:
    """The position, the last reorgs, and what a reader should know of the counts."""
    findings = [_findings(report)] if report.findings else []
    held = [_held(report)] if report.held else []
    return [
        _position(report),
        *held,
        *findings,
        _reorgs(report),
        Text(f"Reverted calls: {NOT_SEEN}"),
    ]


def _position(report: IndexerStatus) -> Table:
    shown = Table(title=_title(report), title_justify="left", show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for name, value in _lines(report):
        shown.add_row(name, value)
    return shown


def _title(report: IndexerStatus) -> str:
    return f"indexer: {report.verdict.health.value}, {report.facts.state or 'no state'}"


def _lines(report: IndexerStatus) -> list[tuple[str, str]]:
    facts, leader = report.facts, report.leader
    leads = (
        "nobody"
        if leader is None
        else f"{leader.holder}, epoch {leader.epoch}, heartbeat {_beat_age_s(report)} s ago"
    )
    vaults = ", ".join(report.newest_unknown)
    lines = [
        ("leader", leads),
        ("head", f"{_number(facts.head)}, mined {_number(report.head_age_s)} s ago"),
        ("cursor", _number(facts.cursor)),
        ("safe", _number(report.said.get("safe"))),
        (
            "finalized",
            (
                f"{_number(report.said.get('finalized'))}; no reorg is accepted below "
                f"{_number(report.final)}"
            ),
        ),
        ("lag", f"{_number(facts.lag_blocks)} blocks, {_number(facts.lag_s)} s by wall clock"),
        ("open reverts", f"{report.open_reverts} without a reason yet"),
        ("unknown vaults", f"{report.unknown_vaults}, newest {vaults}" if vaults else "0"),
        ("audit", _audit_line(report)),
        ("held back", f"{report.facts.held_facts} facts, from {report.facts.held_ledgers} ledgers"),
    ]
    return lines if report.verdict.note is None else [*lines, ("what to do", report.verdict.note)]


def _audit_line(report: IndexerStatus) -> str:
    at = report.audit
    if at is None:
        return "no round yet"
    against = "same provider" if at.is_same_provider else "another node"
    age_s = max(0, int((report.facts.now - at.round_at).total_seconds()))
    return (
        f"{at.blocks_total} blocks ({against}), {at.books_total} ledgers, last {age_s} s ago; "
        f"{report.facts.open_findings} open findings"
    )


def _findings(report: IndexerStatus) -> Table:
    shown = Table(
        title=f"open findings of the auditor, newest {FINDINGS_SHOWN}", title_justify="left"
    )
    for heading in ("id", "seen", "what"):
        shown.add_column(heading, overflow="fold")
    for one in report.findings:
        shown.add_row(str(one.id), instant_text(one.seen_at), one.what)
    return shown


def _held(report: IndexerStatus) -> Table:
    shown = Table(title=f"facts held back, the oldest {HELD_SHOWN} ledgers", title_justify="left")
    for heading in ("ledger", "facts", "from block", "since", "why"):
        shown.add_column(heading, overflow="fold")
    for name, one in report.held:
        shown.add_row(name, str(one.facts), str(one.from_block), instant_text(one.since), one.note)
    return shown


def _reorgs(report: IndexerStatus) -> Table:
    shown = Table(
        title=f"last {REORGS_SHOWN} reorgs" if report.reorgs else "no reorg yet",
        title_justify="left",
    )
    for heading in ("when", "depth", "back to", "rows reversed"):
        shown.add_column(heading, justify="left" if heading == "when" else "right")
    for reorg in report.reorgs:
        shown.add_row(
            instant_text(reorg.at), str(reorg.depth), str(reorg.ancestor), str(reorg.rows)
        )
    return shown


def _beat_age_s(report: IndexerStatus) -> int | None:
    return (
        None
        if report.facts.beat_at is None
        else max(0, int((report.facts.now - report.facts.beat_at).total_seconds()))
    )


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
