"""Applications for a pilot on an index: sent with a bond, approved or rejected, bonds given back.

checked --> bond in credits held | bond in USDC proved by the chain --> kept
"""

from datetime import timedelta
from typing import Any, Final

from eth_utils.address import to_checksum_address

from api.areas.fund.schemas.pilots import (
    ApplicationList,
    ApplicationPath,
    ApplicationShown,
    ApplyForPilot,
    BondShown,
    OwnApplicationsQuery,
    RejectApplication,
    ReturnBond,
)
from api.areas.fund.service.indices import index_of
from api.areas.safety.checks import require_not_own, require_unlocked
from api.kernel.caller import AgentCaller, BearerCaller, OperatorCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from api.kernel.pagination import page_of
from api.kernel.refusals import lacks_credits
from api.payments.payment_config import PaymentConfig
from core.credits.rules.buckets import NotEnoughCreditsError
from core.errors import InvalidParameterError
from core.fund import applications as rows
from core.fund import indices
from core.fund.accounts import FundSetup
from core.fund.applications import PaidBond
from core.fund.bond_transfers import BondTransfer, NotSafeYetError, require_transfer
from core.fund.indices import ShownIndex
from core.fund.rules.applications import (
    ApplicationMoveKind,
    ApplicationState,
    ApplicationStateError,
    BondCurrency,
    BondNotDueError,
    NewApplication,
    bond_state,
    bond_usdc_e6,
    require_application,
)
from core.fund.rules.frozen import leverage_text
from core.fund.rules.indices import IndexRow, rows_in, universe_of
from core.fund.rules.journey import SPOT_PILOT
from core.fund.tables import FundApplication
from core.hexes import address_of, hex_of
from core.identity.queries import agent_ids_of_owner
from core.money import UsdcE6, usdc_text, usdc_text_or_none
from core.times import instant_text, instant_text_or_none

Applicant = AgentCaller | OwnerCaller | BearerCaller
SAFE_IN: Final = timedelta(seconds=30)


def apply(call: WriteCall, caller: Applicant, command: ApplyForPilot) -> Answer[ApplicationShown]:
    """Errors: InvalidParameterError, InvalidNumberError; Refusal not_found, account_locked,
    already_applied, bond_currency_refused, bond_unpaid, credit_insufficient, wallet_not_linked,
    settlement_pending; those of chain reads.
    """
    require_unlocked(call, caller.account_id)
    index = index_of(call, command.id)
    new = NewApplication(
        index_id=index.id,
        categories=tuple(one.value for one in command.filter_categories),
        fund_type=command.fund_type,
        plan_text=command.plan_text,
        cadence=command.rebalance_cadence,
        leverage_e2=command.leverage,
        fee_bps=command.fee_bps,
        tvl_cap_usdc_e6=command.tvl_cap_usd,
        bond_currency=command.bond_currency,
    )
    require_application(new, indices.categories_of(index.key))
    if not _universe(index, new):
        raise InvalidParameterError(
            "filter_categories", "the index has no constituent of these today; name others"
        )
    waiting = rows.waiting_of(call.db, caller.account_id, index.id)
    if waiting is not None:
        raise _already(waiting)
    again = NextCall("fund.apply", {"id": str(index.id)}, _body(new, command.bond_tx))
    bond = _bond(call, caller, new, command.bond_tx, again)
    try:
        made = rows.submit(call.db, caller.account_id, new, bond, call.now)
    except NotEnoughCreditsError as error:
        raise _lacks(error) from error
    if made is None:
        found = rows.waiting_of(call.db, caller.account_id, index.id)
        assert found is not None, "that is why none was made"
        raise _already(found)
    return Answer(_shown(call, made), status=201)


def own(
    call: ReadCall, caller: Applicant, command: OwnApplicationsQuery
) -> Answer[ApplicationList]:
    ids = [caller.account_id]
    if isinstance(caller, OwnerCaller):
        ids += agent_ids_of_owner(call.db, caller.account_id)
    page = page_of(call, "fund.own_applications", command)
    found = rows.applications_before(call.db, ids, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda one: one.id)
    return Answer(
        ApplicationList(applications=[_shown(call, one) for one in shown], next_cursor=next_cursor)
    )


