"""Signals: listed, and read one by one. A live one is paid once per follower."""

from typing import Any

from sqlalchemy.orm import Session

from api.areas.fund.schemas import (
    FundVaultPath,
    SignalPage,
    SignalPath,
    SignalRead,
    SignalsQuery,
)
from api.areas.fund.service.shown import no_signal, shown_paper, shown_signal, vault_of
from api.kernel.caller import AgentCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, Lines, ReadCall, Refusal
from api.kernel.pagination import page_of
from api.kernel.refusals import url_of
from api.kernel.sale import MeteredRead, OneSale, SentPayment
from api.payments.offer import payment_required, takes_usdc
from api.shared.ledger_download import LEDGER_ROWS, LedgerDownload
from core.db.engine import WriteSession
from core.fund import queries as fund
from core.fund.ledger import export
from core.fund.rules.signals import is_live
from core.fund.tables import FundVault
from core.hexes import hex_of

READ = "fund.signal"
READ_PRICE = "live_signal_read"


def browse(
    call: ReadCall, caller: Nobody | AgentCaller | OwnerCaller, command: SignalsQuery
) -> Answer[SignalPage]:
    """Errors: Refusal not_found, auth_required."""
    if command.live:
        if not isinstance(caller, AgentCaller):
            raise Refusal(
                "auth_required", "Live signals are for agents; send your key in X-SVC-User-Key."
            )
        return live(call, caller, FundVaultPath(id=command.id))
    vault = vault_of(call, command.id)
    page = page_of(call, "fund.signals", command)
    found = fund.past_signals(call.db, vault.id, call.now, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda signal: signal.seq)
    later = fund.superseded_among(call.db, vault.id, [signal.seq for signal in shown], call.now)
    return Answer(
        SignalPage(
            **_heading(call, vault),
            signals=[
                shown_signal(signal, call, is_superseded=signal.seq in later) for signal in shown
            ],
            next_cursor=next_cursor,
        )
    )


def ledger(call: ReadCall, caller: Nobody, command: LedgerDownload) -> Answer[Lines]:
    """Signals of all vaults behind a row, as far as they are historical
    (docs/verify.md#ledgers-of-the-service).
    """
    found = export.lines(call.db, command.after, LEDGER_ROWS, call.now)
    return Answer(Lines(), lines=iter([*found]))


def live(call: ReadCall, caller: AgentCaller, command: FundVaultPath) -> Answer[SignalPage]:
    """Always an answer: what is not paid for is counted. Errors: Refusal not_found."""
    vault = vault_of(call, command.id)
    found = fund.live_signals(call.db, vault.id, caller.account_id, call.now)
    later = fund.superseded_among(call.db, vault.id, [signal.seq for signal, _ in found], call.now)
    locked = [signal.seq for signal, is_paid in found if not is_paid]
    offer = {"payment_required": _offer(call, caller, locked[0])} if locked else {}
    return Answer(
        SignalPage(
            **_heading(call, vault),
            signals=[
                shown_signal(signal, call, is_superseded=signal.seq in later)
                for signal, is_paid in found
                if is_paid
            ],
            next_cursor=None,
            locked_count=len(locked),
            **offer,
        )
    )


def read(call: ReadCall, caller: AgentCaller, command: SignalPath) -> Answer[SignalRead]:
    """Free once it is historical, or paid for. Errors: Refusal not_found."""
    signal = fund.find_signal(call.db, command.signal_id) or no_signal(command.signal_id)
    is_superseded = bool(fund.superseded_among(call.db, signal.vault_id, [signal.seq], call.now))
    shown = shown_signal(signal, call, is_superseded=is_superseded)
    is_covered = not is_live(signal.at, call.now) or fund.is_paid(
        call.db, caller.account_id, signal.seq
    )
    return Answer(
        SignalRead(**shown.model_dump()),
        sale=sale_of(call, caller.account_id, signal.seq, is_covered=is_covered),
    )


def sells(command: SignalPath) -> bool:
    """Every number may be a signal's: which are, the database says when the call comes."""
    return True


def sale_of(call: Call, account_id: int, seq: int, *, is_covered: bool) -> OneSale:
    def record(session: WriteSession, paid_by: str) -> None:
        fund.record_sale(session, account_id, seq, paid_by, READ_PRICE, call.now)

    def is_paid(session: Session) -> bool:
        return fund.is_paid(session, account_id, seq)

    return OneSale(
        key=fund.sale_key(seq),
        lock=fund.sale_lock(account_id, seq),
        is_paid=is_paid,
        record=record,
        is_covered=is_covered,
    )


def metered(call: Call, caller: AgentCaller, seq: int) -> MeteredRead:
    """The read of a signal, as it is offered for a payment."""
    operation = call.deps.catalogue.by_key[READ]
    return MeteredRead(
        operation=operation,
        caller=caller,
        resource=url_of(call.deps.base_url, operation, {"signal_id": seq}),
        payment=SentPayment(),
        client=call.client,
        idempotency_key=None,
        slot=None,
        deps=call.deps,
        now=call.now,
    )


def _offer(call: Call, caller: AgentCaller, seq: int) -> dict[str, Any]:
    read = metered(call, caller, seq)
    needed = read.price.credits
    or_paid = ", or a payment as accepts says" if takes_usdc(read) else ""
    detail = f"A live signal costs {needed} credits, once{or_paid}."
    required = payment_required(read, detail)
    said: dict[str, Any] = (
        {"error": detail, "resource": {"url": read.resource}, "accepts": []}
        if required is None
        else required.model_dump(mode="json", by_alias=True, exclude_none=True)
    )
    return said | {"credits": needed}


def _heading(call: Call, vault: FundVault) -> dict[str, Any]:
    rules = fund.rules_in_force(call.db, [vault])[vault.id]
    return {
        "vault_id": vault.id,
        "mirroring_paused": vault.is_paused,
        "rules_hash": hex_of(rules.rules_hash),
        "paper": shown_paper(vault, call),
    }
