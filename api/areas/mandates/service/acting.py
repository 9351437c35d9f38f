"""What an agent does by the API: accept, build a call, ask for the end.

Nothing here sends (docs/agents.md#the-loop).
"""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from api.areas.mandates.schemas.answers import ExecuteBuilt, MandateEnd, OneMandate
from api.areas.mandates.schemas.commands import EndMandate, ExecuteCall, MandatePath
from api.areas.mandates.service.access import (
    held_by_locked,
    is_on_board,
    named_to,
    not_found,
    party_of,
)
from api.areas.mandates.service.authors import require_next, signed_by_author
from api.areas.mandates.service.current import Current, current_by, current_of
from api.areas.mandates.service.drafts import require_accepting
from api.areas.mandates.service.key_limits import require_within_key_limits
from api.areas.mandates.service.limits_now import (
    Standing,
    remaining_in_record,
    remaining_on_chain,
    standing_of,
    vault_model,
)
from api.areas.mandates.service.owner_calls import built, cancel_terms_call, stop_call_of
from api.areas.mandates.service.paying import keep, paying_call
from api.areas.mandates.service.views import is_paper, mandate_view, rules_of, terms_of
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, Family, Refusal, WriteCall
from api.kernel.scopes import SPEND_SCOPE, require_named_scope
from core.chain.abi import AbiEncodeError, call_by_signature
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcCodeFailedError, RpcError, RpcRevertedError
from core.chain.reader import reason_of_run, refusal_name
from core.errors import InvalidNumberError, InvalidParameterError, WrongStatusError
from core.hexes import bytes_of
from core.mandate import queries as mandates
from core.mandate.chain import calldata
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import limits
from core.mandate.rules.cash import stop_row
from core.mandate.rules.lifecycle import (
    MandateMove,
    MarketMode,
    MoveFacts,
    Status,
    StoppedBy,
    check_stop,
    next_status,
)
from core.mandate.rules.limits import check_call, rule_of
from core.mandate.rules.new_rows import stop_request_note
from core.mandate.rules.rows import UNKNOWN, NewRow, ReportedBy, RowAuthor
from core.mandate.rules.terms import ZERO_ADDRESS, RuleKind
from core.mandate.tables import Mandate
from core.money import usdc_text
from core.selectors import argument_types, element_type, member_types

INTEGER_KINDS = ("uint", "int")

# Accept


def accept(call: WriteCall, caller: AgentCaller, command: MandatePath) -> Answer[OneMandate]:
    """Accept a mandate that names the agent, or one of the open board.

    Accepting again changes nothing (docs/rules.md#accepting).
    """
    mandate = mandates.lock_named(call.db, command.id)
    if mandate is None:
        raise not_found(command.id)
    _require_acceptable(mandate)
    _require_designated(caller, mandate)
    require_accepting(call, caller.account_id)
    mandate.agent_id, mandate.accepted_at = caller.account_id, mandate.accepted_at or call.now
    call.db.flush()
    return Answer(OneMandate(mandate=mandate_view(call, mandate)))


def _require_acceptable(mandate: Mandate) -> None:
    """Errors: Refusal wrong_status. Who asks may be no party to the mandate, so that it leads to
    the caller's own offers.
    """
    try:
        next_status(
            Status(mandate.status),
            MandateMove.ACCEPT,
            MoveFacts(market_mode=MarketMode(mandate.market_mode)),
        )
    except WrongStatusError as error:
        raise Refusal("wrong_status", f"{error}.", next_calls=("mandates.offers",)) from error


def _require_designated(caller: AgentCaller, mandate: Mandate) -> None:
    """Errors: Refusal agent_not_designated, agent_owner_mismatch. The open board asks for no
    owner.
    """
    if is_on_board(mandate):
        return
    if mandate.agent_id != caller.account_id:
        raise Refusal(
            "agent_not_designated",
            "This mandate names another agent, or none; accept one that names you.",
        )
    if not mandate.open_board and caller.owner_id != mandate.owner_id:
        raise Refusal(
            "agent_owner_mismatch",
            "This mandate's owner is not your owner; owners can designate only their own agents.",
        )


