"""The two x402 facilitators that may settle: one in this process with a key of ours, one behind a URL. Built by api/main.py only.

Both wait a bounded time; what is not known by then is read from the chain when the same payment comes again.
"""

from typing import Final

from x402 import x402FacilitatorSync
from x402.http.facilitator_client import HTTPFacilitatorClientSync
from x402.http.facilitator_client_base import FacilitatorConfig
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer

from api.kernel.payments.rails import Settler

CONFIRM_WITHIN_S: Final = 20
ANSWER_WITHIN_S: Final = 30


def settler_in_process(private_key: str, rpc_url: str, network: str) -> Settler:
    """It pays the gas, so that its account needs some. One process a key: the account's nonces are counted in memory."""
    facilitator = x402FacilitatorSync()
    signer = FacilitatorWeb3Signer(private_key, rpc_url, confirmation_timeout_seconds=CONFIRM_WITHIN_S)
    register_exact_evm_facilitator(facilitator, signer, networks=network)
    return facilitator


def remote_settler(url: str) -> Settler:
    return HTTPFacilitatorClientSync(FacilitatorConfig(url=url.rstrip("/"), timeout=ANSWER_WITHIN_S))
