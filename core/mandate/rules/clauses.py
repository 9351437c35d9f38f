"""The ten clauses of a mandate: the sentences that the owner reads and receipts cite, each with the
signed term behind it.

Laws
- The order and the numbers never change: receipts cite a clause by its number.
- The signed fields behind a clause stand in core/mandate/rules/words.py, from which wallets'
  descriptors are made too.
- A clause is made of the signed terms alone (and of the target list that their hashes stand for),
  so what is shown is what is enforced. The same terms give the same text. Clause 9 also says whom
  the vault pays now.
- A selector is signed, its name is not: a name that nobody here can confirm is said to be the
  proposer's word.
- Who enforces is one of three names. What nobody enforces yet says so in its sentence and is
  stored_pending.
- A term that version 1 did not sign backs nothing: its clause then has no source and is
  stored_pending.

Source: docs/rules.md#clauses.

Who gets the agent's fee, in the words of clause 9 and of the owner's calls.

Laws
- The payee is the agent of the signed terms. Terms that name none: the agent at the first call that
  spends. Only the payee can name another, so a new agent never changes it.
- Nobody yet and not known are two answers.

Source: MandateVault.payee; docs/rules.md#clauses.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.mandate.rules.state import MandateState
from core.mandate.rules.targets import (
    ContractTarget,
    Target,
    TargetFunction,
    VaultTarget,
    X402Target,
    targets_to_json,
)
from core.mandate.rules.terms import DEFAULT_AGENT_FEE_BPS, V2_ONLY, ZERO_ADDRESS, MandateTerms
from core.mandate.rules.words import ON_FLOOR_WORDS, days_words, fields_of, percent_text, usdc_words
from core.money import usdc_text, usdc_text_or_none
from core.selectors import argument_words
from core.times import utc_text, utc_words


@dataclass(frozen=True, slots=True)
class VaultPayee:
    """`address` None: nobody yet, or, where `is_known` is False, not known now. `agent`: whom the
    vault obeys, or obeyed last; before there is a vault the agent of the terms. None: nobody.
    """

    address: str | None
    agent: str | None
    is_known: bool = True

    @property
    def is_agent(self) -> bool | None:
        """None while there is no payee, or none is known."""
        return None if self.address is None else self.address == self.agent

    @property
    def words(self) -> str:
        """To go on after `the fee is`."""
        if not self.is_known:
            return "paid to whom the vault names, which is not known now"
        if self.address is None:
            return "paid to the agent whose call is the first that spends"
        return f"paid to {self.address}, which is {'' if self.is_agent else 'not '}the agent"

    def to_json(self) -> dict[str, Any]:
        return {"address": self.address, "is_agent": self.is_agent, "text_en": self.words}


UNKNOWN_PAYEE = VaultPayee(None, None, is_known=False)


def payee_of(terms: MandateTerms, state: MandateState) -> VaultPayee:
    """By the ledger, or by what the chain says in its place (core.mandate.rules.worth)."""
    acts = (
        _somebody(state.agent_on_chain) or state.last_agent_set
        if state.vault_address is not None
        else _somebody(terms.agent)
    )
    return VaultPayee(state.payee_named or _somebody(terms.agent), acts)


def fee_stays_words(payee: VaultPayee, new_agent: str, agent_fee_bps: int) -> str | None:
    """What the owner should know of the fee before setting this agent; None when there is nothing."""
    if not agent_fee_bps or payee.address == new_agent:
        return None
    if payee.address is None:
        return "The agent's fee goes to the agent whose call is the first that spends."
    return f"The agent's fee stays with {payee.address}; only that account can pass the right to it on."


def _somebody(address: str | None) -> str | None:
    return None if address == ZERO_ADDRESS else address


CLAUSE_KEYS: Final = (
    "budget",
    "per_action",
    "per_day",
    "stop_line",
    "markets",
    "asking",
    "at_stop",
    "period",
    "agent_fee",
    "your_floors",
)
CLAUSE_NUMBERS: Final[Mapping[str, int]] = {key: n for n, key in enumerate(CLAUSE_KEYS, start=1)}

CONTRACT: Final = "Contract"
RELAY_GUARD: Final = "Torii guard"  # the service's relay guard; the name is the API's
VENUE: Final = "Venue"
EnforcedBy = Literal["Contract", "Torii guard", "Venue"]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A clause before its number, and before the version of the terms says what was signed."""

    text_en: str
    params: dict[str, Any]
    also_signed: tuple[str, ...] = ()  # beside what the table of terms has for every such clause
    enforced_by: EnforcedBy = CONTRACT
    is_enforced: bool = True


