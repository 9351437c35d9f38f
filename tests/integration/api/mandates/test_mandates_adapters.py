"""Several adapters in one mandate: each is read by IAdapter, and one that fails spoils no step of
the others.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import core.mandate.venues
from api.kernel.operation import Deps
from core.chain.abi import AbiDecodeError, call_by_signature
from core.chain.errors import (
    RpcCodeFailedError,
    RpcRefusedError,
    RpcRevertedError,
    RpcUnreachableError,
    refused,
)
from core.mandate.chain import calldata
from core.mandate.chain.reader import UNREAD_ADAPTER, AdapterReading
from core.mandate.rules.terms import Rule, RuleKind
from core.mandate.venues import test_venue
from core.mandate.venues.registry import venues
from core.selectors import selector_of as selector_of_signature
from tests.integration.api.conftest import Clock
from tests.integration.api.mandates.stage import (
    ADAPTER,
    BUY,
    CONTRACTS,
    DRAFT,
    SELL,
    USDC,
    Stage,
    StageChain,
    address,
    reason,
)
from tests.integration.chain_fixtures import DeployedChain, deployed, ground  # noqa: F401 (fixtures)

OTHER, CLOSED, SILENT = address(0x1007), address(0x1008), address(0x1009)
HELD = AdapterReading(
    units=40 * USDC, worth_usdc_e6=44 * USDC, unit_price_e6=1_100_000, is_linear=True
)
NOTHING = AdapterReading(units=0, worth_usdc_e6=0, unit_price_e6=USDC, is_linear=True)
LOCK = selector_of_signature("leave(uint256,bool)")  # an exit whose arguments no venue declares
MADE_UP = """
from core.mandate.venues.registry import Exit, Venue

VENUE = Venue(name="closed", contract="ClosedAdapter", exit=Exit("leave(uint256,bool)", lambda units: (units, True)), spread_bps=50)
"""


@dataclass
class ManyAdapters(StageChain):
    """The stage's chain with three adapters more; `says` is what each of the mandate's adapters
    answers, `silence` why one has no rules, `trial` what an exit's data brings.
    """

    says: Mapping[str, AdapterReading] = field(default_factory=dict)
    silence: Exception = field(
        default_factory=lambda: RpcRevertedError("eth_call", 3, "execution reverted", b"")
    )
    trial: Callable[[str], int | RpcRefusedError] = lambda data: 44 * USDC

    def is_adapter(self, adapter: str, at: Any = "latest") -> bool:
        return super().is_adapter(adapter, at) or adapter in (OTHER, CLOSED, SILENT)

    def adapter_rules(self, adapter: str, at: Any = "latest") -> tuple[Rule, ...]:
        if adapter == SILENT:
            raise self.silence
        if adapter in (OTHER, CLOSED):
            leave = SELL if adapter == OTHER else LOCK
            return tuple(
                sorted(
                    (
                        Rule(adapter, BUY, 255, RuleKind.VALUED),
                        Rule(adapter, leave, 255, RuleKind.EXIT),
                    ),
                    key=selector_of,
                )
            )
        return super().adapter_rules(adapter, at)

    def adapter_readings(
        self, adapters: Sequence[str], vault: str, at: Any = "latest"
    ) -> dict[str, AdapterReading]:
        self._require_up()
        return {adapter: self.says.get(adapter, NOTHING) for adapter in adapters}

    def exit_trials(
        self, vault: str, adapter: str, exits: Sequence[str], at: Any = "latest"
    ) -> list[int | RpcRefusedError]:
        return [self.trial(data) for data in exits]

    def estimate_gas(self, sender: str, to: str, data: str, at: Any = "latest") -> int:
        return 200_000


def selector_of(rule: Rule) -> int:
    return int(rule.selector, 16)


@pytest.fixture
def chain(clock: Clock) -> ManyAdapters:
    return ManyAdapters(mined_at=int(clock.now.timestamp()))


@pytest.fixture
def deps(deps: Deps) -> Deps:
    return replace(
        deps,
        contracts={
            **CONTRACTS,
            "other_adapter": OTHER,
            "closed_adapter": CLOSED,
            "silent_adapter": SILENT,
        },
    )


Plan = Callable[[Mapping[str, AdapterReading]], dict[str, Any]]


@pytest.fixture
def plan(stage: Stage, chain: ManyAdapters) -> Plan:
    mandate_id = stage.working()

    def read(says: Mapping[str, AdapterReading]) -> dict[str, Any]:
        chain.says = says
        return stage.get(f"/mandates/{mandate_id}/close-all-plan", stage.owner)

    return read


def unwinds(plan: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (step["adapter"], step["venue"], step["action"], step["data"])
        for step in plan["steps"]
        if step["type"] == "unwind"
    ]


def sold(adapter: str) -> str:
    return calldata.unwind([calldata.VaultCall(adapter, 0, test_venue.sell(40 * USDC))])


@pytest.mark.parametrize(
    "failure",
    [
        RpcRevertedError("eth_call", 3, "execution reverted", b""),
        refused("eth_call", {"code": -32000, "message": "invalid opcode: INVALID"}),
        refused("eth_call", {"code": -32000, "message": "out of gas"}),
        refused("eth_call", {"code": -32603, "message": "EVM error InvalidFEOpcode"}),
        AbiDecodeError("0 bytes are no rules"),
    ],
    ids=str,
)
def test_draft__an_adapter_that_publishes_no_rules__adds_none(
    stage: Stage, chain: ManyAdapters, failure: Exception
) -> None:
    """The draft was refused as a whole before, when the chain was asked instead of the indexer's
    facts.
    """
    chain.silence = failure
    targets = {
        rule["target"]
        for rule in stage.get(f"/mandates/{stage.draft()}/terms", stage.owner)["rules"]
    }
    assert {ADAPTER, OTHER} <= targets
    assert SILENT not in targets


@pytest.mark.parametrize(
    "trouble",
    [
        refused("eth_call", {"code": -32005, "message": "rate limit exceeded"}),
        refused("eth_call", {"code": -32000, "message": "header not found"}),
        RpcUnreachableError("eth_call", ["timeout"]),
    ],
    ids=str,
)
def test_draft__while_the_node_refuses_to_answer_for_an_adapter__says_try_later(
    stage: Stage, chain: ManyAdapters, trouble: Exception
) -> None:
    """A moment's rate limit froze terms without that adapter before, and nobody was told."""
    chain.silence = trouble
    assert reason(stage.call("POST", "/mandates", stage.owner, DRAFT)) == (
        503,
        "temporarily_unavailable",
    )