def approve(
    call: WriteCall, caller: OperatorCaller, command: ApplicationPath
) -> Answer[ApplicationShown]:
    """Errors: Refusal not_found, conflict_of_interest, wrong_status."""
    found = _to_decide(call, caller, command.id)
    index = index_of(call, found.index_id)
    universe = _universe(index, rows.said_of(found))
    if not universe and found.state == ApplicationState.SUBMITTED:
        raise Refusal(
            "wrong_status",
            f"Index {index.id} has no constituent for application {found.id} today; approve it "
            "another day, or reject it.",
            next_calls=(NextCall("fund.index", {"id": str(index.id)}),),
        )
    try:
        rows.approve(call.db, found, index, universe, caller.account_id, call.now)
    except ApplicationStateError as error:
        raise _decided(error) from error
    return Answer(_shown(call, found))


def reject(
    call: WriteCall, caller: OperatorCaller, command: RejectApplication
) -> Answer[ApplicationShown]:
    """Errors: InvalidParameterError; Refusal not_found, conflict_of_interest, wrong_status."""
    found = _to_decide(call, caller, command.id)
    try:
        rows.reject(call.db, found, command.reason, caller.account_id, call.now)
    except ApplicationStateError as error:
        raise _decided(error) from error
    return Answer(_shown(call, found))


def return_bond(
    call: WriteCall, caller: OperatorCaller, command: ReturnBond
) -> Answer[ApplicationShown]:
    """Errors: InvalidParameterError; Refusal not_found, wrong_status, settlement_pending; those of
    chain reads.
    """
    found = _held(call, command.id)
    is_usdc = found.bond_currency == BondCurrency.USDC
    if is_usdc is not (command.tx_hash is not None):
        rule = "name the transfer that gave it back" if is_usdc else "leave it out; it is credit"
        raise InvalidParameterError("tx_hash", rule)
    if command.tx_hash is not None and not found.is_bond_returned:
        assert found.bond_from is not None, "a bond in USDC has both"
        assert found.bond_to is not None, "a bond in USDC has both"
        wanted = BondTransfer(
            token=to_checksum_address(call.deps.contracts["usdc"]),
            sender=address_of(found.bond_to),
            to=address_of(found.bond_from),
            amount_usdc_e6=found.bond_usdc_e6 or 0,
        )
        again = NextCall("fund.return_bond", {"id": str(found.id)}, {"tx_hash": command.tx_hash})
        _require_transfer(call, command.tx_hash, wanted, "tx_hash", again)
    try:
        rows.give_back(call.db, found, caller.account_id, call.now, tx=command.tx_hash)
    except BondNotDueError as error:
        raise Refusal(
            "wrong_status", f"{error}.", retry_at=error.until, next_calls=("queue.list",)
        ) from error
    return Answer(_shown(call, found))


def _universe(index: ShownIndex, new: NewApplication) -> list[IndexRow]:
    found = [] if index.newest is None else rows_in(index.newest.figures)
    return universe_of(found, new.categories)


# The bond


def _bond(
    call: WriteCall, caller: Applicant, new: NewApplication, tx: str | None, again: NextCall
) -> PaidBond:
    if new.bond_currency is BondCurrency.USDC:
        return _in_usdc(call, caller, bond_usdc_e6(new.tvl_cap_usdc_e6), tx, again)
    if tx is not None:
        raise InvalidParameterError("bond_tx", "leave it out; the bond is in credits")
    found = call.deps.parts.of(FundSetup).credit_bonds.get(caller.account_id)
    if found is None:
        raise Refusal(
            "bond_currency_refused",
            "bond_currency: your account is not on the operators' list of bonds in credits; write "
            "usdc.",
        )
    return PaidBond(credits=found)


