"""What a payment of a call goes over: who is paid, in what, and who settles it.

Built in api/main.py, handed down in Deps.
"""

from dataclasses import dataclass
from typing import Protocol

import httpx
from requests.exceptions import RequestException
from web3.exceptions import Web3Exception
from x402.http.facilitator_client import FacilitatorResponseError
from x402.mechanisms.evm.constants import ERR_FAILED_TO_VERIFY_SIGNATURE
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse

from core.errors import OutsideError
from core.money import USDC_E6_PER_USDC

MAX_TIMEOUT_S = 60  # how long a payer's authorization should hold
# what ends sooner may end before it is mined; x402's facilitator has the same bound, not as a
# constant
LEAST_LEFT_S = 6


class Settler(Protocol):
    """x402's facilitators, in this process and behind a URL, have these two."""

    def verify(
        self, payload: PaymentPayload, requirements: PaymentRequirements
    ) -> VerifyResponse: ...

    def settle(
        self, payload: PaymentPayload, requirements: PaymentRequirements
    ) -> SettleResponse: ...


class FacilitatorError(OutsideError):
    """The facilitator does not answer, or answers nonsense: what it did is not known."""


class NotSentError(FacilitatorError):
    """It sent nothing, so that nothing was paid for."""


class DearGasError(NotSentError):
    """Gas costs more now than the payment is worth. Figures are wei a unit of gas."""

    def __init__(self, asked_wei: int, most_wei: int) -> None:
        super().__init__(f"gas costs {asked_wei} wei, at most {most_wei} are paid")
        self.asked_wei = asked_wei
        self.most_wei = most_wei


@dataclass(frozen=True, slots=True, kw_only=True)
class GasBudget:
    """What settling may cost us, in wei: one settlement by what it earns, all of a UTC day, and of
    these those of contract wallets.
    """

    wei_per_usdc: int
    wei_per_day: int
    contract_wei_per_day: int

    def most_wei(self, amount_usdc_e6: int) -> int:
        """What settling so much may cost at most, rounded down."""
        return amount_usdc_e6 * self.wei_per_usdc // USDC_E6_PER_USDC


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentConfig:
    """`network` is CAIP-2.

    `asset` is the token, with the name and version of its EIP-712 domain. Addresses in checksum
    form.

    `gas` None: settling costs us no gas.
    """

    settler: Settler
    network: str
    asset: str
    pay_to: str
    asset_name: str = "USDC"
    asset_version: str = "2"
    gas: GasBudget | None = None

    def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        """Errors: FacilitatorError."""
        try:
            verdict = self.settler.verify(payload, requirements)
        except _FAILURES as error:
            raise FacilitatorError(f"verify: {type(error).__name__}") from error
        # its word for: my node failed while I looked
        if verdict.invalid_reason == ERR_FAILED_TO_VERIFY_SIGNATURE:
            raise FacilitatorError(f"verify: {verdict.invalid_message}")
        return verdict

    def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        """Errors: FacilitatorError; the payment may have settled all the same."""
        try:
            return self.settler.settle(payload, requirements)
        except _FAILURES as error:
            raise FacilitatorError(f"settle: {type(error).__name__}") from error


# What the two kinds raise: no answer, an answer that is no x402, a node that fails (ValueError is
# x402's and web3's own).
_FAILURES = (
    FacilitatorResponseError,
    httpx.HTTPError,
    RequestException,
    Web3Exception,
    ValueError,
    OSError,
)