def clauses(
    terms: MandateTerms,
    targets: Sequence[Target],
    *,
    known: Mapping[str, str],
    payee: VaultPayee | None = None,
    version: int = 2,
) -> list[dict[str, Any]]:
    """The clauses in order: {n, key, text_en, params, enforced_by, source, signed_fields, status}.

    `source` names the first signed term behind the clause. Amounts in params are strings with six
    decimals, `pct` is a string with two, times are ISO 8601 in UTC. `targets` is the list that
    `terms.allowed_targets_hash` was made from. `known` has the signature behind each selector that
    is known for certain. `payee` None: on paper nobody is paid.
    """
    drafts = (
        _budget(terms),
        _per_action(terms),
        _per_day(terms),
        _stop_line(terms, targets),
        _markets(targets, known),
        _asking(terms),
        _at_stop(terms, targets),
        _period(terms),
        _agent_fee(terms, payee),
        _your_floors(terms),
    )
    return [_clause(key, draft, version) for key, draft in zip(CLAUSE_KEYS, drafts, strict=True)]


def _clause(key: str, draft: _Draft, version: int) -> dict[str, Any]:
    unsigned = V2_ONLY if version == 1 else frozenset()
    behind = (*fields_of(key), *draft.also_signed)
    signed = [name for name in behind if name not in unsigned]
    return {
        "n": CLAUSE_NUMBERS[key],
        "key": key,
        "text_en": draft.text_en,
        "params": draft.params,
        "enforced_by": draft.enforced_by,
        "source": f"terms.{signed[0]}" if signed else None,
        "signed_fields": signed,
        "status": "enforced" if draft.is_enforced and signed else "stored_pending",
    }


# The ten


def _budget(terms: MandateTerms) -> _Draft:
    text = (
        f"The vault holds a budget of {usdc_words(terms.budget_usdc)}. The agent can lose no more "
        "than what is in the vault."
    )
    return _Draft(text, {"amount": usdc_text(terms.budget_usdc)})


def _per_action(terms: MandateTerms) -> _Draft:
    text = (
        "One action may take out at most "
        f"{usdc_words(terms.per_tx_cap)}{_whole_budget(terms.per_tx_cap, terms)}."
    )
    return _Draft(text, {"amount": usdc_text(terms.per_tx_cap)})


def _per_day(terms: MandateTerms) -> _Draft:
    text = (
        "In any 24 hours at most "
        f"{usdc_words(terms.daily_cap)}{_whole_budget(terms.daily_cap, terms)} may leave the "
        "vault. What comes back does not give the day back."
    )
    return _Draft(text, {"amount": usdc_text(terms.daily_cap), "hours": 24})


def _stop_line(terms: MandateTerms, targets: Sequence[Target]) -> _Draft:
    loss = terms.budget_usdc - terms.stop_floor
    text = (
        f"When the mandate is worth {usdc_words(terms.stop_floor)} or less, the vault stops it. "
        f"That is a loss of {usdc_words(loss)}, {percent_text(terms.stop_floor_bps)} % of the "
        "budget. A price that jumps can cost more before the stop."
    )
    params: dict[str, Any] = {
        "amount": usdc_text(terms.stop_floor),
        "loss": usdc_text(loss),
        "pct": percent_text(terms.stop_floor_bps),
    }
    unvalued = _unvalued_addresses(targets)
    if unvalued:
        text += (
            f" Money at {' or '.join(unvalued)} counts at cost, unless this mandate has a function "
            "there that an adapter of this service values: a loss there stops nothing before the "
            "money comes back."
        )
        params["unvalued_targets"] = list(unvalued)
    return _Draft(text, params, ("allowedTargetsHash",) if unvalued else ())


