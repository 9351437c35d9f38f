"""Drafts: written by the owner, each write freezing the terms that would be signed
(docs/rules.md#frozen-drafts).
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from api.areas.mandates.rules.target_checks import check_targets
from api.areas.mandates.schemas.answers import Drafted
from api.areas.mandates.schemas.commands import (
    AssignAgent,
    CreateDraft,
    DraftTerms,
    Propose,
    UpdateDraft,
)
from api.areas.mandates.service.access import agent_of_id, owned_locked
from api.areas.mandates.service.policy import current_policy
from api.areas.mandates.service.strategies import strategy_of
from api.areas.mandates.service.views import agent_notice, mandate_view, rules_of, targets_of
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.fields import storable
from api.kernel.operation import Answer, Call, NextCall, Refusal, WriteCall
from core.blocks.registry import listed_adapters
from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcCodeFailedError, RpcRevertedError
from core.errors import InvalidNumberError, InvalidParameterError, fields_in
from core.hexes import address_or_none
from core.identity import policies
from core.identity import queries as identity
from core.identity.tables import Account
from core.mandate import queries as mandates
from core.mandate.chain.typed_data import guard_targets_hash, rules_hash, terms_digest
from core.mandate.rules.expansion import ListedContracts, default_targets, expand_rules
from core.mandate.rules.lifecycle import MandateMove, MarketMode, MoveFacts, Status, next_status
from core.mandate.rules.targets import (
    ContractTarget,
    Target,
    guard_targets,
    parse_targets,
    targets_to_json,
)
from core.mandate.rules.terms import (
    MAX_TARGET_BPS,
    SHARE_OF_VERIFIED_GAIN,
    MandateTerms,
    Rule,
    TermsDraft,
    agent_fee_bps,
    rules_from_json,
    rules_to_json,
    terms_from_draft,
    terms_to_json,
)
from core.mandate.tables import Mandate
from core.mandate.venues.registry import ADAPTER_NAME_END, venues
from core.targets.known_signatures import signatures_by_selector

TERMS_VERSION: Final = 2
PUBLIC_ID_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
NEVER_TARGETS: Final = {
    "usdc": "USDC",
    "factory": "the factory",
    "vault_implementation": "the vault's implementation",
    "factory_validator": "the factory's validator",
}


@dataclass(frozen=True, slots=True)
class _Frozen:
    """What one write of a draft freezes."""

    terms: MandateTerms
    rules: tuple[Rule, ...]
    allowed_targets: list[dict[str, Any]]
    guard_targets: list[dict[str, Any]]
    digest: str


def create(call: WriteCall, caller: OwnerCaller, command: CreateDraft) -> Answer[Drafted]:
    if command.agent_id is not None and command.open_board:
        raise InvalidParameterError(
            "open_board", "a draft names its agent or is on the open board; send one of the two"
        )
    agent = None if command.agent_id is None else designated(call, caller, command.agent_id)
    mandate = Mandate(
        public_id=_new_public_id(call),
        owner_id=caller.account_id,
        agent_id=None if agent is None else agent.id,
        status=Status.DRAFT.value,
        created_at=call.now,
        strategy=None,
    )
    _write(call, caller.wallet_address, mandate, command, agent)
    mandates.add_mandate(call.db, mandate)
    return _answer(call, mandate, agent, status=201)


def propose(call: WriteCall, caller: AgentCaller, command: Propose) -> Answer[Drafted]:
    """A draft for the agent's owner, who edits it and signs it or lets it be; the agent's policy is
    asked when the mandate is accepted.

    Errors: Refusal not_owner, agent_owner_mismatch.
    """
    if command.agent_id != str(caller.account_id):
        raise Refusal(
            "not_owner",
            f"You are agent {caller.account_id}; an agent can propose mandates only for itself.",
        )
    agent, owner = identity.find_agent(call.db, caller.account_id), _owner_of(call, caller)
    mandate = Mandate(
        public_id=_new_public_id(call),
        owner_id=owner.id,
        agent_id=caller.account_id,
        proposed_by_agent_id=caller.account_id,
        status=Status.DRAFT.value,
        created_at=call.now,
        strategy=None,
    )
    # its values are read already
    terms = DraftTerms.model_construct(purpose=command.title, **dict(command.goal))
    with fields_in("goal"):
        _write(call, address_or_none(owner.wallet_address) or "", mandate, terms, agent)
    mandates.add_mandate(call.db, mandate)
    return _answer(call, mandate, agent, status=201)


def _owner_of(call: Call, caller: AgentCaller) -> Account:
    """The owner's account, which signed in with a wallet. Errors: Refusal agent_owner_mismatch."""
    owner = None if caller.owner_id is None else identity.find_account(call.db, caller.owner_id)
    if owner is None:
        detail = (
            "You have no owner to propose to; an agent that is registered in its owner's session "
            "has one."
        )
        raise Refusal("agent_owner_mismatch", detail, next_calls=("mandates.board",))
    return owner


