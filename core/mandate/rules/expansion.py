"""What a list of targets means on chain: the rules that a vault enforces.

Laws
- The same list and the same listed adapters give the same rules, sorted, so the hash can be made
  again.
- A vault never calls itself. The entry `mandate_vault` means the project's own adapters that
  are listed at that moment. Payments are rules of the x402 adapter alone and come in by the entry
  `x402` alone, since the guard needs its lists.
- What an adapter publishes is hostile until it is judged. An adapter with a fault is its own
  trouble: the default leaves it out, naming it is refused, and the drafts of others don't see it.
- The same holds for what is signed of it: a mandate that names a spend of a listed adapter has one
  of its VALUED functions too, since a vault values an adapter by the mandate's own rules and by no
  others.
- An entry that comes to no rule is refused: its clause would name something that the agent
  cannot do.
- A list that was stored still expands, with whatever pins it has; what may be written today is
  checked in api/areas/mandates/rules/target_checks.py.
- An address without code is refused by the API, which can look: no chain is read here.

Source: docs/rules.md#allowed-targets, RuleLib.requireSound.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from core.errors import InvalidParameterError
from core.mandate.rules.targets import (
    ContractTarget,
    Target,
    TargetFunction,
    X402Target,
    parse_targets,
)
from core.mandate.rules.terms import MAX_RULES, UNPINNED, Rule, RuleKind

PERMIT2: Final = "0x000000000022D473030F116dDEE9F6B43aC78BA3"


@dataclass(frozen=True, slots=True)
class ListedContracts:
    """What the factory lists when the terms are drawn up, and what is known of contracts.

    Addresses are checksum strings.

    `adapters`: address to the rules it publishes, as it published them. `never`: address to the
    name of what it is (USDC, the factory, a vault): contracts that may not be targets.
    `x402_adapter`: the one adapter that takes payments.
    `signatures`: selector to the signature of each function that is known for certain.
    """

    chain_id: int
    adapters: Mapping[str, tuple[Rule, ...]]
    never: Mapping[str, str]
    x402_adapter: str | None
    signatures: Mapping[str, str]

    def published(self, adapter: str) -> tuple[Rule, ...] | None:
        """The rules of a listed adapter without a fault; None for any other contract."""
        return (
            self.adapters[adapter]
            if adapter in self.adapters and self.fault_of(adapter) is None
            else None
        )

    def fault_of(self, adapter: str) -> str | None:
        """Why a listed adapter can't be a target, as the end of a sentence that begins with the
        adapter.
        """
        rules, is_x402 = self.adapters[adapter], adapter == self.x402_adapter
        if (fault := rules_fault(adapter, rules)) is not None:
            return fault
        if name_of_forbidden(adapter, self) is not None:
            return "is never a target"
        if _is_cost(rules[0]) and not is_x402:
            return "publishes payments, which only the x402 adapter may"
        return (
            "is the x402 adapter and publishes other rules than payments"
            if is_x402 and not _is_cost(rules[0])
            else None
        )


def rules_fault(adapter: str, rules: Sequence[Rule]) -> str | None:
    """What is wrong with the rules that an adapter publishes; None: they are its own, 1 to 32,
    ascending, and of one trade.

    An adapter values what is spent at it: a SPEND rule without a VALUED one would count its money
    as unvalued, and the vault's public stop would be off while any is there (state.py).
    """
    if not 1 <= len(rules) <= MAX_RULES:
        return f"publishes {len(rules)} functions; 1 to {MAX_RULES} are possible"
    if any(rule.target != adapter for rule in rules):
        return "publishes functions of another contract"
    if any(low.selector >= high.selector for low, high in pairwise(rules)):
        return "publishes its functions out of order or twice"
    if len({_is_cost(rule) for rule in rules}) > 1:
        return "mixes payments with other functions"
    if _spends_unvalued(rules):
        return (
            "publishes a function that spends but none of kind VALUED, so it would value "
            "nothing that is spent there"
        )
    return None


def default_targets(listed: ListedContracts) -> tuple[Target, ...]:
    """What a list that was left out means: `mandate_vault` and `x402`, each where an adapter
    for it is listed.
    """
    both = parse_targets(None, listed.chain_id)
    return tuple(
        target for target in both if any(True for _ in _rules_of(target, listed, "allowed_targets"))
    )


def expand_rules(targets: Sequence[Target], listed: ListedContracts) -> tuple[Rule, ...]:
    """The rules that the vault will enforce: 1 to 32, strictly ascending by (target, selector).

    Errors: InvalidParameterError for a target that may never be one, a contract that is not a
    listed adapter and leaves out its functions or a recipient without saying so, an adapter with a
    fault, a function that an adapter does not publish, functions of an adapter that spend and none
    by which it values, an entry that comes to nothing, and a list that comes to more than 32.
    Source: RuleLib.requireSound, hashRules.
    """
    rules: dict[tuple[int, str], Rule] = {}
    for index, target in enumerate(targets):
        found = tuple(_rules_of(target, listed, f"allowed_targets[{index}]"))
        if not found:
            raise InvalidParameterError(f"allowed_targets[{index}]", _why_nothing(target))
        rules |= {(int(rule.target, 16), rule.selector): rule for rule in found}
    _refuse_unvalued_adapters(targets, tuple(rules.values()), listed)
    if not 1 <= len(rules) <= MAX_RULES:
        raise InvalidParameterError(
            "allowed_targets", f"they come to {len(rules)} functions; 1 to {MAX_RULES} are possible"
        )
    return tuple(rules[key] for key in sorted(rules))


def name_of_forbidden(address: str, listed: ListedContracts) -> str | None:
    """What a contract is that is never a target; None for any other."""
    return "Permit2" if address == PERMIT2 else listed.never.get(address)


def _rules_of(target: Target, listed: ListedContracts, field: str) -> Iterator[Rule]:
    if isinstance(target, ContractTarget):
        yield from _contract_rules(target, listed, field)
        return
    for adapter in listed.adapters:
        if (adapter == listed.x402_adapter) == isinstance(target, X402Target):
            yield from listed.published(adapter) or ()


def _contract_rules(target: ContractTarget, listed: ListedContracts, field: str) -> Iterator[Rule]:
    _refuse_forbidden(target, listed, field)
    if target.address in listed.adapters:
        yield from _adapter_rules(target, listed, field)
    elif target.functions is None:
        rule = (
            "it is not a listed adapter: name its functions, each with signature and "
            "recipient_word, or say unpinned: true"
        )
        raise InvalidParameterError(f"{field}.functions", rule)
    else:
        for index, function in enumerate(target.functions):
            if function.recipient_word is None and not target.says_unpinned:
                rule = (
                    "it leaves its recipient open: name its recipient_word, or say unpinned: "
                    "true at the target"
                )
                raise InvalidParameterError(f"{field}.functions[{index}].recipient_word", rule)
            yield _owners_rule(target.address, function)


def _owners_rule(address: str, function: TargetFunction) -> Rule:
    word = UNPINNED if function.recipient_word is None else function.recipient_word
    return Rule(
        address, function.selector, word, RuleKind.EXIT if function.is_exit else RuleKind.SPEND
    )


def _adapter_rules(target: ContractTarget, listed: ListedContracts, field: str) -> Iterator[Rule]:
    """An adapter's own rules, whole or narrowed to the functions named; what it publishes decides
    pin and kind.
    """
    published = listed.published(target.address)
    if published is None:
        raise InvalidParameterError(
            field, f"this adapter {listed.fault_of(target.address)}; leave it out"
        )
    if target.functions is None:
        yield from published
        return
    by_selector = {rule.selector: rule for rule in published}
    for index, function in enumerate(target.functions):
        if function.selector not in by_selector:
            known = ", ".join(by_selector)
            raise InvalidParameterError(
                f"{field}.functions[{index}]",
                f"the adapter does not publish this function; it publishes {known}",
            )
        yield by_selector[function.selector]


def _refuse_unvalued_adapters(
    targets: Sequence[Target], rules: Sequence[Rule], listed: ListedContracts
) -> None:
    """Errors: InvalidParameterError for a listed adapter of which the rules spend and value
    nothing, though it could.
    """
    for index, target in enumerate(targets):
        if not isinstance(target, ContractTarget) or target.address not in listed.adapters:
            continue
        if _spends_unvalued([rule for rule in rules if rule.target == target.address]):
            valued = [
                rule.selector
                for rule in listed.adapters[target.address]
                if rule.kind is RuleKind.VALUED
            ]
            rule = (
                "they spend, but none is of kind VALUED, so the adapter would value nothing "
                "that they spend and one spend would turn off the public stop; name "
                f"{' or '.join(valued)} too, or leave functions out to allow all that the "
                "adapter publishes"
            )
            raise InvalidParameterError(f"allowed_targets[{index}].functions", rule)


def _spends_unvalued(rules: Sequence[Rule]) -> bool:
    kinds = {rule.kind for rule in rules}
    return RuleKind.SPEND in kinds and RuleKind.VALUED not in kinds


def _why_nothing(target: Target) -> str:
    adapter = (
        "adapter for payments" if isinstance(target, X402Target) else "adapter of this service"
    )
    return f"no {adapter} is listed, so it allows nothing; leave it out"


def _refuse_forbidden(target: ContractTarget, listed: ListedContracts, field: str) -> None:
    if target.address == listed.x402_adapter:
        raise InvalidParameterError(
            field,
            "the payment adapter is allowed by an entry of kind x402 with its hosts and payees",
        )
    if (name := name_of_forbidden(target.address, listed)) is not None:
        raise InvalidParameterError(f"{field}.address", f"{name} is never a target")
    if target.chain_id != listed.chain_id:
        raise InvalidParameterError(
            f"{field}.chain_id", f"the contracts are on chain {listed.chain_id}"
        )


def _is_cost(rule: Rule) -> bool:
    return rule.kind is RuleKind.COST
