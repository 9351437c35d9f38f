"""EIP-712: what wallets show and sign, and the digests that the contracts compute.

Two faces of each document: `typed_data`, the JSON of eth_signTypedData_v4 (integers as decimal
strings, since JavaScript has no uint256), and `digest`, the 32 bytes that are signed, computed
here by hand from the type strings. Tests hold the two faces, the contracts and eth_account against
one another. Source: contracts/libraries/TermsLib.sol, EIP-712, EIP-3009.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import rfc8785
from eth_abi.abi import encode as abi_encode
from eth_utils.crypto import keccak

from core.canonical import canonical_json
from core.hexes import bytes_of, hex_of
from core.mandate.chain.calldata import rule_tuple
from core.mandate.rules.record import authored_payload
from core.mandate.rules.rows import NewRow, RowAuthor
from core.mandate.rules.terms import V2_ONLY, MandateTerms, Rule, camel
from core.money import usdc_text_or_none

TypeFields = tuple[tuple[str, str], ...]

TERMS_DOMAIN_NAME = "Mandate Wallet"
TERMS_V2: TypeFields = (
    ("string", "publicId"),
    ("address", "owner"),
    ("address", "agent"),
    ("uint256", "budgetUsdc"),
    ("uint256", "perTxCap"),
    ("uint256", "dailyCap"),
    ("uint256", "stopFloor"),
    ("uint16", "stopFloorBps"),
    ("uint32", "horizonDays"),
    ("uint64", "endsAt"),
    ("uint16", "agentFeeBps"),
    ("uint256", "approvalAbove"),
    ("uint8", "onFloor"),
    ("bytes32", "allowedTargetsHash"),
    ("bytes32", "guardTargetsHash"),
    ("uint64", "issuedAt"),
    ("uint256", "nonce"),
)
# Verified for rows signed before version 2, never issued.
TERMS_V1: TypeFields = tuple(field for field in TERMS_V2 if field[1] not in V2_ONLY)
TERMS_FIELDS = {1: TERMS_V1, 2: TERMS_V2}

DOMAIN: TypeFields = (
    ("string", "name"),
    ("string", "version"),
    ("uint256", "chainId"),
    ("address", "verifyingContract"),
)
AUTHORIZATION: TypeFields = (
    ("address", "from"),
    ("address", "to"),
    ("uint256", "value"),
    ("uint256", "validAfter"),
    ("uint256", "validBefore"),
    ("bytes32", "nonce"),
)
X402_PAYMENT: TypeFields = (
    ("address", "vault"),
    ("address", "payTo"),
    ("uint256", "amount"),
    ("bytes32", "resourceHash"),
    ("bytes32", "nonce"),
    ("uint64", "deadline"),
)
# docs/record.md#signed-rows
RECORD_ROW: TypeFields = (
    ("string", "mandate"),
    ("uint64", "sequence"),
    ("bytes32", "prev"),
    ("string", "kind"),
    ("string", "amountUsdc"),
    ("bytes32", "txHash"),
    ("bytes32", "payloadHash"),
)
ROW_DOMAIN_NAME = "Mandate Wallet Record"
ROW_DOMAIN_VERSION = "1"
NO_TRANSACTION = "0x" + "00" * 32
X402_DOMAIN_NAME = "Mandate Wallet x402"
X402_DOMAIN_VERSION = "1"
USDC_DOMAIN_NAME = "USDC"
USDC_DOMAIN_VERSION = "2"


def terms_message(terms: MandateTerms) -> dict[str, str | int]:
    """The terms with their Solidity names; integers stay int."""
    return {camel(field.name): getattr(terms, field.name) for field in fields(terms)}


def _word(kind: str, value: Any) -> bytes:
    """One member as EIP-712 encodes it: 32 bytes, dynamic kinds hashed."""
    if kind == "string":
        return keccak(text=value)
    if kind == "bytes":
        return keccak(bytes_of(value))
    return abi_encode([kind], [bytes_of(value) if kind.startswith("bytes") else value])


def struct_hash(name: str, form: TypeFields, message: Mapping[str, Any]) -> bytes:
    """hashStruct of EIP-712 for a struct of plain members.

    Errors: eth_abi's EncodingError on a value out of range.
    """
    type_text = f"{name}({','.join(f'{kind} {member}' for kind, member in form)})"
    return keccak(
        keccak(text=type_text) + b"".join(_word(kind, message[member]) for kind, member in form)
    )


@dataclass(frozen=True, slots=True)
class TypedDocument:
    """What somebody signs: a message of the struct `name` under a domain."""

    domain: Mapping[str, Any]
    name: str
    form: TypeFields
    message: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """What is signed: keccak256(0x1901 . domain separator . struct hash), 0x lower-case hex.

        Errors: eth_abi's EncodingError on a value out of range.
        """
        domain = struct_hash("EIP712Domain", DOMAIN, self.domain)
        return hex_of(
            keccak(b"\x19\x01" + domain + struct_hash(self.name, self.form, self.message))
        )

    @property
    def typed_data(self) -> dict[str, Any]:
        """The document of eth_signTypedData_v4. chainId stays a number: wallets compare it with
        their own.
        """
        return {
            "types": {"EIP712Domain": _json_form(DOMAIN), self.name: _json_form(self.form)},
            "primaryType": self.name,
            "domain": dict(self.domain),
            "message": {
                member: _json_value(kind, self.message[member]) for kind, member in self.form
            },
        }


def _domain(name: str, version: str, chain_id: int, contract: str) -> dict[str, str | int]:
    return {"name": name, "version": version, "chainId": chain_id, "verifyingContract": contract}


def _json_form(form: TypeFields) -> list[dict[str, str]]:
    return [{"name": member, "type": kind} for kind, member in form]


def _json_value(kind: str, value: Any) -> Any:
    return str(value) if kind.startswith("uint") else value


def typed_data_parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """{domain, types, message} of such a document for libraries that derive EIP712Domain themselves
    and refuse it (ethers).
    """
    types = {name: form for name, form in document["types"].items() if name != "EIP712Domain"}
    return {"domain": document["domain"], "types": types, "message": document["message"]}


def _terms(terms: MandateTerms, factory: str, chain_id: int, version: int) -> TypedDocument:
    """docs/rules.md#terms; version 1 leaves out the caps."""
    domain = _domain(TERMS_DOMAIN_NAME, str(version), chain_id, factory)
    return TypedDocument(domain, "MandateTerms", TERMS_FIELDS[version], terms_message(terms))


