"""The signed terms of a mandate, as the contracts know them, and their making from a draft.

Names equal the EIP-712 struct `MandateTerms` (domain name `Mandate Wallet`, version `2`) in
snake_case; amounts are USDC base units, times unix seconds, addresses checksum strings, hashes 0x
lower-case hex. Hashing is in core/mandate/chain/typed_data.py. Source:
contracts/libraries/TermsLib.sol, docs/rules.md#terms.

Laws
- What the owner left empty is signed as what it means: an empty cap as the budget, an empty
  approval line as 0.
- The stop floor is computed once, here, in integers: budget - floor(budget * bps / 10000). The
  accepted loss rounds down, so the floor rounds up, in the owner's favour. It is always below the
  budget, or the vault would stop at once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Final, Literal

from core.errors import InvalidNumberError, InvalidParameterError
from core.hexes import ZERO_ADDRESS as ZERO_ADDRESS
from core.hexes import read_account, read_address
from core.money import BPS_ONE, MAX_ABS_USDC_E6, UsdcE6, bps_of_down, usdc_text
from core.times import DAY_S

UNPINNED = 255
# not in terms that were signed before version 2, by their Solidity names
V2_ONLY: Final = frozenset({"perTxCap", "dailyCap", "approvalAbove", "onFloor", "guardTargetsHash"})
MAX_RULES: Final = 32  # ConstantsLib.MAX_RULES


class RuleKind(IntEnum):
    SPEND = 0  # the agent may spend here; what is out counts as unvalued
    EXIT = 1  # brings money back; spends nothing
    VALUED = 2  # spend at a listed adapter that values the position
    COST = 3  # spend at a listed adapter that buys a service (x402): a cost, not a position


@dataclass(frozen=True, slots=True)
class Rule:
    """One allowed (target, selector).

    `recipient_word` n: ABI word n of the arguments must equal the vault; 255: not pinned.
    """

    target: str
    selector: str
    recipient_word: int
    kind: RuleKind


@dataclass(frozen=True, slots=True)
class MandateTerms:
    public_id: str
    owner: str
    agent: str  # ZERO_ADDRESS on the open board until the owner sets one
    budget_usdc: int
    per_tx_cap: int  # an empty cap is signed as the budget, never 0
    daily_cap: int
    stop_floor: int  # absolute: budget - floor(budget * stop_floor_bps / 10000)
    stop_floor_bps: int
    horizon_days: int
    ends_at: int  # exclusive: execute is refused from this second on
    agent_fee_bps: int
    approval_above: int  # 0: acts on its own
    on_floor: int  # 0 keep, 1 close
    allowed_targets_hash: str
    guard_targets_hash: str
    issued_at: int
    nonce: int


SHARE_OF_VERIFIED_GAIN: Final = "share_of_verified_gain"
DEFAULT_AGENT_FEE_BPS: Final = 1_000
MAX_HORIZON_DAYS: Final = 3_650
MAX_TARGET_BPS: Final = 1_000_000
ON_FLOOR: Final[Mapping[str, int]] = {"keep": 0, "close": 1}

_PUBLIC_ID = re.compile(r"m_[a-z2-7]{10}", re.ASCII)
_HASH = re.compile(r"0x[0-9a-f]{64}", re.ASCII)
_UNSIGNED = re.compile(r"0|[1-9][0-9]{0,77}", re.ASCII)
_UINT256_MAX = 2**256 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsDraft:
    """What the owner wrote, still with its gaps. None: left empty. Amounts are USDC base units."""

    public_id: str
    owner: str
    agent: str | None  # the agent's wallet; None on the open board
    budget_usdc_e6: UsdcE6
    horizon_days: int
    stop_floor_bps: int
    per_tx_cap_usdc_e6: UsdcE6 | None = None
    daily_cap_usdc_e6: UsdcE6 | None = None
    approval_above_usdc_e6: UsdcE6 | None = None
    on_floor: Literal["keep", "close"] = "keep"
    payout_rule: Mapping[str, Any] | None = None  # None: share_of_verified_gain of 1000 bps


def terms_from_draft(
    draft: TermsDraft,
    *,
    issued_at: int,
    nonce: int,
    allowed_targets_hash: str,
    guard_targets_hash: str,
) -> MandateTerms:
    """The document that the owner signs.

    `issued_at`: unix seconds; ends_at = issued_at + horizon_days * 86400, exclusive. Hashes: 0x
    lower-case hex.
    Errors: InvalidNumberError, InvalidParameterError, naming the API's field and its rule.
    Source: docs/rules.md#fields-of-a-mandate; TermsLib.stopFloorOf, MandateVaultFactory's bounds
    (BadTerms).
    """
    budget = _amount(draft.budget_usdc_e6, "budget_usdc", MAX_ABS_USDC_E6)
    approval_above = draft.approval_above_usdc_e6
    return MandateTerms(
        public_id=_public_id(draft.public_id),
        owner=address_from_text(draft.owner, "owner_wallet"),
        agent=ZERO_ADDRESS
        if draft.agent is None
        else address_from_text(draft.agent, "agent_wallet"),
        budget_usdc=budget,
        per_tx_cap=_cap(draft.per_tx_cap_usdc_e6, budget, "per_tx_cap_usdc"),
        daily_cap=_cap(draft.daily_cap_usdc_e6, budget, "daily_cap_usdc"),
        stop_floor=stop_floor_usdc_e6(budget, draft.stop_floor_bps),
        stop_floor_bps=draft.stop_floor_bps,
        horizon_days=_whole(draft.horizon_days, 1, MAX_HORIZON_DAYS, "horizon_days"),
        ends_at=issued_at + draft.horizon_days * DAY_S,
        agent_fee_bps=agent_fee_bps(draft.payout_rule),
        approval_above=0
        if approval_above is None
        else _amount(approval_above, "approval_above_usdc", MAX_ABS_USDC_E6),
        on_floor=_on_floor(draft.on_floor),
        allowed_targets_hash=_hash(allowed_targets_hash, "allowed_targets_hash"),
        guard_targets_hash=_hash(guard_targets_hash, "guard_targets_hash"),
        issued_at=issued_at,
        nonce=nonce,
    )


def stop_floor_usdc_e6(budget_usdc_e6: int, stop_floor_bps: int) -> UsdcE6:
    """The worth at which the mandate stops, inclusive: budget - floor(budget * bps / 10000).

    1 <= bps <= 10000 and the floor lies below the budget; 10000 puts it at 0, the whole budget may
    be lost.
    Errors: InvalidNumberError on stop_floor_bps. Source: TermsLib.stopFloorOf.
    """
    _whole(stop_floor_bps, 1, BPS_ONE, "stop_floor_bps")
    accepted_loss = bps_of_down(budget_usdc_e6, stop_floor_bps)
    if accepted_loss == 0:
        rule = (
            f"{stop_floor_bps} bps of {usdc_text(budget_usdc_e6)} is less than 0.000001; raise "
            "stop_floor_bps or budget_usdc"
        )
        raise InvalidNumberError("stop_floor_bps", str(stop_floor_bps), rule)
    return UsdcE6(budget_usdc_e6 - accepted_loss)


def agent_fee_bps(payout_rule: Mapping[str, Any] | None) -> int:
    """The agent's share of a realised gain, 0..10000 bps. None is the default, 1000.

    Errors: InvalidParameterError on another kind or an unknown key, InvalidNumberError on bps.
    Source: docs/rules.md#fields-of-a-mandate.
    """
    rule = {} if payout_rule is None else dict(payout_rule)
    kind = rule.pop("kind", SHARE_OF_VERIFIED_GAIN)
    bps = rule.pop("bps", DEFAULT_AGENT_FEE_BPS)
    if kind != SHARE_OF_VERIFIED_GAIN:
        raise InvalidParameterError(
            "payout_rule.kind", f"the only kind is {SHARE_OF_VERIFIED_GAIN}"
        )
    if rule:
        raise InvalidParameterError(
            f"payout_rule.{min(map(str, rule))}", "no such field; send kind and bps"
        )
    return _whole(bps, 0, BPS_ONE, "payout_rule.bps")


def address_from_text(text: object, field: str) -> str:
    """As `read_account`, with the field that it was written in.

    Errors: InvalidParameterError. Source: docs/rules.md#addresses-and-ids.
    """
    try:
        return read_account(text)
    except ValueError as error:
        raise InvalidParameterError(field, str(error)) from error


def terms_to_json(terms: MandateTerms) -> dict[str, str]:
    """The terms as JSON: the EIP-712 names in their order, integers as decimal strings."""
    return {camel(field.name): str(getattr(terms, field.name)) for field in fields(terms)}


def terms_from_json(document: Mapping[str, Any]) -> MandateTerms:
    """Read what `terms_to_json` wrote, and nothing else: every key, no other key.

    Errors: InvalidParameterError, InvalidNumberError naming the key.
    """
    names = {camel(field.name): field for field in fields(MandateTerms)}
    for key in names.keys() ^ document.keys():
        raise InvalidParameterError(
            key, "missing" if key in names else "no such field in the terms"
        )
    return MandateTerms(
        **{
            field.name: _term(key, document[key], is_number=field.type is int)
            for key, field in names.items()
        }
    )


def rules_to_json(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """The rules as JSON, in their order: [{target, selector, recipient_word, kind}]."""
    return [
        {
            "target": rule.target,
            "selector": rule.selector,
            "recipient_word": rule.recipient_word,
            "kind": int(rule.kind),
        }
        for rule in rules
    ]


def rules_from_json(items: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Read what `rules_to_json` wrote."""
    return tuple(
        Rule(
            item["target"],
            item["selector"],
            int(item["recipient_word"]),
            RuleKind(int(item["kind"])),
        )
        for item in items
    )