def test_plan__positions_at_two_adapters__are_both_unwound(plan: Plan) -> None:
    found = plan({ADAPTER: HELD, OTHER: HELD})
    assert unwinds(found) == [
        ("test_venue", "test_venue", "unwind", sold(ADAPTER)),
        ("listed", "other", "unwind", sold(OTHER)),
    ]
    assert (found["closes"], found["relay_positions_read"]) == (2, True)


def test_plan__an_adapter_that_fails__is_said_and_the_others_stay(plan: Plan) -> None:
    found = plan({ADAPTER: HELD, OTHER: UNREAD_ADAPTER})
    assert unwinds(found) == [("test_venue", "test_venue", "unwind", sold(ADAPTER))]
    assert (found["relay_positions_read"], found["exit_cost_reason"]) == (
        False,
        "relay_positions_not_read",
    )
    assert found["gets_back_est"] is None


def test_plan__a_venue_that_pays_a_part_now__sells_it_and_says_what_waits(
    stage: Stage, chain: ManyAdapters, plan: Plan
) -> None:
    def pays_half(data: str) -> int | RpcRefusedError:
        units = int(data[10:74], 16)
        if units > 20 * USDC:
            return RpcRevertedError("eth_call", 3, "execution reverted", b"")
        return units * 11 // 10

    chain.trial = pays_half
    found = plan({OTHER: HELD})
    paid, waits = found["steps"][1:3]
    assert (paid["action"], paid["est_proceeds_usdc"], paid["withdrawable_now_usdc"]) == (
        "unwind",
        None,
        "22.000000",
    )
    assert (waits["action"], waits["reason"], waits["release_call"]) == (
        "keep",
        "waits_at_venue",
        None,
    )
    assert waits["note"] == (
        "About 22.000000 USDC cannot be withdrawn from the venue now. Read the plan again later."
    )
    assert (found["closes"], found["kept_at_venue"]) == (1, 1)


def test_plan__a_trial_that_no_node_answers__sells_all_and_leaves_it_unknown(
    chain: ManyAdapters, plan: Plan
) -> None:
    chain.trial = lambda data: refused("eth_call", {"code": -32005, "message": "rate limit"})
    (step,) = [one for one in plan({ADAPTER: HELD})["steps"] if one["type"] == "unwind"]
    assert (step["action"], step["withdrawable_now_usdc"]) == ("unwind", None)
    assert step["data"] == sold(ADAPTER)


