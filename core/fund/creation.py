"""Requests for the creation of a vault: asked for, moved by operators, read. Nothing here commits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import literal_column, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.errors import InvalidParameterError
from core.fund.rules.creation import (
    WAITING,
    CreationState,
    require_created_at,
    require_move,
    require_pilot,
)
from core.fund.rules.frozen import FundKind
from core.fund.tables import FundCreationMove, FundCreationRequest, FundVault

# words of the partial index's predicate, no parameters
_IS_WAITING = FundCreationRequest.state.in_([literal_column(f"'{one}'") for one in WAITING])


@dataclass(frozen=True, slots=True)
class KeptRequest:
    """A request, and by state the move that brought it there."""

    request: FundCreationRequest
    moves: Mapping[CreationState, FundCreationMove]

    def at(self, state: CreationState) -> datetime | None:
        return self.moves[state].at if state in self.moves else None


def ask(
    session: WriteSession, vault: FundVault, account_id: int, now: datetime
) -> tuple[FundCreationRequest, bool]:
    """The vault's request that is not rejected, and whether it is new. The vault is held.

    Errors: PerpVaultError, PilotTooYoungError.
    """
    require_pilot(FundKind(vault.kind), vault.created_at, now)
    last = last_of(session, vault.id)
    if last is not None and last.state != CreationState.REJECTED:
        return last, False
    made = FundCreationRequest(
        vault_id=vault.id,
        account_id=account_id,
        state=CreationState.REQUESTED.value,
        requested_at=now,
    )
    session.add(made)
    session.flush()
    return made, True


def last_of(session: Session, vault_id: int) -> FundCreationRequest | None:
    """The vault's newest request."""
    return session.scalar(
        select(FundCreationRequest)
        .where(FundCreationRequest.vault_id == vault_id)
        .order_by(FundCreationRequest.id.desc())
        .limit(1)
    )


def with_moves(session: Session, request: FundCreationRequest) -> KeptRequest:
    found = session.scalars(
        select(FundCreationMove).where(FundCreationMove.request_id == request.id)
    )
    return KeptRequest(request, {CreationState(one.state): one for one in found})


def held(session: WriteSession, request_id: int) -> FundCreationRequest | None:
    """The request, held until the transaction ends: its moves come one by one."""
    query = select(FundCreationRequest).where(FundCreationRequest.id == request_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True))


def move(
    session: WriteSession,
    request: FundCreationRequest,
    wanted: CreationState,
    by_id: int,
    now: datetime,
    *,
    address: bytes | None = None,
    reason: str | None = None,
) -> None:
    """`address`: of a vault that was created; `reason`: of a rejection. The request is held.

    Errors: CreationStateError; InvalidParameterError for an address that no new vault can have.
    """
    require_move(CreationState(request.state), wanted)
    if address is not None:
        require_created_at(address)
    made = session.scalar(
        insert(FundCreationMove)
        .values(
            request_id=request.id,
            state=wanted.value,
            address=address,
            reason=reason,
            by_id=by_id,
            at=now,
        )
        .on_conflict_do_nothing()
        .returning(FundCreationMove.request_id)
    )
    if made is None:
        raise InvalidParameterError(
            "address", "another request was created at this address; send this vault's own"
        )
    request.state = wanted.value
    session.flush()


def waiting(session: Session, after: int, limit: int) -> Sequence[FundCreationRequest]:
    """Those that an operator has to move, the oldest first; `after`: an id, exclusive."""
    query = select(FundCreationRequest).where(_IS_WAITING, FundCreationRequest.id > after)
    return session.scalars(query.order_by(FundCreationRequest.id).limit(limit)).all()


def pilot_of(session: Session, account_ids: Collection[int]) -> FundVault | None:
    """The oldest pilot of these makers, a spot one before a perp one, which leads to no vault."""
    return session.scalar(
        select(FundVault)
        .where(FundVault.maker_id.in_(account_ids))
        .order_by(FundVault.kind == FundKind.PERP.value, FundVault.id)
        .limit(1)
    )
