"""The calls that an owner signs, in plain words: what each is for and what its arguments are.

The terms inside a call have the labels of the terms that were signed
(core/mandate/rules/term_words.py). Every argument is shown or says why it is not.

Source: contracts/interfaces/IMandateVaultFactory.sol, IMandateVault.sol; docs/erc7730.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from core.mandate.rules.shown import Hidden, Shown, Style
from core.mandate.rules.term_words import TERM_FORMS
from core.mandate.rules.terms import RuleKind

RULE_KIND_WORDS: Final = {
    int(RuleKind.SPEND): "may spend, position not valued",
    int(RuleKind.EXIT): "brings money back",
    int(RuleKind.VALUED): "may spend, position valued",
    int(RuleKind.COST): "pays for a service",
}


@dataclass(frozen=True, slots=True)
class Each:
    """A list of structs: each of them is shown under `label`."""

    name: str
    label: str
    forms: tuple[Shown | Hidden, ...]


@dataclass(frozen=True, slots=True)
class CallWords:
    function: str
    intent: str
    arguments: tuple[Shown | Hidden | Each, ...] = ()


def _inside(struct: str, forms: Iterable[Shown | Hidden]) -> tuple[Shown | Hidden, ...]:
    return tuple(replace(form, name=f"{struct}.{form.name}") for form in forms)


_TERMS = _inside("terms", TERM_FORMS)
_PROOF = "proves consent and says nothing else; the contract checks it"
_VALID_AFTER = Hidden("validAfter", "bounds the payment's own authorization, signed by itself")
_VALID_BEFORE = Hidden("validBefore", "bounds the payment's own authorization, signed by itself")
_FUNDING = _inside(
    "funding",
    (
        Shown("amount", "Paid in", Style.USDC),
        _VALID_AFTER,
        _VALID_BEFORE,
        Hidden("signature", _PROOF),
    ),
)
_RULES = Each(
    "rules",
    "Agent may use",
    (
        Shown("target", "Contract", Style.ADDRESS),
        Shown("selector", "Function", Style.BYTES),
        Shown("recipientWord", "Argument word tied to the vault (255: none)", Style.NUMBER),
        Shown("kind", "Money", Style.CHOICE, choices=RULE_KIND_WORDS),
    ),
)
_UNWINDS = Each(
    "calls",
    "Exit",
    (
        Shown("target", "Contract", Style.ADDRESS),
        Hidden("maxSpend", "an exit spends nothing", must_be=0),
        Shown("data", "Call data", Style.BYTES),
    ),
)

FACTORY_CALLS: Final = (
    CallWords(
        "createVault",
        "Create the vault of a mandate",
        (*_TERMS, _RULES, Hidden("signature", _PROOF), *_FUNDING),
    ),
    CallWords("cancelTerms", "Cancel signed terms for good", _TERMS),
)
VAULT_CALLS: Final = (
    CallWords("fund", "Pay into the vault", _FUNDING),
    CallWords("deposit", "Pay into the vault", (Shown("amount", "Paid in", Style.USDC),)),
    CallWords(
        "depositWithAuthorization",
        "Pay into the vault",
        (
            Shown("from", "Owner", Style.ADDRESS),
            Shown("amount", "Paid in", Style.USDC),
            _VALID_AFTER,
            _VALID_BEFORE,
            Hidden("salt", "only makes two otherwise equal payments different"),
            Hidden("signature", _PROOF),
        ),
    ),
    CallWords(
        "withdraw",
        "Withdraw from the vault",
        (
            Shown("amount", "Amount", Style.TOKEN_AMOUNT, token_path="token"),  # noqa: S106
            Shown("to", "To", Style.ADDRESS),
            Shown("token", "Token", Style.ADDRESS),
        ),
    ),
    CallWords(
        "setAgent",
        "Set who may act as agent",
        (Shown("newAgent", "Agent", Style.ADDRESS),),
    ),
    CallWords("removeAgent", "Pause: remove the agent"),
    CallWords(
        "stop",
        "Stop the mandate for good",
        (Hidden("reason", "a word for the log, which changes nothing in what happens"),),
    ),
    CallWords("unwind", "Bring positions home", (_UNWINDS,)),
    CallWords("settle", "Pay the agent's fee"),
)
