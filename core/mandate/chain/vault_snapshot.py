"""What the views of one vault come to, read together at one block (ChainReader.vault_seen)."""

from collections.abc import Sequence
from typing import Any, Final

from core.chain.rpc import RpcError, RpcRefusedError
from core.mandate.rules.lifecycle import OF_VAULT, VaultStatus
from core.mandate.rules.seen import VaultSeen

# of MandateVault; the vault's USDC follows them
VIEWS: Final = ("worth", "status", "agent", "payee", "stoppedAt", "totals", "feeOwed")


class NotSeenError(RpcError):
    """A node has no such block."""


def seen_of(vault: str, at: int, answers: Sequence[Any]) -> VaultSeen:
    """`answers`: of VIEWS and the balance, each within its bounds; a `worth` that was refused is
    unknown. `at`: the block's time.

    Errors: RpcRefusedError of anything else that was refused.
    """
    worth, *needed = answers
    for answer in needed:
        if isinstance(answer, RpcRefusedError):
            raise answer
    status, agent, payee, stopped_at, totals, fee_owed, balance = needed
    deposited, spent, received, withdrawn, fee_paid, unvalued_out, _ = totals
    return VaultSeen(
        vault=vault,
        at=at,
        status=OF_VAULT[VaultStatus(status)],
        agent=agent,
        payee=payee,
        stopped_at=stopped_at,
        deposited_usdc_e6=deposited,
        spent_usdc_e6=spent,
        received_usdc_e6=received,
        withdrawn_usdc_e6=withdrawn,
        fee_paid_usdc_e6=fee_paid,
        unvalued_out_usdc_e6=unvalued_out,
        fee_owed_usdc_e6=fee_owed,
        balance_usdc_e6=balance,
        worth_usdc_e6=None if isinstance(worth, RpcRefusedError) else worth[0],
    )