def _in_usdc(
    call: WriteCall, caller: Applicant, amount: UsdcE6, tx: str | None, again: NextCall
) -> PaidBond:
    config, wallet = call.deps.parts.find(PaymentConfig), caller.wallet_address
    if config is None:
        raise Refusal(
            "bond_currency_refused",
            "bond_currency: this service takes no USDC; its operator has to set X402_PAY_TO.",
        )
    if wallet is None:
        raise Refusal(
            "wallet_not_linked",
            f"A bond of {usdc_text(amount)} USDC comes from the wallet of your account; link one.",
        )
    wanted = BondTransfer(
        token=config.asset, sender=wallet, to=config.pay_to, amount_usdc_e6=amount
    )
    if tx is None:
        raise Refusal(
            "bond_unpaid",
            f"bond_tx: the bond is {usdc_text(amount)} USDC; send exactly that from {wallet} to "
            f"{config.pay_to}, and name the transaction here.",
            missing="bond_tx",
            next_calls=(again,),
            block={
                "bond": {
                    "usd": usdc_text(amount),
                    "from": wallet,
                    "to": config.pay_to,
                    "asset": config.asset,
                    "network": config.network,
                }
            },
        )
    _require_transfer(call, tx, wanted, "bond_tx", again)
    return PaidBond(usdc_e6=amount, tx=tx, sender=wallet, to=config.pay_to)


def _require_transfer(
    call: WriteCall, tx: str, wanted: BondTransfer, field: str, again: NextCall
) -> None:
    try:
        require_transfer(call.deps.chain, tx.lower(), wanted, field)
    except NotSafeYetError as error:
        raise Refusal(
            "settlement_pending",
            f"{field}: the transaction is not in a safe block yet; send the same call again.",
            retry_at=call.now + SAFE_IN,
            next_calls=(again,),
        ) from error


def _body(new: NewApplication, tx: str | None) -> dict[str, Any]:
    """As it was sent."""
    return {
        "filter_categories": list(new.categories),
        "fund_type": new.fund_type.value,
        "plan_text": new.plan_text,
        "rebalance_cadence": new.cadence.value,
        "leverage": leverage_text(new.leverage_e2),
        "fee_bps": new.fee_bps,
        "tvl_cap_usd": usdc_text(new.tvl_cap_usdc_e6),
        "bond_currency": new.bond_currency.value,
        **({} if tx is None else {"bond_tx": tx}),
    }


# What is refused


def _held(call: WriteCall, application_id: int) -> FundApplication:
    found = rows.held(call.db, application_id)
    if found is None:
        raise Refusal(
            "not_found", f"There is no application {application_id}.", next_calls=("queue.list",)
        )
    return found


def _to_decide(call: WriteCall, caller: OperatorCaller, application_id: int) -> FundApplication:
    """Held, and not the operator's own. Errors: Refusal not_found, conflict_of_interest."""
    found = _held(call, application_id)
    require_not_own(call, caller, found.account_id, f"Application {found.id}")
    return found


def _decided(error: ApplicationStateError) -> Refusal:
    return Refusal("wrong_status", f"{error}.", next_calls=("queue.list",))


def _already(found: FundApplication) -> Refusal:
    return Refusal(
        "already_applied",
        f"Your application {found.id} for index {found.index_id} waits for an operator; another "
        "one can follow when it is decided.",
        next_calls=("fund.own_applications",),
    )


def _lacks(error: NotEnoughCreditsError) -> Refusal:
    needed, available = error.needed, error.available
    return lacks_credits(
        f"The bond holds {needed} credits, earned or converted; you have {available} of these. It "
        "is given back.",
        needed,
        available,
    )


# Answers


def _shown(call: Call, application: FundApplication) -> ApplicationShown:
    kept = rows.with_moves(call.db, application)
    rejected = kept.moves.get(ApplicationMoveKind.REJECTED)
    returned = kept.moves.get(ApplicationMoveKind.BOND_RETURNED)
    is_returned = application.is_bond_returned
    return ApplicationShown.of(
        application,
        application_id=application.id,
        filter_categories=application.categories,
        rebalance_cadence=application.cadence,
        leverage=leverage_text(application.leverage_e2),
        tvl_cap_usd=usdc_text(application.tvl_cap_usdc_e6),
        bond=BondShown(
            currency=BondCurrency(application.bond_currency),
            usd=usdc_text_or_none(application.bond_usdc_e6),
            credits=application.bond_credits,
            state=bond_state(kept.due_at, call.now, is_returned=is_returned),
            due_at=instant_text_or_none(kept.due_at),
            paid_by=None if application.bond_tx is None else hex_of(application.bond_tx),
            returned_at=None if returned is None else instant_text(returned.at),
            returned_by=None if returned is None or returned.tx is None else hex_of(returned.tx),
        ),
        spot_pilot_days=SPOT_PILOT.days,
        reason=None if rejected is None else rejected.reason,
    )