def _unvalued_addresses(targets: Iterable[Target]) -> tuple[str, ...]:
    """Contracts where the owner named a function that may spend.

    The list alone does not say which of them are listed adapters.
    """
    contracts = (target for target in targets if isinstance(target, ContractTarget))
    return tuple(
        target.address
        for target in contracts
        if any(not function.is_exit for function in target.functions or ())
    )


def _markets(targets: Sequence[Target], known: Mapping[str, str]) -> _Draft:
    items = [
        {
            **shown,
            **_partly_tied(target),
            "text_en": _target_words(target),
            "enforced_by": RELAY_GUARD if isinstance(target, X402Target) else CONTRACT,
        }
        for target, shown in zip(targets, targets_to_json(targets), strict=True)
    ]
    text = f"The agent may only use: {'; '.join(item['text_en'] for item in items)}."
    params: dict[str, Any] = {"items": items}
    if unverified := _unverified_names(targets, known):
        text += f" {_unverified_words(unverified)}"
        params["unverified_names"] = list(unverified)
    return _Draft(text, params)


def _unverified_names(targets: Iterable[Target], known: Mapping[str, str]) -> tuple[str, ...]:
    """The signatures that a selector was given in this list and by nobody else, once each."""
    functions = (
        function
        for target in targets
        if isinstance(target, ContractTarget)
        for function in target.functions or ()
    )
    named = (
        function.signature
        for function in functions
        if known.get(function.selector) != function.signature
    )
    return tuple(dict.fromkeys(signature for signature in named if signature is not None))


def _unverified_words(names: Sequence[str]) -> str:
    if len(names) == 1:
        return (
            f"The name {names[0]} is the proposer's word alone: this service does not know the "
            "function, and what is said of its receiver holds only if the name is true."
        )
    return (
        f"The names {_and(names)} are the proposer's word alone: this service does not know the "
        "functions, and what is said of their receivers holds only if the names are true."
    )


def _asking(terms: MandateTerms) -> _Draft:
    if terms.approval_above:
        text = (
            f"The agent asks you before an action above {usdc_words(terms.approval_above)}. "
            "This is stored; nothing enforces it yet, such an action only makes an approval item."
        )
    else:
        text = (
            "The agent acts on its own inside the limits and does not ask first. This is stored; "
            "asking is not enforced yet."
        )
    params = {"amount": usdc_text_or_none(terms.approval_above or None)}
    return _Draft(text, params, enforced_by=RELAY_GUARD, is_enforced=False)


def _at_stop(terms: MandateTerms, targets: Sequence[Target]) -> _Draft:
    wish = ON_FLOOR_WORDS[1 if terms.on_floor else 0]
    text = (
        f"When the stop line is reached, open positions are {wish}. This is stored; nothing acts "
        "on it yet, you can unwind yourself"
    )
    params: dict[str, Any] = {"on_floor": "close" if terms.on_floor else "keep"}
    no_exit = _without_exit(targets)
    if no_exit:
        has_adapters = any(isinstance(target, VaultTarget) for target in targets)
        unless = ", unless it is one of the mandate vault's own adapters" if has_adapters else ""
        text += (
            f", but not at {' or '.join(no_exit)}{unless}: no exit is named there, unwinding "
            "takes exits alone, and of what the agent opens there you can take out ERC-20 "
            "tokens that the vault itself holds and nothing else"
        )
        params["targets_without_exit"] = list(no_exit)
    return _Draft(
        f"{text}.",
        params,
        ("allowedTargetsHash",) if no_exit else (),
        RELAY_GUARD,
        is_enforced=False,
    )


def _without_exit(targets: Iterable[Target]) -> tuple[str, ...]:
    """Contracts of which functions are named and none is an exit."""
    contracts = (target for target in targets if isinstance(target, ContractTarget))
    return tuple(
        target.address
        for target in contracts
        if target.functions and not any(f.is_exit for f in target.functions)
    )


