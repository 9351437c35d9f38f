"""What may be written today: the checks of a list of targets before it is stored and its terms are
frozen.

Laws
- The vault compares a word of the call data with its own address and knows no types. So the
  signature must prove that the pinned word is a static `address`: any other word is a decoy that
  the caller fills in while the money goes elsewhere.
- A signature proves its selector and nothing more: other texts with the same four bytes can be
  found. Where the function behind a selector is known, no other text is accepted.
- At a listed adapter, what it publishes is enforced. An owner's word that differs is refused, not
  replaced.

Lists that were stored earlier are read without these checks (targets.py); their clause says what a
pin is worth.
Source: "Targets that are not plain contracts", RuleLib.requireAllowed.
"""

from collections.abc import Sequence

from core.errors import InvalidParameterError
from core.mandate.rules.expansion import ListedContracts
from core.mandate.rules.targets import ContractTarget, Target, TargetFunction
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.selectors import OFFSET


def check_targets(targets: Sequence[Target], listed: ListedContracts) -> None:
    """Refuse what reading takes and today's rules do not.

    Errors: InvalidParameterError, naming the field, its rule and what to send instead.
    """
    for index, target in enumerate(targets):
        if isinstance(target, ContractTarget):
            _check_contract(target, listed, f"allowed_targets[{index}]")


def _check_contract(target: ContractTarget, listed: ListedContracts, field: str) -> None:
    published = listed.published(target.address)
    if published is not None and target.says_unpinned:
        raise InvalidParameterError(
            f"{field}.unpinned",
            "a listed adapter pays its caller, which is the vault; leave unpinned out",
        )
    rules = {rule.selector: rule for rule in published or ()}
    for index, function in enumerate(target.functions or ()):
        place = f"{field}.functions[{index}]"
        _check_signature(function, listed, place)
        if (rule := rules.get(function.selector)) is not None:
            _check_published(function, rule, place)
        _check_pin(function, place)


def _check_signature(function: TargetFunction, listed: ListedContracts, field: str) -> None:
    known = listed.signatures.get(function.selector)
    if function.signature is not None and known is not None and known != function.signature:
        rule = (
            f"{function.signature} shares the selector {function.selector} with {known}, which "
            f"is what would be called; send {known}"
        )
        raise InvalidParameterError(f"{field}.signature", rule)


def _check_published(function: TargetFunction, rule: Rule, field: str) -> None:
    is_exit = rule.kind is RuleKind.EXIT
    if function.is_exit != is_exit:
        published = "an exit; send exit: true" if is_exit else "a spend; leave exit out"
        raise InvalidParameterError(
            f"{field}.exit", f"the adapter publishes {function.name} as {published}"
        )
    pin = None if rule.recipient_word == UNPINNED else rule.recipient_word
    if function.recipient_word != pin:
        published = (
            "without a pin, since it pays its caller; leave recipient_word out"
            if pin is None
            else f"with word {pin} pinned; send recipient_word: {pin}"
        )
        raise InvalidParameterError(
            f"{field}.recipient_word", f"the adapter publishes {function.name} {published}"
        )


def _check_pin(function: TargetFunction, field: str) -> None:
    word = function.recipient_word
    if word is None or function.is_tied:
        return
    if function.signature is None:
        rule = (
            "a pin needs the full signature, since a selector does not say what word it is; send "
            "signature instead of selector"
        )
        raise InvalidParameterError(f"{field}.recipient_word", rule)
    found = {None: "not there", OFFSET: "the offset of a dynamic argument"}.get(
        function.pinned_type, function.pinned_type
    )
    way_out = (
        "pin a word that is an address, or leave recipient_word out and say unpinned: true at "
        "the target"
    )
    rule = (
        f"word {word} must be a static address in the head of {function.signature}; it is "
        f"{found}; {way_out}"
    )
    raise InvalidParameterError(f"{field}.recipient_word", rule)
