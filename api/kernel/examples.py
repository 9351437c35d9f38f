"""An example of each refusal, for OpenAPI: the very body that the kernel makes, with a sentence as a service would write it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from api.catalog import Row
from api.kernel.operation import Operation, Refusal
from api.kernel.reasons import reasons_of
from api.kernel.refusals import ALWAYS_WITH_BLOCK, REASONS, refused

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
IDS = {"mandates": "m_abcdefghij", "agents": "1001"}
SENTENCES: Mapping[str, str] = {
    "auth_required": "This call is the agent's; send the agent's key in X-SVC-User-Key.",
    "auth_invalid": "The key in X-SVC-User-Key is not valid; send a live one, or register with /auth/agent/connect.",
    "scope_denied": "This key lacks the scope tx; its owner can grant it.",
    "spend_limit_reached": "The call is above what the owner lets this key spend a day.",
    "not_owner": "Agent 1001 is not yours; its policy is its owner's to read and to replace.",
    "not_found": "You have no mandate m_abcdefghij.",
    "wrong_status": "The mandate is stopped; an update takes a draft.",
    "invalid_parameter": "cursor: send the next_cursor of the page before, or leave it out.",
    "invalid_number": "amount_usdc: write a decimal with at most 6 decimals, such as 12.500000.",
    "agent_not_designated": "This mandate names another agent, or none; accept one that names you.",
    "agent_not_accepting": "The policy of agent 1001 does not accept mandates; its owner sets accepts_mandates to true.",
    "agent_owner_mismatch": "Agent 1001 is not owned by you; designate an agent of your own, or use open_board.",
    "insufficient_idle": "The report takes out 12.500000 and 0.000000 is idle.",
    "mandate_budget_exceeded": "The mandate's own cash is 12.500000 USDC; ask for that at most, or wait until money comes back.",
    "signature_invalid": "signature: it is not the owner's over these terms; sign the typed data of GET .../terms.",
    "idempotency_key_reused": "This Idempotency-Key was used with another body; take a new key, or send the first body again.",
    "idempotency_in_flight": "A call with this Idempotency-Key is being served; send it again in a moment.",
    "rate_limited": "The 2000 calls of today are used up; call again from 2026-02-01T00:00:00Z on.",
    "temporarily_unavailable": "The database does not answer or is busy; send the call again in a moment.",
    "schema_not_applied": "The database lacks this version's tables; its operator applies the migrations.",
    "agent_key_scope": "This key lacks the scope read; its owner can grant it.",
    "secret_field_refused": "api_secret: this service never takes keys or secrets; leave the field out.",
    "record_short": "What is idle is not known: facts of the chain are held back from the account's record. Report it again later.",
    "duplicate_transfer": "You reported this transaction; it is confirmed.",
    "tw_feature_disabled": "This feature is switched off.",
    "server_guard": "The relay guard refused the attempt.",
    "wallet_taken": "The wallet belongs to another account; link a wallet of your own.",
    "account_has_wallet": "This account has a wallet already; one account has one wallet.",
    "wallet_not_linked": "No wallet is linked to your account; link your own wallet first.",
    "wallet_waits": "Your wallet waits until 2026-02-01T00:00:00Z, or until the agent's owner confirms it.",
    "external_id_taken": "An agent is registered under this external_id; recover it by its recovery code.",
    "wallet_required": "A signed record needs a linked wallet; link one, or leave the signature out.",
    "case_open": "A case is open against agent 1001; close it before you open another.",
    "origin_not_allowed": "This origin may not call the tools.",
    "owned_agents_limit": "You own 20 agents already, the most that one owner may have; use one of them.",
    "not_authorized": "not authorized",
    "payment_required": "This read costs 1 credits with an agent's key, or a payment as accepts says.",
    "credit_insufficient": "Today's free reads are used up and this read costs 1 credits; you have 0. Pay as accepts says.",
    "payment_invalid": "PAYMENT-SIGNATURE: authorization.value is 9999; pay exactly 10000 base units.",
    "payment_already_used": "This payment has served a call, or serves one now; sign a new payment for this one.",
    "settlement_pending": "The payment is being settled and is not on the chain yet; send the same call with the same payment again.",
    "body_too_large": "The body is larger than 262144 bytes; send less.",
    "unsupported_media_type": "The body is not JSON; send it with Content-Type: application/json.",
}


def examples_of(operation: Operation, status: int) -> Mapping[str, Any]:
    """Reason -> reference to its example, of the reasons that this operation answers with this status."""
    found = [reason for reason in reasons_of(operation) if REASONS[reason].status == status]
    return {reason: {"$ref": "#/components/examples/" + _name(reason, operation.row)} for reason in found}


def example_bodies(operations: tuple[Operation, ...]) -> Mapping[str, Any]:
    """The examples that those references name."""
    return {_name(reason, one.row): {"value": _body(reason, one.row)} for one in operations for reason in reasons_of(one)}


def _name(reason: str, row: Row) -> str:
    """A refusal without the block is a sentence alone."""
    return reason if row.block or REASONS[reason].status in ALWAYS_WITH_BLOCK else reason + "_sentence"


def _body(reason: str, row: Row) -> Mapping[str, Any]:
    retry_at = MIDNIGHT if reason in ("rate_limited", "wallet_waits") else None
    return refused(Refusal(reason, SENTENCES[reason], retry_at=retry_at), row, IDS, NOW).body