def update(call: WriteCall, caller: OwnerCaller, command: UpdateDraft) -> Answer[Drafted]:
    """Replace a draft whole. Its agent stays, unless the draft now opens to any agent."""
    mandate = owned_locked(call, caller, command.id)
    _require_draft(mandate, "an update")
    mandates.replace_terms(call.db, mandate, call.now)
    if command.open_board:
        mandate.agent_id = None
    agent = None if mandate.agent_id is None else identity.find_agent(call.db, mandate.agent_id)
    _write(call, caller.wallet_address, mandate, command, agent)
    call.db.flush()
    return _answer(call, mandate, agent)


def assign(call: WriteCall, caller: OwnerCaller, command: AssignAgent) -> Answer[Drafted]:
    """Designate the agent of a draft; its terms are frozen again, since they name the agent's
    wallet.

    Errors: InvalidParameterError when the functions that the draft names would come to other rules
    than when it was written.
    """
    mandate = owned_locked(call, caller, command.id)
    next_status(Status(mandate.status), MandateMove.ASSIGN, MoveFacts())
    _require_draft(mandate, "an assignment")
    agent = designated(call, caller, command.agent_id)
    mandates.replace_terms(call.db, mandate, call.now)
    mandate.agent_id, mandate.open_board = agent.id, False
    targets = targets_of(mandate)
    frozen = _frozen(call, caller.wallet_address, mandate, agent, targets, listed_contracts(call))
    require_same_rules(targets, rules_of(mandate), frozen.rules)
    _freeze_into(call, mandate, frozen)
    call.db.flush()
    return _answer(call, mandate, agent)


def _answer(
    call: Call, mandate: Mandate, agent: Account | None, status: int = 200
) -> Answer[Drafted]:
    return Answer(
        Drafted(mandate=mandate_view(call, mandate), notice=agent_notice(mandate, agent)),
        status=status,
    )


def require_same_rules(
    targets: Sequence[Target], written: Sequence[Rule], now: Sequence[Rule]
) -> None:
    """Refuse a change of pin or kind that the owner has not written: a named target was listed as
    an adapter since, or is no more.

    A draft of before today's checks passes while its named functions come to the rules that it
    froze. Targets that name no functions stand for what is published at the moment. Errors:
    InvalidParameterError naming the function.
    """
    before, after = (
        {(rule.target, rule.selector): rule for rule in rules} for rules in (written, now)
    )
    for index, target in enumerate(targets):
        if not isinstance(target, ContractTarget):
            continue
        for place, function in enumerate(target.functions or ()):
            key = target.address, function.selector
            if before.get(key) != after.get(key):
                rule = (
                    "the listed adapters have changed since the draft was written, and "
                    f"{function.name} of {target.address} would now be signed with another "
                    "pin or kind; write the targets again"
                )
                raise InvalidParameterError(f"allowed_targets[{index}].functions[{place}]", rule)


def designated(call: Call, caller: OwnerCaller, agent_id: str) -> Account:
    """The agent, if the owner may designate it.

    Errors: Refusal agent_owner_mismatch, agent_not_accepting.
    """
    agent = agent_of_id(call, agent_id)
    if agent.owner_id != caller.account_id:
        raise Refusal(
            "agent_owner_mismatch",
            f"Agent {agent.id} is not owned by you; designate an agent of your own, or use "
            "open_board.",
        )
    require_accepting(call, agent.id)
    return agent


