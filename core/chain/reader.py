"""Typed reads of the chain, each at a named block.

`at` is a block hash (66 characters: that very block or an error, never a neighbour), a height, or a tag (`latest`,
`safe`, `finalized`). Read several things of one moment at one hash. Amounts are USDC base units, times unix seconds,
addresses checksum strings.
Errors of all reads: RpcUnreachableError, RpcRefusedError (RpcRevertedError when the contract reverted), AbiDecodeError.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from eth_utils.address import to_checksum_address

from core.chain import calldata, results
from core.chain.abi import (
    WORD_BYTES,
    AbiDecodeError,
    FunctionAbi,
    Parameter,
    answer_words,
    creation_code,
    decode_values,
    encode_values,
    function,
    hex_bytes,
    hex_text,
)
from core.chain.calldata import Call
from core.chain.refusals import INVALID_PARAMS_CODE, failure_of
from core.chain.results import Parse
from core.chain.revert import decode_revert
from core.chain.rpc import AnswerTooLargeError, Rpc, RpcCodeFailedError, RpcRefusedError, RpcRevertedError
from core.chain.vault_sight import STATUSES, VIEWS, NotSeenError, seen_of
from core.domain.blocks import BlockHeader, RawLog, Receipt
from core.domain.mandate.seen import VaultSeen
from core.domain.mandate.terms import MAX_RULES, MandateTerms, Rule, RuleKind

At = str | int
LATEST = "latest"
HASH_CHARACTERS = 66
VIEW_GAS = (
    10_000_000  # of a view of code that is not ours: many times what an honest one needs, and a fraction of a second of a node's time
)
MOST_RULES_BYTES = WORD_BYTES * (2 + 4 * MAX_RULES)  # offset and length, then four words a rule
ERC1271_MAGIC = "0x1626ba7e"
VAULT_STATUSES = ("funding", "working", "stopped", "settled")


@dataclass(frozen=True, slots=True)
class Remaining:
    """MandateVault.remaining(). `window_frees_at` 0: nothing is counted in the window."""

    per_action: int
    today: int
    total: int
    window_frees_at: int


@dataclass(frozen=True, slots=True)
class Lock:
    """MandateVault.lock(). `reason` is the ASCII word, empty when withdrawable; `until` 0: no lock by time."""

    withdrawable: bool
    reason: str
    until: int


@dataclass(frozen=True, slots=True)
class VaultTotals:
    """MandateVault.totals()."""

    deposited: int
    spent: int
    received: int
    withdrawn: int
    fee_paid: int
    unvalued_out: int
    nonce: int
    last_mark_block: int


@dataclass(frozen=True, slots=True)
class VaultPosition:
    """What the chain says of a vault at one block. `balance`: USDC, with what anybody sent to it; `agent` zero: none."""

    totals: VaultTotals
    agent: str
    balance: int


NO_VAULT = VaultPosition(VaultTotals(0, 0, 0, 0, 0, 0, 0, 0), "", 0)  # where no vault stands at the address yet; known by `is`


@dataclass(frozen=True, slots=True)
class AdapterReading:
    """What one adapter says of one vault at one block. Each None: that answer failed or was no such value, so it is unknown.

    `units`: IAdapter.positionOf, in the adapter's own units. `worth_usdc_e6`: valueOf, which is what counts.
    `unit_price_e6`: unitPrice, USDC base units for 1e6 units; multiply it only when `is_linear` is True.
    """

    units: int | None
    worth_usdc_e6: int | None
    unit_price_e6: int | None
    is_linear: bool | None


UNREAD_ADAPTER = AdapterReading(None, None, None, None)


def block_argument(at: At) -> Any:
    """The JSON-RPC form of `at`; a hash becomes EIP-1898's object."""
    if isinstance(at, int):
        return hex(at)
    return {"blockHash": at} if len(at) == HASH_CHARACTERS else at


def _header_at(at: At) -> Parse[BlockHeader | None]:
    """The block that was asked for; of a tag any."""
    if isinstance(at, int):
        return results.only(results.header, lambda found: found.number == at)
    if len(at) != HASH_CHARACTERS:
        return results.header
    return results.only(results.header, lambda found: found.hash == at.lower())


def receipt_of(tx_hash: str) -> Parse[Receipt | None]:
    return results.only(results.receipt, lambda found: found.tx_hash == tx_hash.lower())