# Building calls


def execute_call(
    call: WriteCall, caller: AgentCaller, command: ExecuteCall
) -> Answer[ExecuteBuilt]:
    """The vault's execute call, with what the vault would say to it.

    The call is there even when the answer is no, but for a payment.

    Checked as sent by the agent that the vault obeys (`check.agent`); `check.note` says so where
    the linked wallet is another. `check.source` is chain when the vault itself was asked at the
    latest block, ledger when the record's model answered (dry_run false, or the chain is out of
    reach). The model knows nothing of a short ledger: ok is null then, source none.
    `check.remaining` comes from the same, as of the block of `check.as_of`.
    Errors: InvalidNumberError for an amount above 0 of an exit; Refusal mandate_budget_exceeded
    above the mandate's own cash, spend_limit_reached above what the owner lets the key spend,
    scope_denied for a resource without the scope spend, server_guard for one that the terms do not
    list, or that the check says no to; InvalidParameterError for one of ours that nothing is sold
    at.
    """
    if command.resource is not None:
        require_named_scope(caller, SPEND_SCOPE, Family.WALLET)
    mandate = named_to(call, caller, command.id)
    standing = standing_of(call, mandate)
    vault = _vault_to_call(mandate, current_by(call, mandate, standing.reading, standing.now))
    _require_in_budget(standing, command.amount_usdc)
    paying = (
        None
        if command.resource is None
        else paying_call(call, caller, standing, vault, command, command.resource)
    )
    inner = _inner(call, caller, standing, command) if paying is None else paying.inner
    check, gas = _checked(call, standing, vault, inner, ask_chain=command.dry_run)
    check |= {"note": _sender_note(caller.wallet_address, check["agent"])}
    if paying is not None:
        paying = keep(call, caller, standing, paying, check)
        inner = paying.inner
    shown: dict[str, Any] = {
        "vault_address": vault,
        "target": inner.target,
        "amount_usdc": usdc_text(command.amount_usdc),
    }
    shown |= {} if paying is None else paying.shown
    shown |= {"gas": gas, "check": check}
    return Answer(
        ExecuteBuilt.model_validate(
            built(call, vault, calldata.execute(inner)) | shown | standing.reading.data_issue
        )
    )


def _inner(
    call: Call, caller: AgentCaller, standing: Standing, command: ExecuteCall
) -> calldata.VaultCall:
    """The target's call. Errors: Refusal spend_limit_reached; as call_data."""
    require_within_key_limits(call, caller, command.amount_usdc)
    if command.target is None or command.pay_to is not None:
        raise InvalidParameterError(
            "target", "send target with what to call, or resource with pay_to"
        )
    inner = calldata.VaultCall(command.target, command.amount_usdc, call_data(command))
    _require_free(standing, inner)
    return inner


def _require_free(standing: Standing, inner: calldata.VaultCall) -> None:
    """An exit spends nothing: the vault reverts with ExitNotFree otherwise.

    Errors: InvalidNumberError.
    """
    rule = rule_of(rules_of(standing.mandate), inner.target, inner.data[: len("0x12345678")])
    if rule is not None and rule.kind is RuleKind.EXIT and inner.max_spend:
        raise InvalidNumberError(
            "amount_usdc",
            usdc_text(inner.max_spend),
            "this function is an exit and spends nothing; send 0",
        )


def _vault_to_call(mandate: Mandate, current: Current) -> str:
    """Errors: Refusal wrong_status; RpcError of a short ledger that knows no vault, while the chain
    cannot be asked.
    """
    vault = current.vault
    if is_paper(mandate):
        raise Refusal(
            "wrong_status",
            "A paper mandate has no vault to call; report what you did with POST .../events.",
        )
    if vault is None:
        current.require_known()
        raise Refusal(
            "wrong_status",
            f"The mandate is {mandate.status} and has no vault yet; its owner deploys it first.",
        )
    return vault