def require_accepting(call: Call, agent_id: int) -> None:
    """Errors: Refusal agent_not_accepting. Its next call writes the policy unchanged except
    that it accepts: a policy is replaced whole.
    """
    if policies.accepts_mandates(call.db, agent_id):
        return
    says_yes = {**current_policy(call, agent_id), "accepts_mandates": True}
    yes = NextCall("mandates.policy_set", {"id": str(agent_id)}, says_yes)
    raise Refusal(
        "agent_not_accepting",
        f"The policy of agent {agent_id} does not accept mandates; its owner sets "
        "accepts_mandates to true.",
        next_calls=(yes,),
    )


def _require_draft(mandate: Mandate, what: str) -> None:
    if mandate.status != Status.DRAFT.value:
        raise Refusal("wrong_status", f"The mandate is {mandate.status}; {what} needs a draft.")
    if mandate.ends_in_block is not None:
        raise Refusal(
            "wrong_status",
            f"Its terms were cancelled on chain in block {mandate.ends_in_block}; write a new "
            "draft.",
        )


def _write(
    call: Call, owner_wallet: str, mandate: Mandate, command: DraftTerms, agent: Account | None
) -> None:
    """Put the owner's words and the terms that they come to into the row.

    Errors: InvalidParameterError, InvalidNumberError.
    """
    require_possible(call, command)
    # reads, so that it goes first: a read would flush what nobody has judged yet
    targets, listed = written_targets(call, command)
    mandate.strategy = strategy_of(call, command)
    mandate.market_mode = command.market_mode or MarketMode.TESTNET.value
    mandate.chain_id = call.deps.chain_id
    mandate.purpose = command.purpose
    mandate.budget_usdc_e6 = command.budget_usdc
    mandate.horizon_days = command.horizon_days
    mandate.stop_floor_bps = command.stop_floor_bps
    mandate.target_bps = command.target_bps
    mandate.payout_rule = {
        "kind": SHARE_OF_VERIFIED_GAIN,
        "bps": agent_fee_bps(command.payout_rule.model_dump()),
    }
    mandate.per_tx_cap_usdc_e6 = command.per_tx_cap_usdc
    mandate.daily_cap_usdc_e6 = command.daily_cap_usdc
    mandate.approval_above_usdc_e6 = command.approval_above_usdc
    mandate.on_floor = command.on_floor
    mandate.open_board = command.open_board
    mandate.allowed_targets = targets_to_json(targets)
    _freeze_into(call, mandate, _frozen(call, owner_wallet, mandate, agent, targets, listed))


def require_possible(call: Call, command: DraftTerms) -> None:
    """What of a draft is no matter of its terms. Errors: InvalidParameterError,
    InvalidNumberError.
    """
    if command.chain_id not in (None, call.deps.chain_id):
        raise InvalidParameterError("chain_id", f"mandates live on chain {call.deps.chain_id}")
    if command.target_bps is not None and not 0 < command.target_bps <= MAX_TARGET_BPS:
        raise InvalidNumberError(
            "target_bps",
            str(command.target_bps),
            f"write a whole number from 1 to {MAX_TARGET_BPS}",
        )


def written_targets(call: Call, command: DraftTerms) -> tuple[tuple[Target, ...], ListedContracts]:
    """The targets as they may be written now, and what is listed now.

    Errors: InvalidParameterError.
    """
    items = storable(command.allowed_targets)
    named = None if items is None else parse_targets(items, call.deps.chain_id)
    listed = listed_contracts(call)
    targets = default_targets(listed) if named is None else named
    check_targets(targets, listed)
    return targets, listed


def _frozen(
    call: Call,
    owner_wallet: str,
    mandate: Mandate,
    agent: Account | None,
    targets: Sequence[Target],
    listed: ListedContracts,
) -> _Frozen:
    draft = _terms_draft(mandate, owner_wallet, agent)
    terms, rules = terms_now(call, draft, targets, listed, nonce=secrets.randbits(63))
    digest = terms_digest(terms, call.deps.contracts["factory"], mandate.chain_id, TERMS_VERSION)
    return _Frozen(terms, rules, targets_to_json(targets), guard_targets(targets), digest)


