"""ERC-7730 descriptors of what an owner signs, made of the tables of words.

A wallet that has the descriptor of a document or a call shows labels and figures in place of names
and integers. Schema of the ERC: version 2.0.0.

Laws
- Every member of a described type is shown or hidden with its reason, and nothing else is named:
  a member without a row is an error here, before a wallet could pass over it.
- A descriptor is bound to the contracts of `places` alone; without any it binds to nothing.
- No sentence replaces a whole document: a wallet may show such a sentence in place of the fields.

Pure. Source: ERC-7730, docs/erc7730.md.

The calls that an owner signs, in plain words: what each is for and what its arguments are.

The terms inside a call have the labels of the terms that were signed
(core/mandate/rules/words.py). Every argument is shown or says why it is not.

Source: contracts/interfaces/IMandateVaultFactory.sol, IMandateVault.sol; docs/erc7730.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from core.errors import MandateError
from core.mandate.rules.terms import RuleKind
from core.mandate.rules.words import TERM_FORMS, Hidden, Shown, Style

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


ERC_VERSION: Final = "2.0.0"
SCHEMA: Final = "https://eips.ethereum.org/assets/eip-7730/erc7730-v2.schema.json"
OWNER_NAME: Final = "Mandate Wallet"
TERMS_TYPE: Final = "MandateTerms"
TERMS_INTENT: Final = "Sign a mandate for an agent"

_USDC: Final = {"token": {"map": "$.metadata.maps.usdc", "keyPath": "@.chainId"}}
# the display format of a style, its parameters, and the start of each type that it fits
_FORMATS: Final[Mapping[Style, tuple[str, dict[str, Any], str]]] = {
    Style.TEXT: ("raw", {}, "string"),
    Style.NUMBER: ("raw", {}, "uint"),
    Style.ADDRESS: ("addressName", {}, "address"),
    Style.BYTES: ("raw", {}, "bytes"),
    Style.USDC: ("tokenAmount", _USDC, "uint256"),
    Style.TOKEN_AMOUNT: ("tokenAmount", {}, "uint256"),
    Style.PERCENT: ("unit", {"base": "%", "decimals": 2}, "uint"),
    Style.DAYS: ("unit", {"base": "d"}, "uint"),
    Style.TIME: ("date", {"encoding": "timestamp"}, "uint"),
    Style.CHOICE: ("enum", {}, "uint8"),
}


class UndescribedError(MandateError):
    """The words and the type that they describe do not have the same members."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct or an argument of a function. `type` is canonical; `members` are those
    of a struct, or of each struct of a list.
    """

    name: str
    type: str
    members: tuple["Member", ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    arguments: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class PublishedFactory:
    """A published deployment, addresses in checksum form."""

    chain_id: int
    factory: str
    usdc: str


def terms_descriptor(
    members: Sequence[Member], domain: Mapping[str, str], places: Sequence[PublishedFactory]
) -> dict[str, Any]:
    """The descriptor of the EIP-712 document MandateTerms. `domain`: its name and version.

    Errors: UndescribedError.
    """
    key = f"{TERMS_TYPE}({_declared(members)})"
    forms = {key: _format(TERMS_TYPE, TERMS_INTENT, TERM_FORMS, members)}
    context = {"eip712": {"domain": dict(domain), "deployments": _deployments(places)}}
    return _descriptor("Mandate terms", context, "Mandate vaults", [TERM_FORMS], forms, places)


def factory_descriptor(
    functions: Sequence[Function], places: Sequence[PublishedFactory]
) -> dict[str, Any]:
    """The descriptor of what an owner calls at the factory. Errors: UndescribedError."""
    context = {"contract": {"deployments": _deployments(places)}}
    return _calls("Mandate vault factory", context, FACTORY_CALLS, functions, places)


def vault_descriptor(
    functions: Sequence[Function], deploy_event: str, places: Sequence[PublishedFactory]
) -> dict[str, Any]:
    """The descriptor of what an owner calls at a vault: one that a factory of `places` has made.

    `deploy_event`: the signature of the event that names it. Errors: UndescribedError.
    """
    made_by = {"deployments": _deployments(places), "deployEvent": deploy_event}
    return _calls(
        "Mandate vault", {"contract": {"factory": made_by}}, VAULT_CALLS, functions, places
    )


def _calls(
    title: str,
    context: dict[str, Any],
    calls: Sequence[CallWords],
    functions: Sequence[Function],
    places: Sequence[PublishedFactory],
) -> dict[str, Any]:
    by_name = {function.name: function for function in functions}
    formats = {}
    for call in calls:
        arguments = by_name[call.function].arguments
        key = f"{call.function}({_declared(arguments)})"
        formats[key] = _format(call.function, call.intent, call.arguments, arguments)
    shown = [call.arguments for call in calls]
    return _descriptor(title, context, title, shown, formats, places)


def _descriptor(
    title: str,
    context: dict[str, Any],
    contract: str,
    shown: Iterable[Sequence[Shown | Hidden | Each]],
    formats: dict[str, Any],
    places: Sequence[PublishedFactory],
) -> dict[str, Any]:
    usdc = {str(place.chain_id): place.usdc for place in places}
    metadata: dict[str, Any] = {
        "owner": OWNER_NAME,
        "contractName": contract,
        "maps": {"usdc": {"$keyType": "Chain ID", "values": usdc}},
    }
    if enums := _enums(form for forms in shown for form in forms):
        metadata["enums"] = enums
    return {
        "$schema": SCHEMA,
        "context": {"$id": title, **context},
        "metadata": metadata,
        "display": {"formats": formats},
    }


def _deployments(places: Iterable[PublishedFactory]) -> list[dict[str, Any]]:
    return [{"chainId": place.chain_id, "address": place.factory} for place in places]


def _enums(forms: Iterable[Shown | Hidden | Each]) -> dict[str, dict[str, str]]:
    found = {}
    for form in forms:
        for one in form.forms if isinstance(form, Each) else (form,):
            if isinstance(one, Shown) and one.choices:
                words = {str(value): text for value, text in one.choices.items()}
                found[_last(one.name)] = words
    return found


# Fields


def _format(
    name: str,
    intent: str,
    forms: Sequence[Shown | Hidden | Each],
    members: Sequence[Member],
) -> dict[str, Any]:
    types = dict(_leaves(members))
    _require_same(name, list(_named(forms)), types)
    return {"$id": name, "intent": intent, "fields": [_field(form, types, "") for form in forms]}


def _leaves(members: Iterable[Member], under: str = "") -> Iterator[tuple[str, str]]:
    """Path and type of each value: `terms.owner`, and `rules.[].target` for one in a list."""
    for member in members:
        path = under + member.name
        if member.members:
            inside = f"{path}.[]." if member.type.endswith("[]") else f"{path}."
            yield from _leaves(member.members, inside)
        else:
            yield path, member.type


def _named(forms: Iterable[Shown | Hidden | Each]) -> Iterator[str]:
    for form in forms:
        if isinstance(form, Each):
            yield from (f"{form.name}.[].{one.name}" for one in form.forms)
        else:
            yield form.name


def _require_same(name: str, named: Sequence[str], types: Mapping[str, str]) -> None:
    if missing := [path for path in types if path not in named]:
        raise UndescribedError(f"{name}: no words for {', '.join(missing)}")
    if unknown := [path for path in named if path not in types]:
        raise UndescribedError(f"{name} has no {', '.join(unknown)}")
    if len(set(named)) != len(named):
        raise UndescribedError(f"{name}: words twice for one member")


def _field(form: Shown | Hidden | Each, types: Mapping[str, str], under: str) -> dict[str, Any]:
    if isinstance(form, Each):
        path = f"{form.name}.[]"
        inside = [_field(one, types, f"{path}.") for one in form.forms]
        return {"path": path, "label": form.label, "fields": inside}
    if isinstance(form, Hidden):
        visible = "never" if form.must_be is None else {"mustMatch": [form.must_be]}
        return {"$id": form.because, "path": form.name, "visible": visible}
    return _shown_field(form, types[under + form.name])


def _shown_field(form: Shown, type_: str) -> dict[str, Any]:
    name, params, fits = _FORMATS[form.style]
    if not type_.startswith(fits) or type_.endswith("]"):
        raise UndescribedError(f"{form.name} is {type_}, which {form.style.name} does not fit")
    if form.token_path is not None:
        params = {"tokenPath": form.token_path}
    if form.choices:
        params = {"$ref": f"$.metadata.enums.{_last(form.name)}"}
    field: dict[str, Any] = {"path": form.name, "label": form.label, "format": name}
    if params:
        field["params"] = params
    if form.unless is not None:
        field["visible"] = {"ifNotIn": [form.unless]}
    return field


def _last(path: str) -> str:
    return path.rpartition(".")[2]


# Types as the ERC writes them


def _declared(members: Iterable[Member]) -> str:
    return ",".join(f"{_type_text(member)} {member.name}" for member in members)


def _type_text(member: Member) -> str:
    """The type with the names of a struct's members: `(address target,bytes data)[]`."""
    if not member.members:
        return member.type
    return f"({_declared(member.members)}){member.type.rpartition(')')[2]}"
