"""The record's own label chooses no check: what a contract is follows from its name, and offices
are compared whole.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from scripts._deployments import BASE_SEPOLIA_USDC, Deployed, Record, load
from scripts._offices import BASE_SEPOLIA_CHAIN_ID
from scripts._recorded import (
    CONTRACT_OF,
    differing_offices,
    record_faults,
    recorded_offices,
    to_record,
)
from tests.each import each


def account(n: int) -> str:
    return str(to_checksum_address(f"0x{n:040x}"))


ADMIN, PAUSER, KEEPER_ADMIN, KEEPER, GUARD, TREASURY, STRANGER = (
    account(n) for n in range(0xA1, 0xA8)
)
DELAY_S = 259_200
ARGS = {
    "factory": [BASE_SEPOLIA_USDC, DELAY_S, [ADMIN, PAUSER, KEEPER_ADMIN, KEEPER, GUARD]],
    "reserve_token": [BASE_SEPOLIA_USDC, DELAY_S, ADMIN, PAUSER, TREASURY],
}


def whole() -> Record:
    contracts = [
        Deployed(name, contract, account(n), 7, None, ARGS.get(name, []), "0x")
        for n, (name, contract) in enumerate(CONTRACT_OF.items(), 1)
    ]
    record = Record(BASE_SEPOLIA_CHAIN_ID, "commit", contracts)
    change(record, "usdc", address=BASE_SEPOLIA_USDC)
    return record


def change(record: Record, name: str, **fields: Any) -> None:
    at = next(at for at, one in enumerate(record.contracts) if one.name == name)
    kept = {field: getattr(record.contracts[at], field) for field in Deployed.__dataclass_fields__}
    record.contracts[at] = Deployed(**kept | fields)


def faults(record: Record, *, on_devnet: bool = False) -> list[str]:
    return record_faults(record, on_devnet=on_devnet)


# The record


def test_record__of_a_whole_deployment__has_no_fault() -> None:
    assert faults(whole()) == []


@each("name", [name for name in CONTRACT_OF if name != "usdc"])
def test_record__any_contract_called_a_fiat_token__is_a_fault(name: str) -> None:
    """Such an entry passed with any code whatever."""
    record = whole()
    change(record, name, contract="FiatToken")
    assert faults(record) == [f"{name} is a {CONTRACT_OF[name]}, the record calls it a FiatToken"]


def test_record__an_adapter_rewritten_to_be_another__is_a_fault() -> None:
    record = whole()
    relay = record.by_name()["relay_adapter"]
    change(record, "x402_adapter", contract=relay.contract, address=relay.address)
    assert faults(record) == [
        "x402_adapter is a X402Adapter, the record calls it a RelayAdapter",
        "relay_adapter and x402_adapter have the same address",
    ]


def test_record__usdc_elsewhere__is_a_fault() -> None:
    record = whole()
    change(record, "usdc", address=STRANGER)
    assert faults(record) == [
        (
            f"usdc is at {STRANGER}, and USDC of chain {BASE_SEPOLIA_CHAIN_ID} is at "
            f"{BASE_SEPOLIA_USDC}"
        )
    ]


def test_record__of_a_chain_whose_usdc_is_not_known__is_a_fault() -> None:
    record = whole()
    record.chain_id = 1
    assert f"usdc is at {BASE_SEPOLIA_USDC}, and USDC of chain 1 is not known" in faults(record)


def test_record__the_mock__is_usdc_on_the_devnet_alone() -> None:
    record = whole()
    change(record, "usdc", contract="MockUSDC")
    assert faults(record, on_devnet=True) == []
    assert faults(record) == ["usdc is a FiatToken, the record calls it a MockUSDC"]


def test_record__circles_token__is_not_on_the_devnet() -> None:
    """There the mock's code is known, and is compared."""
    assert faults(whole(), on_devnet=True) == [
        "usdc is a MockUSDC, the record calls it a FiatToken"
    ]


@each("name", CONTRACT_OF)
def test_record__without_a_contract__is_a_fault(name: str) -> None:
    record = whole()
    record.contracts = [one for one in record.contracts if one.name != name]
    assert faults(record) == [f"{name} is missing"]


def test_record__a_name_of_no_deployment__is_a_fault() -> None:
    record = whole()
    record.contracts.append(Deployed("spare", "RelayAdapter", STRANGER, 7, None, [], "0x"))
    assert faults(record) == ["spare is not the name of a contract of a deployment"]


def test_record__a_name_twice__is_a_fault() -> None:
    record = whole()
    record.contracts.append(copy.copy(record.by_name()["relay_adapter"]))
    assert faults(record) == ["relay_adapter is recorded 2 times"]


def test_record__test_contracts_elsewhere__are_a_fault() -> None:
    record = whole()
    record.chain_id = 8453
    names = (
        *("test_venue", "test_pool", "test_weth", "uniswap_v3_factory", "test_market"),
        *("erc4626_adapter", "test_venue_adapter", "uniswap_v3_adapter"),
    )
    assert faults(record)[: len(names)] == [
        f"{name} is a test contract, on chain 8453" for name in names
    ]


# Offices


def found(**differing: Any) -> dict[str, Any]:
    return recorded_offices(whole()) | {
        name.replace("__", "."): office for name, office in differing.items()
    }


