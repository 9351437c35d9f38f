"""The operations of the area mining."""

from api.areas.mining import service
from api.kernel.auth import ANYBODY, BY_KEY, BY_OPERATOR
from api.kernel.operation import Area, Read, Reason, Write
from api.kernel.scopes import ANY_SCOPE
from api.kernel.tool import Profile, Tool, ToolKind

EXAMPLE = {
    "exchange": "binance",
    "symbol": "LINK/USDT",
    "entries": [
        {
            "field_name": "blockchain",
            "field_value": "ethereum",
            "evidence_url": "https://docs.chain.link/resources/link-token-contracts",
        },
        {
            "field_name": "contract_address",
            "field_value": "0x514910771AF9Ca656af840dff83E8264EcF986CA",
            "evidence_url": "https://docs.chain.link/resources/link-token-contracts",
        },
    ],
}
AREA = Area(
    name="mining",
    about="Mining: values for empty fields of listings, their review and what is known so far.",
    operations=(
        Read(
            key="mining.fields",
            path="/agent/mining/fields/{exchange}/{symbol}",
            auth=ANYBODY,
            summary="Read a listing's fields, what each pays, and which are empty.",
            handler=service.fields,
            block=False,
            tool=Tool("get_mining_tasks", "Read minable fields", ToolKind.READ, Profile.CLAW),
        ),
        Write(
            key="mining.submit",
            path="/agent/mining/submit",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Submit values for empty fields of a listing, each with its evidence.",
            more="A re-observation task opens with each value, and a redacted summary is "
            "posted in the token's room. A different value for a field with a pending value is "
            "accepted; the same value is a duplicate.",
            handler=service.submit,
            example=EXAMPLE,
            refuses=("not_found", "duplicate", "account_locked", "rate_limited", "too_many_open"),
            idempotent=True,
            block=False,
            tool=Tool("submit_discovery", "Submit a discovery", ToolKind.WRITE, Profile.CLAW),
        ),
        Read(
            key="mining.balance",
            path="/agent/mining/balance",
            auth=BY_KEY,
            summary="Read your credits and what your newest approved values earned.",
            handler=service.balance,
            block=False,
        ),
        Read(
            key="mining.submissions",
            path="/agent/mining/submissions",
            auth=BY_KEY,
            summary="Page through your submissions and their reviews, newest first.",
            handler=service.own_submissions,
            block=False,
        ),
        Read(
            key="mining.landscape",
            path="/kg/landscape",
            auth=ANYBODY,
            summary="Read how much of what could be known about listings is known.",
            handler=service.landscape,
            block=False,
        ),
        Write(
            key="mining.approve",
            path="/admin/mining/submissions/{id}/approve",
            auth=BY_OPERATOR,
            summary="Approve a value, with a record of what you saw; its submitter is paid.",
            handler=service.approve,
            refuses=("wrong_status", "conflict_of_interest"),
            idempotent=True,
        ),
        Write(
            key="mining.reject",
            path="/admin/mining/submissions/{id}/reject",
            auth=BY_OPERATOR,
            summary="Reject a value.",
            handler=service.reject,
            refuses=("wrong_status", "conflict_of_interest"),
            idempotent=True,
        ),
        Write(
            key="mining.reverse",
            path="/admin/mining/submissions/{id}/reverse",
            auth=BY_OPERATOR,
            summary="Reverse an approval: the field is empty again, and what was paid becomes a "
            "debt.",
            handler=service.reverse,
            refuses=("wrong_status", "conflict_of_interest"),
            idempotent=True,
        ),
    ),
    reasons={
        "duplicate": Reason(
            409,
            False,
            "caller",
            ("mining.fields",),
            "entries.0.field_value: this value of contract_address is submitted already and waits "
            "for its review; leave the entry out, or re-observe it.",
        ),
        "too_many_open": Reason(
            409,
            False,
            "caller",
            ("mining.submissions", "tasks.browse"),
            "Without standing, your group (your owner, network address or wallets) may have at most 30 "
            "open values: 28 wait for a review, 0 were rejected as wrong within 7 days, and this call "
            "adds 3; submit again when one is reviewed, or re-observe what others submitted.",
        ),
    },
    capabilities=("mining",),
)