def transaction_of(tx_hash: str) -> Parse[dict[str, Any] | None]:
    return results.only(results.transaction, lambda found: found["hash"].lower() == tx_hash.lower())


def _logs_between(first: int, last: int) -> Parse[list[RawLog] | None]:
    return results.only(results.logs, lambda found: all(first <= log.block_number <= last for log in found))


def _output_of(view: FunctionAbi) -> Parse[Any]:
    """What a view of our own contracts returns: a node that answers anything else garbles it."""

    def parse(content: bytes) -> Any:
        try:
            return view.decode_output(results.code(content))[0]
        except AbiDecodeError as error:
            raise ValueError(str(error)) from error

    return parse


def _seen_output(view: FunctionAbi) -> Parse[Any]:
    """As `_output_of`, within what a vault can say: a status that there is, and a time that a calendar has."""
    parse, most = _output_of(view), {"status": len(STATUSES), "stoppedAt": results.MOST_TIME}.get(view.name)

    def parse_seen(content: bytes) -> Any:
        found = parse(content)
        if most is not None and found >= most:
            raise ValueError(f"{view.name} is {found}")
        return found

    return parse_seen


_POSITIONS_ASKED = [Parameter.of_type(kind) for kind in ("address[]", "address")]
_POSITION_TOLD = [Parameter.of_type(kind) for kind in ("bool", *("uint256",) * len(fields(VaultTotals)), "address", "uint256")]


def _positions_of(count: int) -> Parse[list[VaultPosition]]:
    """What contracts/lenses/VaultPositions.sol answers of so many vaults."""
    size = len(_POSITION_TOLD) * WORD_BYTES

    def parse(content: bytes) -> list[VaultPosition]:
        try:
            answer = answer_words(results.code(content), count * len(_POSITION_TOLD))
            return [_position(*decode_values(_POSITION_TOLD, answer[start : start + size])) for start in range(0, len(answer), size)]
        except AbiDecodeError as error:
            raise ValueError(str(error)) from error

    return parse


def _position(is_there: bool, *values: Any) -> VaultPosition:
    *totals, agent, balance = values
    return VaultPosition(VaultTotals(*totals), agent, balance) if is_there else NO_VAULT


def _own_position(totals: Any, agent: Any, balance: Any) -> VaultPosition | None:
    is_refused = any(isinstance(answer, RpcRefusedError) for answer in (totals, agent, balance))
    return None if is_refused else VaultPosition(VaultTotals(*totals), agent, balance)


def rule_of(value: tuple[Any, ...]) -> Rule:
    """A decoded struct `Rule`. Errors: AbiDecodeError on an unknown kind."""
    target, selector, recipient_word, kind = value
    try:
        return Rule(target, selector, recipient_word, RuleKind(kind))
    except ValueError as error:
        raise AbiDecodeError(f"rule kind {kind} is none of 0 to 3") from error


