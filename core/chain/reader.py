"""Typed reads of the chain, each at a named block.

`at` is a block hash (66 characters: that very block or an error, never a neighbour), a height, or a
tag (`latest`, `safe`, `finalized`). Read several things of one moment at one hash. Amounts are USDC
base units, times unix seconds, addresses checksum strings.
Errors of all reads: RpcUnreachableError, RpcRefusedError (RpcRevertedError when the contract
reverted), AbiDecodeError.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eth_utils.address import to_checksum_address

from core.chain import results
from core.chain.abi import (
    WORD_BYTES,
    AbiDecodeError,
    FunctionAbi,
    call_by_signature,
    decode_revert,
    function,
)
from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.errors import (
    AnswerTooLargeError,
    RpcCodeFailedError,
    RpcRefusedError,
    RpcRevertedError,
)
from core.chain.nodes import Nodes, Request
from core.chain.refusals import INVALID_PARAMS_CODE
from core.chain.results import Parse
from core.errors import OutsideError
from core.hexes import hex_of

At = str | int
LATEST = "latest"
HASH_CHARACTERS = 66
VIEW_GAS = (
    # of a view of code that is not ours: many times what an honest one needs, and a fraction of a
    # second of a node's time
    10_000_000
)
ERC1271_MAGIC = "0x1626ba7e"
GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of the OP stack
ANVIL = "anvil/"  # how web3_clientVersion of a chain for development begins


def is_anvil(client_version: str) -> bool:
    """Whether this is a chain on this machine for development."""
    return client_version.lower().startswith(ANVIL)


def block_argument(at: At) -> Any:
    """The JSON-RPC form of `at`; a hash becomes EIP-1898's object."""
    if isinstance(at, int):
        return hex(at)
    return {"blockHash": at} if len(at) == HASH_CHARACTERS else at


def header_request(at: At) -> Request:
    """By hash, height or tag."""
    if isinstance(at, str) and len(at) == HASH_CHARACTERS:
        return "eth_getBlockByHash", [at, False]
    return "eth_getBlockByNumber", [block_argument(at), False]


def _header_at(at: At) -> Parse[BlockHeader | None]:
    """The block that was asked for; of a tag any."""
    if isinstance(at, int):
        return results.only(results.header, lambda found: found.number == at)
    if len(at) != HASH_CHARACTERS:
        return results.header
    return results.only(results.header, lambda found: found.hash == at.lower())


def receipt_of(tx_hash: str) -> Parse[TransactionReceipt | None]:
    return results.only(results.receipt, lambda found: found.tx_hash == tx_hash.lower())


def transaction_of(tx_hash: str) -> Parse[dict[str, Any] | None]:
    return results.only(results.transaction, lambda found: found["hash"].lower() == tx_hash.lower())


def _logs_requests(
    first: int, last: int, filters: Sequence[Mapping[str, Any]]
) -> tuple[list[Request], list[Parse[Any]]]:
    """The requests of `range_logs`, and how their answers are read."""
    heights = {"fromBlock": hex(first), "toBlock": hex(last)}
    requests: list[Request] = [("eth_getLogs", [{**heights, **wanted}]) for wanted in filters]
    logs = results.only(
        results.logs, lambda found: all(first <= log.block_number <= last for log in found)
    )
    parsers: list[Parse[Any]] = [logs] * len(requests)
    last_block: Request = ("eth_getBlockByNumber", [hex(last), False])
    return [*requests, last_block], [*parsers, _header_at(last)]


def output_of(view: FunctionAbi) -> Parse[Any]:
    """What a view of our own contracts returns, several values as a tuple: a node that answers
    anything else garbles it.
    """

    def parse(content: bytes) -> Any:
        try:
            values = view.decode_output(results.code(content))
        except AbiDecodeError as error:
            raise ValueError(str(error)) from error
        return values if len(view.outputs) > 1 else values[0]

    return parse