def _require_in_budget(standing: Standing, amount_usdc_e6: int) -> None:
    """What a short ledger holds for the cash refuses nothing: the vault does."""
    if standing.short is not None:
        return
    cash = max(0, standing.state.cash_usdc_e6)
    if standing.status is Status.WORKING and amount_usdc_e6 > cash:
        raise Refusal(
            "mandate_budget_exceeded",
            f"The mandate's own cash is {usdc_text(cash)} USDC; ask for at most that, or "
            "wait until money comes back.",
            remaining={"left_total": usdc_text(cash)},
        )


def _checked(
    call: Call, standing: Standing, vault: str, inner: calldata.VaultCall, *, ask_chain: bool
) -> tuple[dict[str, Any], int | None]:
    """(check, gas). Gas is known only when the chain ran the call."""
    if ask_chain:
        try:
            block = call.deps.chain.header()
            if block is not None:
                return _checked_by_chain(call, standing, vault, inner, block)
        except RpcError:
            pass  # the model of the record answers instead, and says so
    in_record = remaining_in_record(standing)
    if standing.short is not None:
        unknown = {"ok": None, "reason": limits.DATA_ISSUE, "source": "none", "agent": None}
        return unknown | in_record, None
    model = vault_model(standing, vault)
    refused = check_call(
        model,
        model.agent,
        [limits.ProposedCall(inner.target, inner.max_spend, bytes_of(inner.data))],
        standing.now,
    )
    reason = None if refused is None else refused.reason
    return _verdict(reason, "ledger", model.agent) | in_record, None


def _checked_by_chain(
    call: Call, standing: Standing, vault: str, inner: calldata.VaultCall, block: BlockHeader
) -> tuple[dict[str, Any], int | None]:
    """The vault's own check and limits at that block, then the whole call as its agent would send
    it: a target's own failure is seen only there.
    """
    chain, gas = call.deps.chain, None
    agent, refusal = chain.agent(vault, block.hash), chain.check(vault, [inner], block.hash)
    reason = (refusal_name(refusal) or UNKNOWN) if refusal else None
    left = remaining_on_chain(call, standing.mandate, vault, block)
    if reason is None:
        try:
            gas = chain.estimate_gas(agent, vault, calldata.execute(inner))
        except (RpcRevertedError, RpcCodeFailedError) as error:
            reason = reason_of_run(error) or UNKNOWN
    return _verdict(reason, "chain", agent) | left, gas


def _verdict(reason: str | None, source: str, agent: str) -> dict[str, Any]:
    """`agent`: whom the vault obeys; zero is nobody."""
    return {
        "ok": reason is None,
        "reason": reason,
        "source": source,
        "agent": None if agent == ZERO_ADDRESS else agent,
    }


def _sender_note(linked: str | None, agent: str | None) -> str | None:
    """Whose transaction this has to be, where it is not plain."""
    if agent is None or agent == linked:
        return None
    yours = (
        "you have linked no wallet"
        if linked is None
        else f"not {linked}, the wallet that you have linked"
    )
    return (
        f"The vault obeys {agent}; {yours}. Send the call from {agent}, or ask the owner to set "
        "another agent."
    )


def call_data(command: ExecuteCall) -> str:
    """The target's call data: of function and args, of selector and data, or data alone.

    Errors: InvalidParameterError.
    """
    if command.function is not None:
        if command.data is not None or command.selector is not None:
            raise InvalidParameterError(
                "function", "send function with args, or selector with data, or only data"
            )
        arguments = _arguments(command.function, command.args or [])
        try:
            return call_by_signature(command.function, arguments)
        except AbiEncodeError as error:
            raise InvalidParameterError("args", _misfit(command.function, arguments)) from error
    if command.args is not None:
        raise InvalidParameterError("args", "they go with function, such as buy(uint256)")
    data = (command.selector or "0x") + (command.data or "0x").removeprefix("0x")
    if len(data) < len("0x12345678"):
        raise InvalidParameterError(
            "data",
            "send function with args, or selector with data, or data that begins with its selector",
        )
    return data.lower()


