"""Descriptors by which a wallet shows in plain words what an owner signs."""

from collections.abc import Iterable
from typing import Any

import pytest

from api.areas.mandates.rules import clear_signing
from api.areas.mandates.rules.clear_signing import (
    FACTORY_CALLS,
    VAULT_CALLS,
    Function,
    Member,
    PublishedFactory,
    UndescribedError,
    factory_descriptor,
    terms_descriptor,
    vault_descriptor,
)
from core.mandate.chain.typed_data import TERMS_V2
from core.mandate.rules.words import TERM_FORMS

MEMBERS = [Member(name, kind) for kind, name in TERMS_V2]
DOMAIN = {"name": "Mandate Wallet", "version": "2"}
FACTORY = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
SEPOLIA = PublishedFactory(84_532, FACTORY, USDC)
ELSEWHERE = PublishedFactory(8_453, USDC, FACTORY)


PAID = (
    Member("amount", "uint256"),
    Member("validAfter", "uint256"),
    Member("validBefore", "uint256"),
)
FUNDING = (
    Member("funding", "(uint256,uint256,uint256,bytes)", (*PAID, Member("signature", "bytes"))),
)
AUTHORIZED = (
    Member("from", "address"),
    *PAID,
    Member("salt", "bytes32"),
    Member("signature", "bytes"),
)
EXIT = (Member("target", "address"), Member("maxSpend", "uint256"), Member("data", "bytes"))
UNWIND = (Member("calls", "(address,uint256,bytes)[]", EXIT),)


def terms(members: Iterable[Member] = MEMBERS) -> dict[str, Any]:
    return terms_descriptor(list(members), DOMAIN, [SEPOLIA])


def fields(descriptor: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (form,) = descriptor["display"]["formats"].values()
    return {field["path"]: field for field in form["fields"]}


def test_the_terms__are_keyed_by_their_type() -> None:
    (key,) = terms()["display"]["formats"]
    assert key.startswith("MandateTerms(string publicId,address owner,address agent,uint256 budget")
    assert key.endswith(",uint64 issuedAt,uint256 nonce)")


def test_every_member__is_shown_or_hidden_with_its_reason() -> None:
    for name, field in fields(terms()).items():
        is_hidden = field.get("visible") == "never"
        assert is_hidden == (name in ("issuedAt", "nonce"))
        assert bool(field["$id"] if is_hidden else field["label"] and field["format"])
    assert set(fields(terms())) == {member.name for member in MEMBERS}


def test_a_member_without_words__is_an_error() -> None:
    with pytest.raises(UndescribedError, match="MandateTerms: no words for leverage"):
        terms([*MEMBERS, Member("leverage", "uint8")])


def test_words_without_a_member__are_an_error() -> None:
    with pytest.raises(UndescribedError, match="MandateTerms has no nonce"):
        terms(member for member in MEMBERS if member.name != "nonce")


def test_a_member_of_another_type__is_an_error() -> None:
    changed = [Member("owner", "bytes32") if one.name == "owner" else one for one in MEMBERS]
    with pytest.raises(UndescribedError, match="owner is bytes32, which ADDRESS does not fit"):
        terms(changed)


def test_a_member_that_became_a_list__is_an_error() -> None:
    changed = [Member("agent", "address[]") if one.name == "agent" else one for one in MEMBERS]
    with pytest.raises(UndescribedError, match=r"agent is address\[\]"):
        terms(changed)


def test_an_approval_line_of_0__is_left_out_since_it_means_never() -> None:
    assert fields(terms())["approvalAbove"]["visible"] == {"ifNotIn": [0]}


def test_a_descriptor__is_bound_to_every_deployment_and_its_usdc() -> None:
    made = terms_descriptor(MEMBERS, DOMAIN, [SEPOLIA, ELSEWHERE])
    assert made["context"]["eip712"] == {
        "domain": DOMAIN,
        "deployments": [
            {"chainId": 84_532, "address": FACTORY},
            {"chainId": 8_453, "address": USDC},
        ],
    }
    assert made["metadata"]["maps"]["usdc"]["values"] == {"84532": USDC, "8453": FACTORY}


def test_without_deployments__a_descriptor_is_bound_to_none() -> None:
    made = terms_descriptor(MEMBERS, DOMAIN, [])
    assert made["context"]["eip712"]["deployments"] == []


def test_no_sentence__stands_for_a_whole_document() -> None:
    (form,) = terms()["display"]["formats"].values()
    assert set(form) == {"$id", "intent", "fields"}


def test_a_vault__is_known_by_the_factory_that_made_it() -> None:
    """The one contract here whose address nobody can publish beforehand."""
    arguments: dict[str, tuple[Member, ...]] = {
        "fund": FUNDING,
        "deposit": (Member("amount", "uint256"),),
        "depositWithAuthorization": AUTHORIZED,
        "withdraw": (
            Member("token", "address"),
            Member("to", "address"),
            Member("amount", "uint256"),
        ),
        "setAgent": (Member("newAgent", "address"),),
        "removeAgent": (),
        "stop": (Member("reason", "bytes32"),),
        "unwind": UNWIND,
        "settle": (),
    }
    functions = [Function(name, members) for name, members in arguments.items()]
    made = vault_descriptor(functions, "VaultCreated(address)", [SEPOLIA])
    assert made["context"]["contract"] == {
        "factory": {
            "deployments": [{"chainId": 84_532, "address": FACTORY}],
            "deployEvent": "VaultCreated(address)",
        }
    }
    assert (
        "unwind((address target,uint256 maxSpend,bytes data)[] calls)" in made["display"]["formats"]
    )


def test_an_argument_without_words__is_an_error() -> None:
    functions = [Function("createVault", (*PAID, Member("surprise", "bytes")))]
    with pytest.raises(UndescribedError, match=r"createVault: no words for amount, .*, surprise"):
        factory_descriptor(functions, [])


def test_the_calls_of_owners__are_those_of_the_contracts() -> None:
    assert [call.function for call in (*FACTORY_CALLS, *VAULT_CALLS)] == [
        "createVault",
        "cancelTerms",
        "fund",
        "deposit",
        "depositWithAuthorization",
        "withdraw",
        "setAgent",
        "removeAgent",
        "stop",
        "unwind",
        "settle",
    ]


def test_words_twice_for_one_member__are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = (*TERM_FORMS, TERM_FORMS[0])
    monkeypatch.setattr(clear_signing, "TERM_FORMS", twice)
    with pytest.raises(UndescribedError, match="MandateTerms: words twice for one member"):
        terms()
