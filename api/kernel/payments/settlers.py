"""The two x402 facilitators that may settle: one in this process with a key of ours, one behind a
URL. Built by api/main.py only.

Both wait a bounded time; what is not known by then is read from the chain when the same payment
comes again.
"""

from typing import Final

from x402.http.facilitator_client import HTTPFacilitatorClientSync
from x402.http.facilitator_client_base import FacilitatorConfig

from api.kernel.payments.own_settler import OwnSettler
from api.kernel.payments.payment_config import GasBudget, Settler
from core.chain.signer import LocalKeySigner
from core.mandate.chain.reader import VaultReader

ANSWER_WITHIN_S: Final = 30


def settler_in_process(
    private_key: str, chain: VaultReader, network: str, gas: GasBudget
) -> Settler:
    """It pays the gas, so that its account needs some.

    One process a key: the account's nonces are counted in memory.
    """
    return OwnSettler(LocalKeySigner(private_key), chain, network, gas)


def remote_settler(url: str) -> Settler:
    return HTTPFacilitatorClientSync(
        FacilitatorConfig(url=url.rstrip("/"), timeout=ANSWER_WITHIN_S)
    )
