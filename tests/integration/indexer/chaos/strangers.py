"""What people do who mean harm, and what an administrator lists by mistake: hostile text and
numbers, with the contracts' leave.

A stranger may make vaults by the factory, of its own terms and for gas alone; call them so that
they fail; and send anybody a transfer of nothing. A listed adapter is the admin's word, and may be
anything.
"""

import random
from dataclasses import dataclass, field, replace
from enum import StrEnum

from eth_utils.address import to_checksum_address

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata, typed_data
from core.mandate.chain.calldata import VaultCall
from core.mandate.rules.terms import Rule, RuleKind
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.indexer.chaos.people import Deed
from tests.personas import AGENT, DEPLOYER, STRANGER

MOST_RULES = 32
MOST_UINT = 2**256 - 1
MOST_BUDGET = 2**53 - 1  # SpendWindowLib.MAX_CAP
NUL = b"m_\0harmless"
NOT_UTF8 = b"m_\xff\xfe\xc3\x28\xed\xa0\x80"
LONG = b"m_" + b"\xe2\x98\xa0" * 2_000
TRANSFERS, CALLS = 20, 8
WALLET = to_checksum_address("0x" + "77" * 20)  # linked to an agent's account; nobody holds its key


def _creation(runtime: str) -> str:
    """Code that returns `runtime`: codecopy(0, 11, size); return(0, size)."""
    return f"0x60{len(runtime) // 2:02x}80600b6000396000f3{runtime}"


# Contracts that answer whatever they are asked as their name says.
BAD_ADAPTERS = {
    "reverts": _creation("60006000fd"),
    "burns its gas": _creation("5b600056"),
    "is out of bounds": _creation("fe"),
    "answers 2^255": _creation("600160ff1b60005260206000f3"),
    "answers a megabyte": _creation("621000006000f3"),
}


class Harm(StrEnum):
    NUL_ID = "a public id with NUL"
    BROKEN_ID = "a public id that is no UTF-8"
    LONG_ID = "a public id of 6,000 bytes"
    LARGE_TERMS = "terms as large as they go, with 32 rules"
    EMPTY_TRANSFERS = "transfers of nothing to a linked wallet"
    FAILING_CALLS = "calls to a vault of its own that fail"
    BAD_ADAPTER = "an adapter that is none"
    # honest, so that there is a ledger which the harm may reach
    PAYMENT = "a payment to a linked wallet"


@dataclass(slots=True)
class Strangers:
    """`adapters`: the addresses of the bad ones; `wallets`: linked ones, with their accounts'
    ids.
    """

    chain: DeployedChain
    adapters: tuple[str, ...]
    wallets: dict[str, int]
    vaults: list[str] = field(default_factory=list)

    @property
    def endless(self) -> str:
        """The adapter that burns its gas: a node needs longer for that than anybody waits."""
        return self.adapters[list(BAD_ADAPTERS).index("burns its gas")]

    def harm(self, luck: random.Random, kind: Harm | None = None) -> list[Deed]:
        """One of them, which cannot but be mined."""
        kind = kind or luck.choice(list(Harm))
        usdc = self.chain.contracts["usdc"]
        match kind:
            case Harm.NUL_ID:
                return [self._create(luck, NUL)]
            case Harm.BROKEN_ID:
                return [self._create(luck, NOT_UTF8)]
            case Harm.LONG_ID:
                return [self._create(luck, LONG)]
            case Harm.LARGE_TERMS:
                return [self._create(luck, b"m_large", is_large=True)]
            case Harm.EMPTY_TRANSFERS:
                return [
                    Deed(STRANGER, usdc, calldata.transfer(WALLET, 0)) for _ in range(TRANSFERS)
                ]
            case Harm.FAILING_CALLS:
                return [*self._own_vault(luck), *self._failing()]
            case Harm.BAD_ADAPTER:
                factory, changes = (
                    self.chain.contracts["factory"],
                    (calldata.delist_adapter, calldata.list_adapter),
                )
                return [
                    Deed(DEPLOYER, factory, change(adapter))
                    for adapter in self.adapters
                    for change in changes
                ]
            case Harm.PAYMENT:
                return [
                    Deed(
                        DEPLOYER,
                        usdc,
                        call_by_signature(
                            "mint(address,uint256)", [WALLET, luck.randint(1, 9) * USDC]
                        ),
                    )
                ]

    def _own_vault(self, luck: random.Random) -> list[Deed]:
        return [] if self.vaults else [self._create(luck, b"m_stranger")]

    def _failing(self) -> list[Deed]:
        call = VaultCall(self.chain.contracts["usdc"], 0, calldata.transfer(STRANGER.address, 1))
        return [Deed(STRANGER, self.vaults[-1], calldata.execute(call)) for _ in range(CALLS)]

    def _create(self, luck: random.Random, public_id: bytes, *, is_large: bool = False) -> Deed:
        """A vault of the stranger's own, empty.

        The id stands in the call data as these very bytes, text or not.
        """
        stand_in = "x" * len(public_id)
        terms = self.chain.terms(
            stand_in, owner=STRANGER.address, agent=STRANGER.address, nonce=luck.getrandbits(60)
        )
        rules = self.chain.rules()
        if is_large:
            rules = self._most_rules()
            terms = replace(
                terms,
                budget_usdc=MOST_BUDGET,
                per_tx_cap=MOST_BUDGET,
                daily_cap=MOST_BUDGET,
                stop_floor=MOST_BUDGET - MOST_BUDGET * terms.stop_floor_bps // 10_000,
                horizon_days=2**32 - 1,
                ends_at=2**32 - 1,
                agent_fee_bps=10_000,
                approval_above=MOST_UINT,
                allowed_targets_hash=typed_data.rules_hash(rules),
                guard_targets_hash="0x" + "ff" * 32,
                issued_at=2**64 - 1,
                nonce=MOST_UINT - luck.getrandbits(60),
            )
        elif public_id == b"m_stranger":
            self.vaults.append(
                self.chain.reader.predict_vault(
                    self.chain.digest(replace(terms, public_id=public_id.decode()))
                )
            )
        data = calldata.create_vault(terms, rules)
        return Deed(
            STRANGER,
            self.chain.contracts["factory"],
            data.replace(stand_in.encode().hex(), public_id.hex()),
        )

    def _most_rules(self) -> tuple[Rule, ...]:
        venue = self.chain.contracts["test_venue"]
        return tuple(
            Rule(venue, f"0x{number:08x}", 255, RuleKind.SPEND)
            for number in range(1, MOST_RULES + 1)
        )


def deploy_bad_adapters(chain: DeployedChain) -> tuple[str, ...]:
    """Errors: AssertionError when one could not be deployed."""
    made = []
    for code in BAD_ADAPTERS.values():
        receipt = chain.succeed(AGENT, None, code)
        made.append(
            to_checksum_address(
                chain.rpc.call("eth_getTransactionReceipt", [receipt.tx_hash])["contractAddress"]
            )
        )
    return tuple(made)
