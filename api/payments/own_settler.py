"""Settles payments of the scheme `exact` with a key of ours, by the token's
transferWithAuthorization.

    verify:  price --> simulate                               settle:  price --> simulate --> sign, send --> wait for the receipt

Laws
- A payment is simulated as it is sent: from the settler, with its gas limit and its fees. What a
  payer's wallet does with less gas or at another price, it does when it is asked as well.
- A transaction has MOST_GAS units, at a price that all of them together, with the fee of layer 1,
  cost at most what the payment earns.
- Nothing but this call is ever sent: no wallet is deployed, and what else a payment carries is not
  looked at.
- What a node says of a transaction that was sent is no verdict: until its receipt is there, the
  settlement is pending.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak
from x402.mechanisms.evm.constants import (
    ERR_INVALID_SIGNATURE,
    ERR_SETTLEMENT_PENDING,
    ERR_TRANSACTION_FAILED,
    ERR_TRANSACTION_SIMULATION_FAILED,
    ERR_VALID_BEFORE_EXPIRED,
)
from x402.mechanisms.evm.erc6492 import parse_erc6492_signature
from x402.mechanisms.evm.exact.eip3009_utils import parse_eip3009_transfer_error
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse

from api.payments.payment_config import LEAST_LEFT_S, DearGasError, GasBudget, NotSentError
from core.chain import results
from core.chain.abi import AbiEncodeError, decode_revert
from core.chain.errors import RpcCodeFailedError, RpcError, RpcRefusedError, RpcRevertedError
from core.chain.reader import LATEST
from core.chain.signer import Signer
from core.hexes import bytes_of, hex_of
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader

MOST_GAS: Final = 120_000
TRANSACTION_GAS: Final = 21_000
FLOOR_GAS: Final = 10  # a byte of zero; any other counts four times
ENVELOPE_BYTES: Final = 130  # of an unsigned type 2 transaction beside its data, upper bound
CONFIRM_WITHIN_S: Final = 20.0
LOOK_EVERY_S: Final = 0.2
# for so long a node that knows nothing of what was sent lags; after that it was lost
BELIEVED_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Transfer:
    """What is sent, and of whom it is. `amount`: base units; `ends_at`: unix seconds, exclusive."""

    token: str
    data: str
    payer: str
    amount: int
    ends_at: int


@dataclass(frozen=True, slots=True)
class _Price:
    """Wei a unit of gas."""

    most: int
    tip: int

    def as_fields(self) -> dict[str, int]:
        return {"maxFeePerGas": self.most, "maxPriorityFeePerGas": self.tip}


class OwnSettler:
    """One process a key: its nonces are counted in memory. Threads may share it."""

    def __init__(self, signer: Signer, chain: VaultReader, network: str, gas: GasBudget) -> None:
        """`network` is CAIP-2's name of the chain, eip155:<id>."""
        self._signer = signer
        self._chain = chain
        self._network = network
        self._chain_id = int(network.removeprefix("eip155:"))
        self._gas = gas
        self._sending = threading.Lock()
        self._next_nonce = 0
        self._top_nonce = 0  # the highest that a node reported, from when the window began
        self._believed_until = 0.0

    @property
    def address(self) -> str:
        """Checksum; whose nonces are used."""
        return self._signer.address

    def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        """Whether the token would take the payment now.

        Errors: DearGasError, those of all reads.
        """
        try:
            transfer = _transfer_of(payload, requirements)
        except ValueError:
            return VerifyResponse(
                is_valid=False,
                invalid_reason=ERR_INVALID_SIGNATURE,
                payer=payload.payload["authorization"]["from"],
            )
        refused = self._refused(transfer, self._price(transfer))
        return VerifyResponse(
            is_valid=refused is None, invalid_reason=refused, payer=transfer.payer
        )

    def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        """Send it, and wait for the receipt; `transaction` is empty when nothing was sent.

        Errors: NotSentError, and those of all reads before anything is sent.
        """
        transfer = _transfer_of(payload, requirements)
        try:
            price = self._price(transfer)
            refused = self._refused(transfer, price)
        except RpcError as error:
            raise NotSentError(str(error)) from error
        if refused is not None:
            return self._failed(transfer, refused)
        return self._awaited(transfer, self._send(transfer, price))

    def _price(self, transfer: _Transfer) -> _Price:
        """The cap is what the payment earns, so that a price that rises meanwhile leaves nothing
        stuck below it.

        Errors: DearGasError, those of all reads.
        """
        layer_1 = self._chain.layer_1_fee_wei(ENVELOPE_BYTES + len(bytes_of(transfer.data)))
        header = self._chain.header()
        if layer_1 is None or header is None:
            raise NotSentError("the current gas price is unknown")
        most = max(0, self._gas.most_wei(transfer.amount) - layer_1 * 5 // 4) // MOST_GAS
        tip = self._tip()
        asked = (header.base_fee_wei or 0) * 9 // 8 + tip
        if asked > most:
            raise DearGasError(asked, most)
        return _Price(most, tip)

    def _tip(self) -> int:
        try:
            return self._chain.priority_fee_wei()
        except RpcRefusedError:
            return 0  # a chain without the method has no tips

    def _refused(self, transfer: _Transfer, price: _Price) -> str | None:
        """Why the token does not take it, in x402's words; None: it does.

        Errors: those of all reads.
        """
        if transfer.ends_at < time.time() + LEAST_LEFT_S:
            return ERR_VALID_BEFORE_EXPIRED
        call = {
            "from": self._signer.address,
            "to": transfer.token,
            "data": transfer.data,
            "gas": hex(MOST_GAS),
        }
        call |= {name: hex(wei) for name, wei in price.as_fields().items()}
        try:
            self._chain.rpc.call("eth_call", [call, LATEST], results.code)
        except RpcRevertedError as error:
            return _reason_of(error.revert_data)
        except RpcCodeFailedError:
            return ERR_INVALID_SIGNATURE  # a wallet that loops, or is broken
        return None

    def _send(self, transfer: _Transfer, price: _Price) -> str:
        """The transaction's hash; a node has it, or may have it. Errors: NotSentError."""
        with self._sending:
            nonce = self._nonce()
            fields = {
                "chainId": self._chain_id,
                "nonce": nonce,
                "to": transfer.token,
                "data": transfer.data,
                "value": 0,
                "gas": MOST_GAS,
            }
            raw = self._signer.sign_transaction(fields | price.as_fields())
            tx_hash = hex_of(keccak(raw))
            try:
                self._chain.rpc.call("eth_sendRawTransaction", [hex_of(raw)])
            except RpcRefusedError as error:
                if not self._is_known(tx_hash):
                    raise NotSentError(str(error)) from error
            except RpcError:
                return tx_hash
            self._next_nonce = nonce + 1
            return tx_hash

    def _nonce(self) -> int:
        """The count of nodes lags behind what they took.

        Where it does not rise, the transaction of that nonce was lost, and all that was sent after
        it waits for it, however much is sent meanwhile: it is sent again. Errors: NotSentError.
        """
        try:
            count = self._chain.transaction_count(self._signer.address, "pending")
        except RpcError as error:
            raise NotSentError(str(error)) from error
        now = time.monotonic()
        is_lost = (
            count < self._next_nonce and count <= self._top_nonce and now >= self._believed_until
        )
        if is_lost:
            self._next_nonce = count
        if count >= self._next_nonce or count > self._top_nonce:
            self._top_nonce, self._believed_until = count, now + BELIEVED_S
        return max(count, self._next_nonce)

    def _is_known(self, tx_hash: str) -> bool:
        """What a node refuses, another may have, or it itself: "already known"."""
        try:
            return self._chain.transaction(tx_hash) is not None
        except RpcError:
            return True

    def _awaited(self, transfer: _Transfer, tx_hash: str) -> SettleResponse:
        until = time.monotonic() + CONFIRM_WITHIN_S
        while time.monotonic() < until:
            status = self._status(tx_hash)
            if status == 1:
                return SettleResponse(
                    success=True, transaction=tx_hash, network=self._network, payer=transfer.payer
                )
            if status == 0:
                return self._failed(transfer, ERR_TRANSACTION_FAILED, tx_hash)
            time.sleep(LOOK_EVERY_S)
        return self._failed(transfer, ERR_SETTLEMENT_PENDING, tx_hash)

    def _status(self, tx_hash: str) -> int | None:
        try:
            receipt = self._chain.receipt(tx_hash)
        except RpcError:
            return None
        return None if receipt is None else receipt.status

    def _failed(self, transfer: _Transfer, why: str, tx_hash: str = "") -> SettleResponse:
        return SettleResponse(
            success=False,
            error_reason=why,
            transaction=tx_hash,
            network=self._network,
            payer=transfer.payer,
        )


def _transfer_of(payload: PaymentPayload, requirements: PaymentRequirements) -> _Transfer:
    """Errors: ValueError for a signature that is no bytes, or more than MOST_GAS buys; KeyError for
    what was not read strictly before.
    """
    sent: dict[str, Any] = payload.payload["authorization"]
    amount, ends_at = int(sent["value"]), int(sent["validBefore"])
    message = (sent["from"], sent["to"], amount, int(sent["validAfter"]), ends_at, sent["nonce"])
    signature = _signature(payload.payload["signature"])
    try:
        data = calldata.transfer_with_authorization(*message, signature)
    except AbiEncodeError as error:
        raise ValueError(str(error)) from error
    if _floor_gas(bytes_of(data)) > MOST_GAS:
        raise ValueError("its data alone costs more gas than a payment has")
    return _Transfer(requirements.asset, data, sent["from"], amount, ends_at)


def _floor_gas(data: bytes) -> int:
    """What a transaction with that data costs at least (EIP-7623): a node runs it with no less."""
    return TRANSACTION_GAS + FLOOR_GAS * (len(data) + 3 * (len(data) - data.count(0)))


def _signature(sent: str) -> str:
    """Without the wrap of EIP-6492, with which a wallet can be deployed. Errors: ValueError."""
    return hex_of(parse_erc6492_signature(bytes_of(sent)).inner_signature)


def _reason_of(revert_data: bytes) -> str:
    """In x402's words.

    Of an error that neither the token's ABI nor x402 knows: that the simulation failed.
    """
    decoded = decode_revert(revert_data)
    words = "" if decoded is None else f"{decoded.name} {' '.join(map(str, decoded.args.values()))}"
    known = parse_eip3009_transfer_error(ValueError(words))
    return ERR_TRANSACTION_SIMULATION_FAILED if known == ERR_TRANSACTION_FAILED else known