def test_offices__as_created__do_not_differ() -> None:
    assert differing_offices(recorded_offices(whole()), found()) == {}


@each(
    ("name", "office"),
    [
        ("factory.pausers", [PAUSER, STRANGER]),
        ("factory.pausers", []),
        ("factory.keeper_admins", [KEEPER_ADMIN, STRANGER]),
        ("factory.keeper", STRANGER),
        ("factory.guard", STRANGER),
        ("factory.admin", STRANGER),
        ("factory.admin_delay_s", 0),
        ("reserve_token.admin", STRANGER),
        ("reserve_token.admin_delay_s", 0),
        ("reserve_token.pausers", [STRANGER]),
        ("reserve_token.treasury", STRANGER),
    ],
)
def test_offices__somebody_elses__differ_until_they_are_recorded(name: str, office: Any) -> None:
    """A second pauser passed, since the first one still was one."""
    record, chain = whole(), found(**{name: office})
    assert differing_offices(recorded_offices(record), chain) == {name: office}
    record.offices = {name: office}
    assert (faults(record), differing_offices(recorded_offices(record), chain)) == ([], {})


def test_offices__several_holders_in_another_order__do_not_differ() -> None:
    record = whole()
    record.offices = {"factory.pausers": [STRANGER, PAUSER]}
    assert (
        differing_offices(recorded_offices(record), found(factory__pausers=[PAUSER, STRANGER]))
        == {}
    )


@each(
    ("name", "value"),
    [
        ("factory.keepr", KEEPER),
        ("factory.keeper", [KEEPER]),
        ("factory.keeper", "0x12"),
        ("factory.keeper", BASE_SEPOLIA_USDC.lower()),
        ("factory.pausers", PAUSER),
        ("factory.admin_delay_s", True),
    ],
)
def test_offices__that_are_recorded_in_another_form__are_a_fault(name: str, value: Any) -> None:
    record = whole()
    record.offices = {name: value}
    (fault,) = faults(record)
    assert fault.startswith(f"offices: {name} is ")


def test_offices__that_changed__are_told_as_what_to_write_into_the_record(tmp_path: Path) -> None:
    """What is told is what makes the record right, with what it said before."""
    record, path = whole(), tmp_path / "sepolia.json"
    record.offices = {"factory.guard": STRANGER}
    told = to_record("sepolia.json", record, {"factory.keeper": STRANGER})
    record.save(path)
    start, end = told.index('  "offices"'), told.rindex("}") + 1
    path.write_text(
        json.dumps(json.loads(path.read_text()) | json.loads("{" + told[start:end] + "}"))
    )
    assert load(path, BASE_SEPOLIA_CHAIN_ID).offices == {
        "factory.guard": STRANGER,
        "factory.keeper": STRANGER,
    }


def test_offices__of_a_contract_that_was_replaced__are_forgotten() -> None:
    record = whole()
    record.offices = {"factory.keeper": STRANGER, "reserve_token.treasury": STRANGER}
    record.put(
        Deployed("factory", "MandateVaultFactory", STRANGER, 9, None, ARGS["factory"], "0x1")
    )
    assert record.offices == {"reserve_token.treasury": STRANGER}


@each("args", [[], [BASE_SEPOLIA_USDC, DELAY_S, []], [1, 2, 3], [1, 2, "x"]])
def test_arguments_of_no_constructor__are_a_fault(args: list[Any]) -> None:
    record = whole()
    change(record, "factory", args=args)
    assert any("args do not match their constructors" in one for one in faults(record))


def test_a_record_whose_writing_breaks_off__stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "network.json"
    Record(84532, "first").save(path)
    before = path.read_text()

    def half(self: Path, text: str) -> int:
        with self.open("w") as file:
            file.write(text[:20])
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Path, "write_text", half)
        with pytest.raises(KeyboardInterrupt):
            Record(84532, "second").save(path)
    assert path.read_text() == before
    Record(84532, "second", sending={"name": "factory", "nonce": 3}).save(path)
    assert load(path, 84532).sending == {"name": "factory", "nonce": 3}
    assert [one.name for one in tmp_path.iterdir()] == ["network.json"]


CELLAR = {"pool": account(9), "exitFeeBps": 0, "maxGrowthBps": 2_000, "maxLossBps": 50}


@each(
    ("name", "chosen", "fault"),
    [
        ("cellar_erc4626_adapter", CELLAR, None),
        ("cellar_erc4626_adapter", CELLAR | {"codeHash": "0x00"}, None),
        ("erc4626_adapter", CELLAR, "ends with none of"),
        ("cellar_relay_adapter", CELLAR, "ends with none of"),
        ("cellar_erc4626_adapter", {}, "names nothing; it takes pool, exitFeeBps"),
        ("cellar_erc4626_adapter", CELLAR | {"pool": "0xab"}, "write an address with its checksum"),
        (
            "cellar_erc4626_adapter",
            CELLAR | {"exitFeeBps": -1},
            "cellar_erc4626_adapter.exitFeeBps",
        ),
    ],
)
def test_venues_of_ones_own__name_the_arguments_of_their_adapters(
    name: str, chosen: dict[str, Any], fault: str | None
) -> None:
    record = whole()
    record.venues = {name: chosen}
    faults = record_faults(record, on_devnet=False)
    assert [fault in one for one in faults if fault] == ([] if fault is None else [True])
    assert (fault is None) == (faults == [])
