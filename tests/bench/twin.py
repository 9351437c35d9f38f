"""The bound of `make bench-api`: three calls of the product as whoever follows FastAPI's and SQLAlchemy's
own pages would write them, on the same database. Beside them the bare SELECTs and the stream that are other
benches' bounds.

    GET  /mandate-wallet/mandates                  credential and count, then mandates, heads, held ledgers
    GET  /playbooks/{pb}/{path}                    credential and count, then the charge
    POST /mandate-wallet/mandates/{id}/events      credential and count, then the mandate under its lock, its
                                                   head, what is held, the day's outflows, the last signed row,
                                                   and the ledger's own append

Laws
- A call sends the statements that the product sends, each once; where Python has to make something of
  them (the ledger's row with its hash and fold, the credit's posting), it is the same code.
- Bodies are Pydantic models and equal the product's; a dead key is 401, an empty day 429, no credit 402.

python -m tests.bench.twin PORT
"""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Path, Query, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, JsonValue, PlainSerializer
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from api.areas.hall.tables import HallAgent
from api.areas.playbooks.service.shelf import shelf
from api.kernel.limits import Limits
from api.kernel.quota import ceilings
from api.kernel.tokens import token_hash
from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import NotEnoughCreditsError
from core.db.engine import WriteSession
from core.identity.calls import KeyCall, count_call
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.tables import Mandate, MandateEvent, MandateHead
from core.quarantine.tables import QuarantinedFact
from tests.bench.place import HEAP, PEPPER

CONNECTIONS = 40  # as many as Starlette has threads
HALL_ROWS = 20
ENGINE = create_engine(
    os.environ.get("DATABASE_URL", "postgresql+psycopg://"), pool_size=CONNECTIONS
)
ALONE = ENGINE.execution_options(isolation_level="AUTOCOMMIT")
LIMITS = Limits(daily_ceiling=int(HEAP))

app = FastAPI()


def usdc(amount_e6: int | None) -> str | None:
    return None if amount_e6 is None else f"{amount_e6 // 10**6}.{amount_e6 % 10**6:06d}"


def instant(at: datetime | None) -> str | None:
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")


Usdc = Annotated[int, PlainSerializer(usdc)]
Instant = Annotated[datetime, PlainSerializer(instant)]
Id = Annotated[int, PlainSerializer(str)]


class MandateOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    public_id: str
    agent_id: Id | None
    open_board: bool
    purpose: str
    budget_usdc: Usdc
    horizon_days: int
    stop_floor_bps: int
    stop_floor_usdc: Usdc
    target_bps: int | None
    payout_rule: dict[str, JsonValue] | None
    fee_payee: dict[str, JsonValue] | None
    allowed_targets: list[dict[str, JsonValue]]
    per_tx_cap_usdc: Usdc | None
    daily_cap_usdc: Usdc | None
    approval_above_usdc: Usdc | None
    on_floor: Literal["keep", "close"]
    chain_id: int
    market_mode: str
    vault_address: str | None
    status: str
    paused: bool
    paused_at: Instant | None
    last_paused_at: Instant | None
    last_resumed_at: Instant | None
    created_at: Instant
    signed_at: Instant | None
    accepted_at: Instant | None
    ends_at: Instant | None
    ended_at: Instant | None
    strategy: dict[str, JsonValue] | None
    proposed_by_agent_id: Id | None


class MandateList(BaseModel):
    mandates: list[MandateOut]
    next_cursor: str | None


