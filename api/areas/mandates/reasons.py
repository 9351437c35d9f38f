"""The reasons for which the operations of mandates alone refuse."""

from collections.abc import Mapping

from api.kernel.operation import Reason

REASONS: Mapping[str, Reason] = {
    "agent_not_designated": Reason(
        409,
        False,
        "owner",
        ("mandates.offers",),
        example="This mandate names another agent, or none; accept one that names you.",
    ),
    "agent_not_accepting": Reason(
        409,
        False,
        "owner",
        ("mandates.policy",),
        example="The policy of agent 1001 does not accept mandates; its owner sets "
        "accepts_mandates to true.",
    ),
    "agent_owner_mismatch": Reason(
        403,
        False,
        "owner",
        ("agents.mine",),
        example=(
            "Agent 1001 is not owned by you; designate an agent of your own, or use open_board."
        ),
    ),
    "author_signature_invalid": Reason(
        400,
        False,
        "caller",
        ("mandates.author",),
        example="author.signature: It is not 0x7099...79C8's signature of this row; sign the "
        "RecordRow that docs/record.md describes.",
    ),
    "author_signature_missing": Reason(
        409,
        False,
        "caller",
        ("mandates.author",),
        example="author: the agent of this mandate signs its rows; sign this one as number 3.",
    ),
    "author_out_of_order": Reason(
        409,
        False,
        "caller",
        ("mandates.author",),
        example="author.sequence: you signed 2, but the next row of the agent has 3; sign it again.",
    ),
    "mandate_budget_exceeded": Reason(
        402,
        True,
        "owner",
        ("mandates.read",),
        example="The mandate's own cash is 12.500000 USDC; ask for at most that, or wait until "
        "money comes back.",
    ),
    "spend_limit_reached": Reason(
        403,
        True,
        "owner",
        ("agents.scopes",),
        example="The call is above what the owner lets this key spend per day.",
    ),
    "server_guard": Reason(403, False, "agent", (), example="The relay guard refused the attempt."),
}