# Rules of single fields


def _whole(value: object, low: int, high: int, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidNumberError(field, str(value), f"write a whole number from {low} to {high}")
    return value


def _amount(value: UsdcE6, field: str, most: int) -> UsdcE6:
    if not 0 < value <= most:
        raise InvalidNumberError(
            field, usdc_text(value), f"write more than 0 and at most {usdc_text(most)}"
        )
    return value


def _cap(cap: UsdcE6 | None, budget: UsdcE6, field: str) -> UsdcE6:
    """An empty cap is the whole budget; 0 would forbid every action and a cap above the budget says
    nothing.
    """
    return budget if cap is None else _amount(cap, field, budget)


def _public_id(text: str) -> str:
    if not _PUBLIC_ID.fullmatch(text):
        raise InvalidParameterError("id", "m_ and 10 characters of a-z and 2-7")
    return text


def _on_floor(text: str) -> int:
    if text not in ON_FLOOR:
        raise InvalidParameterError("on_floor", "keep or close")
    return ON_FLOOR[text]


def _hash(text: str, field: str) -> str:
    if not _HASH.fullmatch(text):
        raise InvalidParameterError(field, "0x and 64 lower-case hex digits")
    return text


# JSON


def camel(name: str) -> str:
    """A name of ours as Solidity has it: `stop_floor` is stopFloor."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _address(key: str, text: str) -> str:
    """Of `agent` the zero address, too: nobody is named. Errors: InvalidParameterError."""
    try:
        return read_address(text)
    except ValueError as error:
        raise InvalidParameterError(key, str(error)) from error


def _term(key: str, value: object, *, is_number: bool) -> Any:
    if not isinstance(value, str):
        raise InvalidParameterError(key, "terms are written as strings")
    if key in ("owner", "agent"):
        return _address(key, value)
    if not is_number:
        return value
    if not _UNSIGNED.fullmatch(value) or int(value) > _UINT256_MAX:
        raise InvalidNumberError(key, value, "an unsigned whole number in decimal digits")
    return int(value)