class ChainReader:
    """Reads of one chain. `contracts` maps the names of stack.json (factory, usdc, ...) to addresses."""

    def __init__(self, rpc: Rpc, contracts: Mapping[str, str]) -> None:
        self.rpc = rpc
        self.contracts = {name: to_checksum_address(address) for name, address in contracts.items()}

    # Blocks and transactions

    def chain_id(self) -> int:
        return int(self.rpc.call("eth_chainId", parse=results.number))

    def block_number(self) -> int:
        """The newest height."""
        return int(self.rpc.call("eth_blockNumber", parse=results.number))

    def header(self, at: At = LATEST) -> BlockHeader | None:
        """None: the node does not have that block (yet), or no block has that tag."""
        by_hash = isinstance(at, str) and len(at) == HASH_CHARACTERS
        method = "eth_getBlockByHash" if by_hash else "eth_getBlockByNumber"
        found: BlockHeader | None = self.rpc.call(method, [hex(at) if isinstance(at, int) else at, False], _header_at(at))
        return found

    def headers(self, numbers: Sequence[int]) -> list[BlockHeader | None]:
        """Several headers in one request, in the order asked."""
        requests = [("eth_getBlockByNumber", [hex(number), False]) for number in numbers]
        return self.rpc.batch(requests, [_header_at(number) for number in numbers])

    def headers_by_hash(self, block_hashes: Sequence[str]) -> list[BlockHeader | RpcRefusedError | None]:
        """As `headers`, of these very blocks, but one that is refused or garbled yields its error in place."""
        requests = [("eth_getBlockByHash", [block_hash, False]) for block_hash in block_hashes]
        return self.rpc.batch_settled(requests, [_header_at(block_hash) for block_hash in block_hashes])

    def receipts(self, block_hash: str) -> tuple[Receipt, ...] | None:
        """Every receipt of that very block, in order; None: the node does not have it."""
        found: tuple[Receipt, ...] | None = self.rpc.call("eth_getBlockReceipts", [block_hash], results.receipts)
        return found

    def receipts_of_blocks(self, block_hashes: Sequence[str]) -> list[tuple[Receipt, ...] | None]:
        """As `receipts`, of several blocks in one request."""
        requests = [("eth_getBlockReceipts", [block_hash]) for block_hash in block_hashes]
        return self.rpc.batch(requests, [results.receipts] * len(requests))

    def range_logs(self, first: int, last: int, filters: Sequence[Mapping[str, Any]]) -> tuple[list[RawLog], BlockHeader | None]:
        """The logs of these heights that pass any of the filters ({address, topics}), and the header of the last height,
        from one node in one answer: a node without that block has not all of the logs either."""
        heights = {"fromBlock": hex(first), "toBlock": hex(last)}
        requests = [("eth_getLogs", [{**heights, **wanted}]) for wanted in filters]
        parsers: list[Parse[Any]] = [_logs_between(first, last)] * len(requests)
        *answers, newest = self.rpc.batch([*requests, ("eth_getBlockByNumber", [hex(last), False])], [*parsers, _header_at(last)])
        return [log for answer in answers for log in answer], newest

    def receipt(self, tx_hash: str) -> Receipt | None:
        """None: not mined, as far as this node knows."""
        return self.receipts_of([tx_hash])[0]

    def receipts_of(self, tx_hashes: Sequence[str]) -> list[Receipt | None]:
        """As `receipt`, for several transactions in one request, in the order asked."""
        requests = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in tx_hashes]
        return self.rpc.batch(requests, [receipt_of(tx_hash) for tx_hash in tx_hashes])

    def receipts_settled(self, tx_hashes: Sequence[str]) -> list[Receipt | RpcRefusedError | None]:
        """As `receipts_of`, but one that is refused or garbled yields its error in place. Errors: RpcUnreachableError."""
        requests = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in tx_hashes]
        return self.rpc.batch_settled(requests, [receipt_of(tx_hash) for tx_hash in tx_hashes])

    def transaction(self, tx_hash: str) -> dict[str, Any] | None:
        """The transaction as the node gives it: hash, from, to, input and gas are there. None when it does not know it."""
        raw: dict[str, Any] | None = self.rpc.call("eth_getTransactionByHash", [tx_hash], transaction_of(tx_hash))
        return raw

    def transaction_count(self, address: str, at: At = LATEST) -> int:
        return int(self.rpc.call("eth_getTransactionCount", [address, block_argument(at)], results.number))

    def balance_wei(self, address: str, at: At = LATEST) -> int:
        return int(self.rpc.call("eth_getBalance", [address, block_argument(at)], results.wei))

    def code_at(self, address: str, at: At = LATEST) -> bytes:
        """Empty for an account without code; 0xef0100 and an address for an EIP-7702 delegation."""
        return bytes(self.rpc.call("eth_getCode", [address, block_argument(at)], results.code))

    def estimate_gas(self, sender: str, to: str, data: str) -> int:
        """Gas units. Errors: RpcRevertedError with the revert data when it would revert."""
        return int(self.rpc.call("eth_estimateGas", [{"from": sender, "to": to, "data": data}], results.number))

    def priority_fee_wei(self) -> int:
        """What the node suggests as maxPriorityFeePerGas."""
        return int(self.rpc.call("eth_maxPriorityFeePerGas", parse=results.fee))

    # Calls

    def call(self, to: str, data: str, at: At = LATEST, sender: str | None = None, gas: int | None = None) -> bytes:
        """eth_call, of at most `gas` units when they are named. Errors: RpcRevertedError with the revert data."""
        transaction = {"to": to, "data": data} | ({} if sender is None else {"from": sender})
        transaction |= {} if gas is None else {"gas": hex(gas)}
        return bytes(self.rpc.call("eth_call", [transaction, block_argument(at)], results.code))

    def replay(self, transaction: Mapping[str, Any], parent_hash: str, number: int, timestamp: int) -> bytes | None:
        """Run a mined transaction on the state before its block, under its block's height and time.

        Answers the revert data, or None when it does not revert there (an earlier transaction of its block made it
        fail). A node without block overrides replays under the parent's time. Errors: RpcRefusedError when the node
        lacks that state, or the call ran out of gas.
        """
        call = {"from": transaction["from"], "to": transaction["to"], "data": transaction["input"], "gas": transaction["gas"]}
        overrides = {"number": hex(number), "time": hex(timestamp)}
        try:
            return self._revert_of(call, block_argument(parent_hash), {}, overrides)
        except RpcRefusedError as error:
            if error.code != INVALID_PARAMS_CODE:
                raise
            return self._revert_of(call, block_argument(parent_hash))

    def _revert_of(self, *params: Any) -> bytes | None:
        try:
            self.rpc.call("eth_call", params)
        except RpcRevertedError as error:
            return error.revert_data
        return None

    def _read(self, contract: str, name: str, to: str, at: At, *arguments: Any) -> Any:
        abi = function(contract, name)
        values = abi.decode_output(self.call(to, abi.encode(*arguments), at))
        return values[0] if len(values) == 1 else values

    def _vault(self, vault: str, name: str, at: At, *arguments: Any) -> Any:
        return self._read("MandateVault", name, vault, at, *arguments)

    def _factory(self, name: str, at: At, *arguments: Any) -> Any:
        return self._read("MandateVaultFactory", name, self.contracts["factory"], at, *arguments)

    # Factory

    def predict_vault(self, terms_digest: str, at: At = LATEST) -> str:
        """Where the vault of these terms is or will be."""
        return str(self._factory("predictVault", at, terms_digest))

    def terms_digest(self, terms: MandateTerms, at: At = LATEST) -> str:
        return str(self._factory("termsDigest", at, calldata.terms_tuple(terms)))

    def is_vault(self, address: str, at: At = LATEST) -> bool:
        return bool(self._factory("isVault", at, address))

    def is_adapter(self, address: str, at: At = LATEST) -> bool:
        return bool(self._factory("isAdapter", at, address))

    def is_pauser(self, account: str, at: At = LATEST) -> bool:
        return bool(self._factory("isPauser", at, account))

    def keeper(self, at: At = LATEST) -> str:
        return str(self._factory("keeper", at))

    def usdc_of_factory(self, at: At = LATEST) -> str:
        """The token of the factory's vaults, as the factory says."""
        return str(self._factory("usdc", at))

    def guard(self, at: At = LATEST) -> str:
        return str(self._factory("guard", at))

    # Vaults

    def status(self, vault: str, at: At = LATEST) -> str:
        """One of VAULT_STATUSES."""
        index = self._vault(vault, "status", at)
        if index >= len(VAULT_STATUSES):
            raise AbiDecodeError(f"{index} is no status of a vault")
        return VAULT_STATUSES[index]

    def agent(self, vault: str, at: At = LATEST) -> str:
        """Zero address when removed, stopped or not yet set."""
        return str(self._vault(vault, "agent", at))

    def owner(self, vault: str, at: At = LATEST) -> str:
        return str(self._vault(vault, "owner", at))

    def worth(self, vault: str, at: At = LATEST) -> int | None:
        """None: the vault answers WorthUnknown, or a venue it asks reverts."""
        try:
            return int(self._vault(vault, "worth", at))
        except RpcRevertedError:
            return None

    def stop_floor(self, vault: str, at: At = LATEST) -> int:
        return int(self._vault(vault, "stopFloor", at))

    def fee_owed(self, vault: str, at: At = LATEST) -> int:
        return int(self._vault(vault, "feeOwed", at))

    def remaining(self, vault: str, at: At = LATEST) -> Remaining:
        return Remaining(*self._vault(vault, "remaining", at))

    def lock(self, vault: str, at: At = LATEST) -> Lock:
        withdrawable, reason, until = self._vault(vault, "lock", at)
        try:
            return Lock(withdrawable, hex_bytes(reason).rstrip(b"\0").decode("ascii"), until)
        except UnicodeDecodeError as error:
            raise AbiDecodeError(f"{reason} is no reason in ASCII") from error

    def totals(self, vault: str, at: At = LATEST) -> VaultTotals:
        return VaultTotals(*self._vault(vault, "totals", at))

    def vault_positions(self, vaults: Sequence[str], at: str) -> list[VaultPosition | None]:
        """Of each vault of the factory, at one block's hash, by one call; NO_VAULT where the node says that none stands yet, and None where
        it refuses: it has that state no more. Errors: RpcUnreachableError.

        At most 69 `vaults`: the answer counts as code, of which a call may leave 24,576 bytes (EIP-170), 352 for each. Where that call
        itself fails, because of one of them or of a node that runs no such call, each vault is asked for its own views.
        """
        call = {"data": creation_code("VaultPositions") + encode_values(_POSITIONS_ASKED, [vaults, self.contracts["usdc"]]).hex()}
        try:
            return list(self.rpc.call("eth_call", [call, block_argument(at)], _positions_of(len(vaults))))
        except RpcRefusedError as error:
            is_of_the_call = failure_of("eth_call", (), {"code": error.code, "message": error.node_message}) is None
            return self._own_words(vaults, at) if is_of_the_call else [None] * len(vaults)

    def _own_words(self, vaults: Sequence[str], at: str) -> list[VaultPosition | None]:
        """As `vault_positions`, three calls a vault; None also of one whose own call fails."""
        usdc, balance = self.contracts["usdc"], function("MockUSDC", "balanceOf")
        views = [function("MandateVault", "totals"), function("MandateVault", "agent"), balance]
        own = [[(vault, views[0].encode()), (vault, views[1].encode()), (usdc, balance.encode(vault))] for vault in vaults]
        asked = [call for calls in own for call in calls]
        requests = [("eth_call", [{"to": to, "data": data}, block_argument(at)]) for to, data in asked]
        try:
            answers = self.rpc.batch_settled(requests, [_output_of(view) for view in views] * len(vaults))
        except RpcRefusedError:
            return [None] * len(vaults)
        return [_own_position(*answers[start : start + len(views)]) for start in range(0, len(answers), len(views))]

    def vault_seen(self, vault: str, at: At = LATEST) -> VaultSeen:
        """All of a vault in one request at one block: a tag is fixed to its block's hash first. Errors: also NotSeenError."""
        header = self.header(at)
        if header is None:
            raise NotSeenError(f"the node has no block {at}")
        views, balance = [function("MandateVault", name) for name in VIEWS], function("MockUSDC", "balanceOf")
        asked = [*((vault, view.encode()) for view in views), (self.contracts["usdc"], balance.encode(vault))]
        requests = [("eth_call", [{"to": to, "data": data}, block_argument(header.hash)]) for to, data in asked]
        answers = self.rpc.batch_settled(requests, [_seen_output(view) for view in (*views, balance)])
        return seen_of(vault, header.timestamp, answers)

    def check(self, vault: str, calls: Sequence[Call], at: At = LATEST) -> bytes:
        """The error data that the agent's execute or executeBatch would revert with; empty: the vault would let it pass."""
        return hex_bytes(str(self._read("MandateVault", "check", vault, at, [(c.target, c.max_spend, c.data) for c in calls])))

    # Adapters and USDC

    def adapter_rules(self, adapter: str, at: At = LATEST) -> tuple[Rule, ...]:
        """What a listed adapter publishes. Errors: RpcRevertedError, AbiDecodeError when it is no adapter at all.

        An answer too long for MAX_RULES is not decoded: its size is the adapter's choice.
        """
        abi = function("IAdapter", "rules")
        answer = self.call(adapter, abi.encode(), at, gas=VIEW_GAS)
        if len(answer) > MOST_RULES_BYTES:
            raise AbiDecodeError(f"{len(answer)} bytes are more than {MAX_RULES} rules")
        return tuple(rule_of(rule) for rule in abi.decode_output(answer)[0])

    def adapter_readings(self, adapters: Sequence[str], vault: str, at: At = LATEST) -> dict[str, AdapterReading]:
        """What each adapter says of the vault, all at one block: a tag is fixed to its block's hash first.

        An adapter that reverts, or answers anything but such a value, is unknown where it did, and hides no other; so is
        all of it when the node does not have that block. Errors: RpcUnreachableError.
        """
        if not adapters:
            return {}
        header = self.header(at)
        here = at if header is None else header.hash
        try:
            return self._readings(adapters, vault, here)
        except RpcRefusedError:
            # Some nodes word the failure of one contract's code as their own, and refuse the whole batch with it.
            return {adapter: self._reading_alone(adapter, vault, here) for adapter in adapters}

    def _readings(self, adapters: Sequence[str], vault: str, at: At) -> dict[str, AdapterReading]:
        calls = [
            ("eth_call", [{"to": adapter, "data": data, "gas": hex(VIEW_GAS)}, block_argument(at)])
            for adapter in adapters
            for data in _adapter_questions(vault)
        ]
        answers = iter(self.rpc.batch_settled(calls, [results.code] * len(calls)))
        return {adapter: AdapterReading(*(_answer_or_none(name, next(answers)) for name in ADAPTER_VIEWS)) for adapter in adapters}

    def _reading_alone(self, adapter: str, vault: str, at: At) -> AdapterReading:
        try:
            return self._readings([adapter], vault, at)[adapter]
        except RpcRefusedError:
            return UNREAD_ADAPTER

    def usdc_balance(self, account: str, at: At = LATEST) -> int:
        return int(self._read("MockUSDC", "balanceOf", self.contracts["usdc"], at, account))

    def used_authorizations(self, account: str, nonces: Sequence[str], at: At = LATEST) -> frozenset[str]:
        """Which of these EIP-3009 nonces of the account were used or cancelled."""
        state, usdc = function("MockUSDC", "authorizationState"), self.contracts["usdc"]
        calls = [("eth_call", [{"to": usdc, "data": state.encode(account, one)}, block_argument(at)]) for one in nonces]
        answers = self.rpc.batch(calls, [results.code] * len(calls))
        return frozenset(one for one, answer in zip(nonces, answers, strict=True) if state.decode_output(answer)[0])

    def is_authorization_used(self, token: str, authorizer: str, nonce: str, at: At = LATEST) -> bool:
        """Whether an EIP-3009 nonce is used or cancelled. Errors: RpcRevertedError when the token knows no EIP-3009."""
        return bool(self._read("MockUSDC", "authorizationState", token, at, authorizer, nonce))

    def is_erc6492_signature(self, wallet: str, digest: str, signature: str, at: At = LATEST) -> bool:
        """The factory's validator's word on the signature of a wallet that may not exist yet; nothing is created by asking."""
        data = calldata.call_by_signature("isValidSignature(address,bytes32,bytes)", [wallet, digest, signature])
        return int.from_bytes(self._said_by(str(self._factory("validator", at)), data, at), "big") == 1

    def is_erc1271_signature(self, wallet: str, digest: str, signature: str, at: At = LATEST) -> bool:
        """The contract wallet's word on a signature; a wallet that fails, or answers anything else, says no."""
        data = calldata.call_by_signature("isValidSignature(bytes32,bytes)", [digest, signature])
        return hex_text(self._said_by(wallet, data, at)) == ERC1271_MAGIC.ljust(HASH_CHARACTERS, "0")

    def _said_by(self, contract: str, data: str, at: At) -> bytes:
        """What code that strangers chose answers within VIEW_GAS; empty when it reverts, uses that up or answers without end."""
        try:
            return self.call(contract, data, at, gas=VIEW_GAS)
        except (RpcRevertedError, RpcCodeFailedError, AnswerTooLargeError):
            return b""


# The views of IAdapter about one vault, in the order of AdapterReading's fields.
ADAPTER_VIEWS = ("positionOf", "valueOf", "unitPrice", "isLinear")


def _adapter_questions(vault: str) -> Iterator[str]:
    for name in ADAPTER_VIEWS:
        view = function("IAdapter", name)
        yield view.encode(*[vault] * len(view.inputs))


def _answer_or_none(view: str, answer: Any | RpcRefusedError) -> Any:
    if isinstance(answer, RpcRefusedError):
        return None
    try:
        return function("IAdapter", view).decode_output(answer_words(answer, 1))[0]
    except AbiDecodeError:
        return None


def refusal_name(revert_data: bytes) -> str | None:
    """The Solidity error's name, or None when it is not known."""
    decoded = decode_revert(revert_data)
    return None if decoded is None else decoded.name


def reason_of_run(error: RpcRevertedError | RpcCodeFailedError) -> str | None:
    """As `refusal_name`, of a run that failed; code that used up its gas or is invalid names no reason."""
    return refusal_name(error.revert_data) if isinstance(error, RpcRevertedError) else None