# A venue that somebody adds


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One file more in the venues' folder; the call data that closes 40 units there."""
    (tmp_path / "closed.py").write_text(MADE_UP)
    monkeypatch.setattr(
        core.mandate.venues, "__path__", [*core.mandate.venues.__path__, str(tmp_path)]
    )
    venues.cache_clear()
    leave = call_by_signature("leave(uint256,bool)", [40 * USDC, True])
    yield calldata.unwind([calldata.VaultCall(CLOSED, 0, leave)])
    venues.cache_clear()
    sys.modules.pop("core.mandate.venues.closed")


def test_plan__a_position_at_a_venue_whose_file_was_added__is_unwound_by_its_exit(
    plan: Plan, made_up: str
) -> None:
    assert unwinds(plan({CLOSED: HELD})) == [("closed", "closed", "unwind", made_up)]


def test_unwind_call__at_a_venue_whose_file_was_added__is_its_exit_with_all_units(
    stage: Stage, chain: ManyAdapters, made_up: str
) -> None:
    mandate_id, chain.says = stage.working(), {CLOSED: HELD}
    answer = stage.post(f"/mandates/{mandate_id}/unwind-call", stage.owner, {"adapter": "closed"})
    assert (answer["adapter"], answer["units"], answer["data"]) == (CLOSED, str(40 * USDC), made_up)


def test_unwind_call__of_several_adapters__wants_one_named(
    stage: Stage, chain: ManyAdapters
) -> None:
    answer = stage.call("POST", f"/mandates/{stage.working()}/unwind-call", stage.owner)
    assert answer.status_code == 400, answer.text
    assert "several exit adapters" in answer.text


def test_unwind_call__of_several_adapters__is_of_the_only_one_with_a_position(
    stage: Stage, chain: ManyAdapters
) -> None:
    mandate_id, chain.says = stage.working(), {OTHER: HELD}
    answer = stage.post(f"/mandates/{mandate_id}/unwind-call", stage.owner, {})
    assert (answer["adapter"], answer["units"]) == (OTHER, str(40 * USDC))
    chain.says = {OTHER: HELD, ADAPTER: UNREAD_ADAPTER}
    unsure = stage.call("POST", f"/mandates/{mandate_id}/unwind-call", stage.owner)
    assert reason(unsure) == (400, "invalid_parameter")


def test_unwind_call__an_adapter_that_fails__is_named_as_the_reason(
    stage: Stage, chain: ManyAdapters
) -> None:
    mandate_id, chain.says = stage.working(), {OTHER: UNREAD_ADAPTER}
    answer = stage.post(f"/mandates/{mandate_id}/unwind-call", stage.owner, {"adapter": OTHER})
    assert (answer["reason"], answer["data"], answer["adapter"]) == (
        "adapter_not_read",
        None,
        OTHER,
    )


# On a real node


def code_that_returns(deployed: DeployedChain, code: str) -> str:
    """Deploy runtime code, given as hex, and answer its address."""
    prelude = f"61{len(code) // 2:04x}80600a3d393df3"
    receipt = deployed.rpc.call(
        "eth_sendTransaction",
        [{"from": deployed.rpc.call("eth_accounts")[0], "data": f"0x{prelude}{code}"}],
    )
    return str(deployed._mined(receipt)["contractAddress"])


HOSTILE = {
    "reverts": "60006000fd",
    "is invalid": "fe",
    "burns all gas": "5b600056",
    "answers nothing": "00",
    "answers three bytes": "60036000f3",
    "answers without end": "6000196000f3",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
def test_rules__of_a_hostile_adapter__are_its_own_failure_and_not_the_nodes(
    deployed: DeployedChain, code: str
) -> None:
    with pytest.raises((RpcRevertedError, RpcCodeFailedError, AbiDecodeError)):
        deployed.reader.adapter_rules(code_that_returns(deployed, code))


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
def test_readings__beside_a_hostile_adapter__are_whole(deployed: DeployedChain, code: str) -> None:
    adapter, vault = (
        deployed.contracts["test_venue_adapter"],
        deployed.create_vault(deployed.terms("m_4k2v7c3xqa")),
    )
    deployed.buy(vault, 40 * USDC)
    hostile = code_that_returns(deployed, code)
    assert deployed.reader.adapter_readings([hostile, adapter], vault) == {
        hostile: UNREAD_ADAPTER,
        adapter: AdapterReading(
            units=40 * USDC, worth_usdc_e6=40 * USDC, unit_price_e6=USDC, is_linear=True
        ),
    }