def _misfit(signature: str, arguments: Sequence[Any]) -> str:
    """Which argument does not fit, without its value: it may be a secret in the wrong place."""
    kinds = argument_types(signature, "function")
    fault = f"arguments do not fit ({', '.join(kinds)})"
    for number, (kind, value) in enumerate(zip(kinds, arguments, strict=True), start=1):
        try:
            call_by_signature(f"f({kind})", [value])
        except AbiEncodeError as error:
            rule = "" if error.rule is None else f". {error.rule[0].upper()}{error.rule[1:]}"
            return f"{fault}: argument {number} is not a valid {kind}{rule}"
    return fault


def _arguments(signature: str, args: Sequence[Any]) -> list[Any]:
    """JSON values as ABI values: digits as text are integers where the function takes one
    (JavaScript has no uint256).
    """
    kinds = argument_types(signature, "function")
    if len(kinds) != len(args):
        raise InvalidParameterError(
            "args",
            f"{signature} takes {len(kinds)} arguments, not {len(args)}; send each as one value",
        )
    return [_argument(kind, value) for kind, value in zip(kinds, args, strict=True)]


def _argument(kind: str, value: Any) -> Any:
    if isinstance(value, list):
        return _members(kind, value)
    if kind.startswith(INTEGER_KINDS) and isinstance(value, str):
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 78):
            raise InvalidParameterError("args", f"{kind} takes a whole number in digits")
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _members(kind: str, values: list[Any]) -> list[Any]:
    """The values of an array or a struct.

    A list that fits neither is left as it is: the encoder refuses it.
    """
    element, members = element_type(kind), member_types(kind)
    if element is not None:
        return [_argument(element, value) for value in values]
    return (
        [_argument(*pair) for pair in zip(members, values, strict=True)]
        if len(members) == len(values)
        else values
    )


# The end


def stop(
    call: WriteCall, caller: AgentCaller | OwnerCaller, command: EndMandate
) -> Answer[MandateEnd]:
    """End the mandate: on paper at once, else by the calls that their sender sends.

    Nothing is said to have ended before the chain has it: a signature that is out can become a
    vault whatever the record knows, and `cancel_call` and `call` can each lose a race with it.

    An agent's request is a note. An agent that only proposed a draft stops nothing: the mandate may
    name another.
    """
    by = StoppedBy.OWNER if isinstance(caller, OwnerCaller) else StoppedBy.AGENT
    # a node is asked without the lock
    author = _author_of_end(call, party_of(call, caller, command.id), by, command)
    mandate = held_by_locked(call, caller, command.id)
    current = current_of(call, mandate)
    next_status(
        current.status, MandateMove.STOP, MoveFacts(market_mode=MarketMode(mandate.market_mode))
    )
    check_stop(by, terms_of(mandate).ends_at, current.now, is_paper=is_paper(mandate))
    stop_call = cancel_call = None
    row = _row_of_end(call, mandate, by)
    if row is not None:
        row = require_next(call, mandate, replace(row, author=author))
        stop_call = None if is_paper(mandate) else stop_call_of(call, mandate, current, by)
        mandate_ledger.append(call.db, mandate.id, row, call.now)
    else:
        stop_call, cancel_call = (
            stop_call_of(call, mandate, current, by),
            cancel_terms_call(call, mandate, current),
        )
    return Answer(
        MandateEnd(
            status=mandate.status,
            mandate=mandate_view(call, mandate),
            call=stop_call,
            cancel_call=cancel_call,
        )
    )


def _row_of_end(call: Call, mandate: Mandate, by: StoppedBy) -> NewRow | None:
    """What a stop writes; None: an owner's stop of a vault is reported by the chain."""
    if is_paper(mandate):
        return stop_row(by=ReportedBy(by.value), reason=by.value, now=call.now)
    if by is StoppedBy.AGENT:
        return stop_request_note(why=None, fact=uuid.uuid4().hex, now=call.now)
    return None


def _author_of_end(
    call: Call, mandate: Mandate, by: StoppedBy, command: EndMandate
) -> RowAuthor | None:
    row = _row_of_end(call, mandate, by)
    return None if row is None else signed_by_author(call, mandate, row, command.author)