def _period(terms: MandateTerms) -> _Draft:
    text = (
        f"The agent may act for {days_words(terms.horizon_days)}, until "
        f"{utc_words(terms.ends_at)}, and not from that second on."
    )
    params = {"days": terms.horizon_days, "ends_at": utc_text(terms.ends_at)}
    return _Draft(text, params)


def _agent_fee(terms: MandateTerms, payee: VaultPayee | None) -> _Draft:
    params: dict[str, Any] = {"pct": percent_text(terms.agent_fee_bps)}
    if terms.agent_fee_bps:
        text = (
            f"The agent gets {percent_text(terms.agent_fee_bps)} % of the realised gain at the "
            "settlement, and nothing without a gain. Deposits are no gain."
        )
        if payee is not None:
            text += f" The fee is {payee.words}."
            params |= {"payee": payee.address, "payee_is_agent": payee.is_agent}
    else:
        text = "The agent gets no share of a gain."
    if terms.agent_fee_bps == DEFAULT_AGENT_FEE_BPS:
        text += " That is the default share."
    return _Draft(text, params)


def _your_floors(terms: MandateTerms) -> _Draft:
    text = (
        "Only you can withdraw; the agent never can. You can stop the mandate at any time but on "
        "the day after its end date, when the agent's fee is settled first, and from one day "
        "after it you can withdraw even without a stop."
    )
    return _Draft(
        text,
        {"owner": terms.owner, "items": ["owner_withdraws", "owner_stops", "no_lock_after_grace"]},
    )


# Words


def _target_words(target: Target) -> str:
    if isinstance(target, VaultTarget):
        return "the mandate vault's own adapters"
    if isinstance(target, X402Target):
        return _x402_words(target)
    return _contract_words(target)


def _contract_words(target: ContractTarget) -> str:
    """Every function by name; those whose receiver is not tied to the vault, or not alone, are
    listed apart from the others.
    """
    if target.functions is None:
        return f"the published functions of {target.address}"
    words, untied = f"{_names(target.functions)} of {target.address}", target.untied
    if untied and len(untied) == len(target.functions):
        return f"{words}, whose receiver is not tied to your vault"
    notes = [f"the receiver is not tied to your vault in {_names(untied)}"] if untied else []
    notes += [
        (
            f"of {function.name} only {_argument_words(function, number)} is tied to your vault "
            "and the others are the agent's choice"
        )
        for function, number in _tied_in_one_argument(target.functions)
    ]
    return f"{words}, but {', and '.join(notes)}" if notes else words


def _tied_in_one_argument(functions: Iterable[TargetFunction]) -> list[tuple[TargetFunction, int]]:
    return [
        (function, number)
        for function in functions
        if (number := function.tied_argument) is not None
    ]


def _argument_words(function: TargetFunction, number: int) -> str:
    """`argument 2`, or `one address in argument 2` where that argument is a tuple or an array."""
    words = argument_words(function.signature or "")[number - 1]
    return f"argument {number}" if len(words) == 1 else f"one address in argument {number}"


def _partly_tied(target: Target) -> dict[str, Any]:
    """{partly_tied: [{function, argument}]} where the agent may name other receivers beside the
    tied argument; else empty.
    """
    functions = (target.functions if isinstance(target, ContractTarget) else None) or ()
    found = [
        {"function": function.name, "argument": number}
        for function, number in _tied_in_one_argument(functions)
    ]
    return {"partly_tied": found} if found else {}


def _names(functions: Sequence[TargetFunction]) -> str:
    return _and([function.name for function in functions])


def _x402_words(target: X402Target) -> str:
    """An empty list means this service alone (api.areas.mandates.rules.guard)."""
    if not target.hosts and not target.payees:
        return "paid reads of this service"
    place = f"at {_and(target.hosts)}" if target.hosts else "of this service"
    payees = _and(target.payees) if target.payees else "this service"
    return f"paid reads {place}, paid to {payees}"


def _and(words: Iterable[str]) -> str:
    *head, last = words
    return f"{', '.join(head)} and {last}" if head else last


def _whole_budget(cap_usdc_e6: int, terms: MandateTerms) -> str:
    return " (the whole budget)" if cap_usdc_e6 == terms.budget_usdc else ""