def terms_typed_data(
    terms: MandateTerms, factory: str, chain_id: int, version: int = 2
) -> dict[str, Any]:
    """What the owner's wallet shows."""
    return _terms(terms, factory, chain_id, version).typed_data


@lru_cache(maxsize=4_096)  # a read of a mandate proves it anew
def terms_digest(terms: MandateTerms, factory: str, chain_id: int, version: int = 2) -> str:
    """The digest that the owner signs; equals MandateVaultFactory.termsDigest(terms) for version
    2.
    """
    return _terms(terms, factory, chain_id, version).digest


def rules_hash(rules: Sequence[Rule]) -> str:
    """keccak256(abi.encode(Rule[])): `allowedTargetsHash`. The factory wants them strictly
    ascending by (target, selector).
    """
    encoded = [
        (target, bytes_of(selector), word, kind)
        for target, selector, word, kind in map(rule_tuple, rules)
    ]
    return hex_of(keccak(abi_encode(["(address,bytes4,uint8,uint8)[]"], [encoded])))


def guard_targets_hash(guard_targets: Sequence[Any]) -> str:
    """keccak256 of the RFC 8785 JSON of what the relay guard enforces: `guardTargetsHash`. No
    targets: of `[]`.
    """
    return hex_of(keccak(rfc8785.dumps(list(guard_targets))))


def row_domain(factory: str, chain_id: int) -> dict[str, str | int]:
    """The domain of signed rows: the mandate's factory, as of its terms."""
    return _domain(ROW_DOMAIN_NAME, ROW_DOMAIN_VERSION, chain_id, factory)


def record_row(
    public_id: str, row: NewRow, author: RowAuthor, factory: str, chain_id: int
) -> TypedDocument:
    """What the author of a row signs; of `author` only sequence and prev are read. An amount that
    nobody knows is empty, a transaction that there is not is 32 zero bytes.
    """
    message = {
        "mandate": public_id,
        "sequence": author.sequence,
        "prev": author.prev,
        "kind": row.kind.value,
        "amountUsdc": usdc_text_or_none(row.amount_usdc_e6) or "",
        "txHash": row.tx_hash or NO_TRANSACTION,
        "payloadHash": hex_of(keccak(canonical_json(authored_payload(row.payload)))),
    }
    return TypedDocument(row_domain(factory, chain_id), "RecordRow", RECORD_ROW, message)


def receive_authorization(usdc: str, chain_id: int, *message: str | int) -> TypedDocument:
    """EIP-3009 ReceiveWithAuthorization: only `to` can submit it. `message`: the members of
    AUTHORIZATION in their order.

    Both time bounds exclusive; value in base units.
    """
    return _authorization("ReceiveWithAuthorization", usdc, chain_id, message)


def transfer_authorization(usdc: str, chain_id: int, *message: str | int) -> TypedDocument:
    """EIP-3009 TransferWithAuthorization: the same, and anybody can submit it."""
    return _authorization("TransferWithAuthorization", usdc, chain_id, message)


def _authorization(
    name: str, usdc: str, chain_id: int, message: Sequence[str | int]
) -> TypedDocument:
    domain = _domain(USDC_DOMAIN_NAME, USDC_DOMAIN_VERSION, chain_id, usdc)
    members = [member for _, member in AUTHORIZATION]
    return TypedDocument(domain, name, AUTHORIZATION, dict(zip(members, message, strict=True)))


def x402_payment(
    adapter: str,
    chain_id: int,
    vault: str,
    pay_to: str,
    amount: int,
    resource_hash: str,
    nonce: str,
    deadline: int,
) -> TypedDocument:
    """What the relay guard signs for one payment: its digest is X402Adapter.paymentDigest.

    `amount` in USDC base units, `deadline` inclusive unix seconds.
    """
    message = {
        "vault": vault,
        "payTo": pay_to,
        "amount": amount,
        "resourceHash": resource_hash,
        "nonce": nonce,
        "deadline": deadline,
    }
    domain = _domain(X402_DOMAIN_NAME, X402_DOMAIN_VERSION, chain_id, adapter)
    return TypedDocument(domain, "X402Payment", X402_PAYMENT, message)