class ChainReader:
    """Reads of one chain.

    `contracts` maps the names of stack.json (factory, usdc, ...) to addresses.
    """

    def __init__(self, rpc: Nodes, contracts: Mapping[str, str]) -> None:
        self.rpc = rpc
        self.contracts = {name: to_checksum_address(address) for name, address in contracts.items()}

    # Blocks and transactions

    def chain_id(self) -> int:
        return int(self.rpc.call("eth_chainId", parse=results.number))

    def client_version(self) -> str:
        """What its software calls itself; empty where no node says, as many providers do not."""
        try:
            return str(self.rpc.call("web3_clientVersion"))
        except RpcRefusedError:
            return ""

    def block_number(self) -> int:
        """The newest height."""
        return int(self.rpc.call("eth_blockNumber", parse=results.number))

    def header(self, at: At = LATEST) -> BlockHeader | None:
        """None: the node does not have that block (yet), or no block has that tag."""
        method, params = header_request(at)
        found: BlockHeader | None = self.rpc.call(method, params, _header_at(at))
        return found

    def newest(self) -> BlockHeader:
        """Errors: OutsideError when the node names none."""
        found = self.header()
        if found is None:
            raise OutsideError("the node names no newest block")
        return found

    def headers(self, wanted: Sequence[At]) -> list[BlockHeader | None]:
        """As `header`, several in one request, in the order asked; one that is refused where others
        are answered is None, too.
        """
        found = self.rpc.batch_settled([*map(header_request, wanted)], [*map(_header_at, wanted)])
        return [None if isinstance(one, RpcRefusedError) else one for one in found]

    def receipts(self, block_hash: str) -> tuple[TransactionReceipt, ...] | None:
        """Every receipt of that very block, in order; None: the node does not have it."""
        found: tuple[TransactionReceipt, ...] | None = self.rpc.call(
            "eth_getBlockReceipts", [block_hash], results.receipts
        )
        return found

    def range_logs(
        self, first: int, last: int, filters: Sequence[Mapping[str, Any]]
    ) -> tuple[list[RawLog], BlockHeader | None]:
        """The logs of these heights that pass any of the filters ({address, topics}), and the
        header of the last height, from one node in one answer: a node without that block has not
        all of the logs either.
        """
        *answers, newest = self.rpc.batch(*_logs_requests(first, last, filters))
        return [log for answer in answers for log in answer], newest

    def logs_of_each(
        self,
        first: int,
        last: int,
        filters: Sequence[Mapping[str, Any]],
        within_s: float,
        among: Collection[str],
    ) -> dict[str, tuple[list[RawLog], BlockHeader]]:
        """As `range_logs`, of each of these nodes by its name. One that refuses, fails, or does not
        have the last height is left out.
        """
        requests, parse = _logs_requests(first, last, filters)
        by_node = self.rpc.batch_of_each(requests, within_s, among, parse)
        found = dict[str, tuple[list[RawLog], BlockHeader]]()
        for node, (*answers, newest) in by_node.items():
            if isinstance(newest, BlockHeader) and all(isinstance(one, list) for one in answers):
                logs = [log for answer in answers if isinstance(answer, list) for log in answer]
                found[node] = logs, newest
        return found

    def receipt(self, tx_hash: str) -> TransactionReceipt | None:
        """None: not mined, as far as this node knows."""
        return self.receipts_of([tx_hash])[0]

    def receipts_of(self, tx_hashes: Sequence[str]) -> list[TransactionReceipt | None]:
        """As `receipt`, for several transactions in one request, in the order asked."""
        requests = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in tx_hashes]
        return self.rpc.batch(requests, [receipt_of(tx_hash) for tx_hash in tx_hashes])

    def receipts_settled(
        self, tx_hashes: Sequence[str]
    ) -> list[TransactionReceipt | RpcRefusedError | None]:
        """As `receipts_of`, but one that is refused or garbled yields its error in place.

        Errors: RpcUnreachableError.
        """
        requests = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in tx_hashes]
        return self.rpc.batch_settled(requests, [receipt_of(tx_hash) for tx_hash in tx_hashes])

    def transaction(self, tx_hash: str) -> dict[str, Any] | None:
        """The transaction as the node gives it: hash, from, to, input and gas are there.

        None when it does not know it.
        """
        raw: dict[str, Any] | None = self.rpc.call(
            "eth_getTransactionByHash", [tx_hash], transaction_of(tx_hash)
        )
        return raw

    def transaction_count(self, address: str, at: At = LATEST) -> int:
        return int(
            self.rpc.call("eth_getTransactionCount", [address, block_argument(at)], results.number)
        )

    def balance_wei(self, address: str, at: At = LATEST) -> int:
        return int(self.rpc.call("eth_getBalance", [address, block_argument(at)], results.wei))

    def code_at(self, address: str, at: At = LATEST) -> bytes:
        """Empty for an account without code; 0xef0100 and an address for an EIP-7702 delegation."""
        return bytes(self.rpc.call("eth_getCode", [address, block_argument(at)], results.code))

    def layer_1_fee_wei(self, unsigned_bytes: int) -> int | None:
        """Upper bound of the layer-1 fee of a transaction of that size; 0 on a chain without that fee,
        None when the oracle refuses.
        """
        if not self.code_at(GAS_PRICE_ORACLE):
            return 0
        data = call_by_signature("getL1FeeUpperBound(uint256)", [unsigned_bytes])
        try:
            answer = self.call(GAS_PRICE_ORACLE, data)
        except RpcRefusedError:
            return None
        return int.from_bytes(answer, "big") if len(answer) == WORD_BYTES else None

    def estimate_gas(self, sender: str, to: str, data: str) -> int:
        """Gas units. Errors: RpcRevertedError with the revert data when it would revert."""
        return int(
            self.rpc.call(
                "eth_estimateGas", [{"from": sender, "to": to, "data": data}], results.number
            )
        )

    def priority_fee_wei(self) -> int:
        """What the node suggests as maxPriorityFeePerGas."""
        return int(self.rpc.call("eth_maxPriorityFeePerGas", parse=results.fee))

    # Calls

    def call(
        self, to: str, data: str, at: At = LATEST, sender: str | None = None, gas: int | None = None
    ) -> bytes:
        """eth_call, of at most `gas` units when they are named.

        Errors: RpcRevertedError with the revert data.
        """
        transaction = {"to": to, "data": data} | ({} if sender is None else {"from": sender})
        transaction |= {} if gas is None else {"gas": hex(gas)}
        return bytes(self.rpc.call("eth_call", [transaction, block_argument(at)], results.code))

    def replay(
        self, transaction: Mapping[str, Any], parent_hash: str, number: int, timestamp: int
    ) -> bytes | None:
        """Run a mined transaction on the state before its block, under its block's height and time.

        Answers the revert data, or None when it does not revert there (an earlier transaction of
        its block made it fail). A node without block overrides replays under the parent's time.
        Errors: RpcRefusedError when the node lacks that state, or the call ran out of gas.
        """
        call = {
            "from": transaction["from"],
            "to": transaction["to"],
            "data": transaction["input"],
            "gas": transaction["gas"],
        }
        overrides = {"number": hex(number), "time": hex(timestamp)}
        try:
            return self._revert_of(call, block_argument(parent_hash), {}, overrides)
        except RpcRefusedError as error:
            if error.code != INVALID_PARAMS_CODE:
                raise
            return self._revert_of(call, block_argument(parent_hash))

    def _revert_of(self, *params: Any) -> bytes | None:
        try:
            self.rpc.call("eth_call", params, results.code)
        except RpcRevertedError as error:
            return error.revert_data
        return None

    def view(self, contract: str, name: str, to: str, at: At, *arguments: Any) -> Any:
        """What a view of one of our contracts returns, several values as a tuple."""
        abi = function(contract, name)
        values = abi.decode_output(self.call(to, abi.encode(*arguments), at))
        return values[0] if len(values) == 1 else values

    def usdc_balance(self, account: str, at: At = LATEST) -> int:
        return int(self.view("MockUSDC", "balanceOf", self.contracts["usdc"], at, account))

    def used_authorizations(
        self, account: str, nonces: Sequence[str], at: At = LATEST
    ) -> frozenset[str]:
        """Which of these EIP-3009 nonces of the account were used or cancelled."""
        state, usdc = function("MockUSDC", "authorizationState"), self.contracts["usdc"]
        calls = [
            ("eth_call", [{"to": usdc, "data": state.encode(account, one)}, block_argument(at)])
            for one in nonces
        ]
        answers = self.rpc.batch(calls, [results.code] * len(calls))
        return frozenset(
            one
            for one, answer in zip(nonces, answers, strict=True)
            if state.decode_output(answer)[0]
        )

    def usdc_held(self, account: str, nonces: Sequence[str], at: At) -> tuple[int, frozenset[str]]:
        """What the account holds, and which of these nonces were used: never a use whose amount is still
        in the balance. One node answers, of the uses first, so that this holds too where it ignores a
        block's hash.
        """
        with self.rpc.pinned():
            used = self.used_authorizations(account, nonces, at)
            return self.usdc_balance(account, at), used

    def is_authorization_used(
        self, token: str, authorizer: str, nonce: str, at: At = LATEST
    ) -> bool:
        """Whether an EIP-3009 nonce is used or cancelled.

        Errors: RpcRevertedError when the token knows no EIP-3009.
        """
        return bool(self.view("MockUSDC", "authorizationState", token, at, authorizer, nonce))

    def is_erc1271_signature(
        self, wallet: str, digest: str, signature: str, at: At = LATEST
    ) -> bool:
        """The contract wallet's word on a signature; a wallet that fails, or answers anything else,
        says no.
        """
        data = call_by_signature("isValidSignature(bytes32,bytes)", [digest, signature])
        return hex_of(self._said_by(wallet, data, at)) == ERC1271_MAGIC.ljust(HASH_CHARACTERS, "0")

    def _said_by(self, contract: str, data: str, at: At) -> bytes:
        """What code that strangers chose answers within VIEW_GAS; empty when it reverts, uses that
        up or answers without end.
        """
        try:
            return self.call(contract, data, at, gas=VIEW_GAS)
        except (RpcRevertedError, RpcCodeFailedError, AnswerTooLargeError):
            return b""


def refusal_name(revert_data: bytes) -> str | None:
    """The Solidity error's name, or None when it is not known."""
    decoded = decode_revert(revert_data)
    return None if decoded is None else decoded.name


def reason_of_run(error: RpcRevertedError | RpcCodeFailedError) -> str | None:
    """As `refusal_name`, of a run that failed; code that used up its gas or is invalid names no
    reason.
    """
    return refusal_name(error.revert_data) if isinstance(error, RpcRevertedError) else None