class Report(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["note"]
    why: str
    payload: dict[str, JsonValue]


class EventOut(BaseModel):
    id: int
    kind: str
    amount_usdc: Usdc | None
    tx_hash: str | None
    chain_id: int
    block_number: int | None
    log_index: int | None
    payload: dict[str, JsonValue]
    reported_by: str
    occurred_at: Instant
    created_at: Instant
    row_hash: str
    signed_by: str | None


class StoredReport(BaseModel):
    mandate_id: str
    recorded: bool
    violation: bool
    codes: list[str]
    event: EventOut


# Dependencies


def agent_of(response: Response, x_svc_user_key: Annotated[str | None, Header()] = None) -> KeyCall:
    """Whose key it is, once its call is counted."""
    if x_svc_user_key is None:
        raise HTTPException(401, "send a key")
    with ALONE.connect() as connection:
        key_hash = token_hash(PEPPER.encode(), x_svc_user_key)
        found = count_call(connection, key_hash, datetime.now(UTC), ceilings(LIMITS))
    if found is None or found.kind != "agent":
        raise HTTPException(401, "the key is not valid")
    if found.scopes is not None and "read" not in found.scopes:
        raise HTTPException(403, "the key lacks the scope")
    response.headers["X-RateLimit-Limit"] = str(found.ceiling)
    if found.number is None:
        raise HTTPException(429, "today's calls are used up")
    response.headers["X-RateLimit-Remaining"] = str(found.ceiling - found.number)
    return found


def reading() -> Iterator[Session]:
    with Session(ENGINE) as session:
        yield session


def writing() -> Iterator[WriteSession]:
    with WriteSession(ENGINE, expire_on_commit=False) as session, session.begin():
        yield session


Agent = Annotated[KeyCall, Depends(agent_of)]
Reading = Annotated[Session, Depends(reading)]
Writing = Annotated[WriteSession, Depends(writing, scope="function")]  # committed before the answer


# Routes


@app.get("/mandate-wallet/mandates")
def own_mandates(
    agent: Agent,
    db: Reading,
    status: Annotated[str | None, Query(max_length=20)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> MandateList:
    query = select(Mandate).where(
        (Mandate.agent_id == agent.account_id)
        | ((Mandate.proposed_by_agent_id == agent.account_id) & (Mandate.status == "draft"))
    )
    if status is not None:
        query = query.where(Mandate.status == status)
    found = db.scalars(query.order_by(Mandate.id.desc()).limit(limit + 1)).all()
    ids = [one.id for one in found]
    heads = {
        one.mandate_id: one.state
        for one in db.scalars(select(MandateHead).where(MandateHead.mandate_id.in_(ids)))
    }
    require_whole(db, ids)
    shown = [shown_mandate(one, heads.get(one.id, {})) for one in found[:limit]]
    return MandateList(mandates=shown, next_cursor=shown[-1].id if len(found) > limit else None)


def shown_mandate(one: Mandate, state: dict[str, Any]) -> MandateOut:
    return MandateOut(
        id=one.public_id,
        public_id=one.public_id,
        agent_id=one.agent_id,
        open_board=one.open_board,
        purpose=one.purpose,
        budget_usdc=one.budget_usdc_e6,
        horizon_days=one.horizon_days,
        stop_floor_bps=one.stop_floor_bps,
        stop_floor_usdc=int(one.terms["stopFloor"]),
        target_bps=one.target_bps,
        payout_rule=one.payout_rule,
        fee_payee=None,
        allowed_targets=one.allowed_targets,
        per_tx_cap_usdc=one.per_tx_cap_usdc_e6,
        daily_cap_usdc=one.daily_cap_usdc_e6,
        approval_above_usdc=one.approval_above_usdc_e6,
        on_floor=one.on_floor,
        chain_id=one.chain_id,
        market_mode=one.market_mode,
        vault_address=None if one.vault_address is None else "0x" + one.vault_address.hex(),
        status=one.status,
        paused=state.get("paused_since") is not None,
        paused_at=state.get("paused_since"),
        last_paused_at=state.get("last_paused_at") or state.get("paused_since"),
        last_resumed_at=state.get("last_resumed_at"),
        created_at=one.created_at,
        signed_at=one.signed_at,
        accepted_at=one.accepted_at,
        ends_at=one.ends_at,
        ended_at=one.ended_at,
        strategy=one.strategy,
        proposed_by_agent_id=one.proposed_by_agent_id,
    )


def require_whole(db: Session, mandate_ids: list[int]) -> None:
    """No ledger of these is held back (in a bench none is)."""
    held = select(QuarantinedFact.ledger_id, QuarantinedFact.reason).where(
        QuarantinedFact.ledger == "mandate",
        QuarantinedFact.ledger_id.in_(mandate_ids),
        QuarantinedFact.released_at.is_(None),
        QuarantinedFact.withdrawn_at.is_(None),
    )
    if db.execute(held).first() is not None:
        raise HTTPException(409, "a ledger is held back")


@app.get("/playbooks/{pb}/{path:path}")
def page(agent: Agent, db: Writing, response: Response, pb: str, path: str) -> PlainTextResponse:
    book = shelf().playbooks.get(pb)
    if book is None or path not in book.pages:
        raise HTTPException(404, "there is no such page")
    price, key = 1, f"read:{uuid.uuid4().hex}"
    said = {"price": "playbook_read", "resource": f"/playbooks/{pb}/{path}"}
    try:
        credit_ledger.spend(db, agent.account_id, price, key, said, datetime.now(UTC))
    except NotEnoughCreditsError as error:
        raise HTTPException(402, "credits are used up") from error
    headers = {**response.headers, "X-Credits-Charged": str(price)}
    return PlainTextResponse(book.pages[path].text, headers=headers, media_type="text/markdown")


@app.post("/mandate-wallet/mandates/{id}/events")
def report(
    agent: Agent, db: Writing, name: Annotated[str, Path(alias="id")], sent: Report
) -> StoredReport:
    mandate = db.scalars(select(Mandate).where(Mandate.public_id == name).with_for_update()).first()
    if mandate is None or mandate.agent_id != agent.account_id:
        raise HTTPException(404, "there is no such mandate of yours")
    head = db.get(MandateHead, mandate.id)
    if head is None or mandate.signature is None:
        raise HTTPException(409, "its record begins with the owner's signature")
    require_whole(db, [mandate.id])
    now = datetime.now(UTC)
    spent = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate.id,
        MandateEvent.occurred_at > now - timedelta(days=1),
        MandateEvent.cash_delta_usdc_e6 < 0,
    )
    signed = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate.id,
        MandateEvent.reported_by == "agent",
        MandateEvent.author.is_not(None),
    )
    outflows = db.scalars(spent).all()  # a note spends nothing: no cap is looked at
    if db.scalars(signed.order_by(MandateEvent.seq.desc()).limit(1)).first() is not None:
        raise HTTPException(409, "this record is signed row by row")
    row = NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.AGENT,
        occurred_at=now,
        base_key=f"report:{uuid.uuid4().hex}",
        chain_id=mandate.chain_id,
        payload={**sent.payload, "why": sent.why},
    )
    written = mandate_ledger.append(db, mandate.id, row, now).row
    shown = EventOut(
        id=written.seq,
        kind=written.kind,
        amount_usdc=written.amount_usdc_e6,
        tx_hash=written.tx_hash,
        chain_id=mandate.chain_id,
        block_number=written.block_number,
        log_index=written.log_index,
        payload=written.payload,
        reported_by=written.reported_by,
        occurred_at=written.occurred_at,
        created_at=written.created_at,
        row_hash=written.row_hash,
        signed_by=None,
    )
    return StoredReport(
        mandate_id=mandate.public_id, recorded=True, violation=bool(outflows), codes=[], event=shown
    )


# Bounds of other benches


@app.get("/bare")
def bare(db: Reading) -> dict[str, Any]:
    row = db.execute(select(Account.id, Account.name).order_by(Account.id).limit(1)).one()
    return {"id": row.id, "name": row.name}


@app.get("/bare/hall")
def bare_hall(db: Reading) -> list[dict[str, Any]]:
    query = (
        select(HallAgent.agent_id, HallAgent.rank, HallAgent.days_live, HallAgent.record)
        .where(HallAgent.is_listed)
        .order_by(HallAgent.ranked.desc(), HallAgent.days_live.desc(), HallAgent.agent_id)
        .limit(HALL_ROWS)
    )
    return [dict(row._mapping) for row in db.execute(query)]


@app.get("/asleep")
async def asleep() -> StreamingResponse:
    """A stream that says nothing but that it is there."""
    return StreamingResponse(_heartbeats(), media_type="text/event-stream")


async def _heartbeats() -> AsyncIterator[bytes]:
    yield b"retry: 3000\nid: 0\n\n"
    while True:
        await asyncio.sleep(15)
        yield b": heartbeat\n\n"


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]))