def terms_now(
    call: Call, draft: TermsDraft, targets: Sequence[Target], listed: ListedContracts, *, nonce: int
) -> tuple[MandateTerms, tuple[Rule, ...]]:
    """What a draft comes to: the terms that are signed, and the rules that the vault enforces.

    Errors: InvalidParameterError, InvalidNumberError.
    """
    rules = expand_rules(targets, listed)
    terms = terms_from_draft(
        draft,
        issued_at=int(call.now.timestamp()),
        nonce=nonce,
        allowed_targets_hash=rules_hash(rules),
        guard_targets_hash=guard_targets_hash(guard_targets(targets)),
    )
    return terms, rules


def _terms_draft(mandate: Mandate, owner_wallet: str, agent: Account | None) -> TermsDraft:
    return TermsDraft(
        public_id=mandate.public_id,
        owner=owner_wallet,
        agent=None if agent is None else address_or_none(agent.wallet_address),
        budget_usdc_e6=_amount(mandate.budget_usdc_e6),
        horizon_days=mandate.horizon_days,
        stop_floor_bps=mandate.stop_floor_bps,
        per_tx_cap_usdc_e6=_amount_or_none(mandate.per_tx_cap_usdc_e6),
        daily_cap_usdc_e6=_amount_or_none(mandate.daily_cap_usdc_e6),
        approval_above_usdc_e6=_amount_or_none(mandate.approval_above_usdc_e6),
        on_floor="close" if mandate.on_floor == "close" else "keep",
        payout_rule=mandate.payout_rule,
    )


def _freeze_into(call: Call, mandate: Mandate, frozen: _Frozen) -> None:
    mandate.terms = terms_to_json(frozen.terms)
    mandate.rules = rules_to_json(frozen.rules)
    mandate.guard_targets = frozen.guard_targets
    mandate.terms_digest = bytes.fromhex(frozen.digest.removeprefix("0x"))
    mandate.terms_version = TERMS_VERSION
    mandate.ends_at = datetime.fromtimestamp(frozen.terms.ends_at, UTC)
    mandate.updated_at = call.now


def listed_contracts(call: Call) -> ListedContracts:
    """What the factory lists now, as it was published: from the indexer's facts, or from the chain
    while the indexer has none.

    Errors: OutsideError when neither can say.
    """
    contracts = call.deps.contracts
    listed = listed_adapters(call.db, call.deps.chain_id)
    adapters = {
        address_or_none(bytes.fromhex(address[2:])) or "": rules_from_json(rules)
        for address, rules in listed
    }
    never = {contracts[name]: label for name, label in NEVER_TARGETS.items() if name in contracts}
    return ListedContracts(
        chain_id=call.deps.chain_id,
        adapters=adapters or _adapters_on_chain(call),
        never=never,
        x402_adapter=venues().payment_adapter(contracts),
        signatures=signatures_by_selector(),
    )


def _adapters_on_chain(call: Call) -> Mapping[str, tuple[Rule, ...]]:
    named = [
        address for name, address in call.deps.contracts.items() if name.endswith(ADAPTER_NAME_END)
    ]
    return {
        address: _published(call, address)
        for address in named
        if call.deps.chain.is_adapter(address)
    }


def _published(call: Call, adapter: str) -> tuple[Rule, ...]:
    """An adapter whose rules cannot be read is left out.

    Errors: OutsideError when the node, not the adapter, is the trouble.
    """
    try:
        return call.deps.chain.adapter_rules(adapter)
    except (RpcRevertedError, RpcCodeFailedError, AbiDecodeError):
        return ()


def _amount(value: int) -> Any:
    return int(value)


def _amount_or_none(value: int | None) -> Any:
    return None if value is None else int(value)


def _new_public_id(call: Call) -> str:
    """`m_` and ten characters; drawn again in the rare case that it is taken."""
    while True:
        public_id = "m_" + "".join(secrets.choice(PUBLIC_ID_CHARACTERS) for _ in range(10))
        if not mandates.public_id_is_taken(call.db, public_id):
            return public_id
