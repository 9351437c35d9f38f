"""What a stranger can burn of the settler's gas: wallets that pay when asked, not in the block."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from httpx import Response
from sqlalchemy import func, select, update

from api.areas.payments.jobs import Settlements
from api.kernel.operation import Deps
from api.payments.own_settler import MOST_GAS, OwnSettler
from api.payments.payment_config import GasBudget, PaymentConfig
from core.chain.reader import GAS_PRICE_ORACLE
from core.mandate.chain import calldata
from core.payments import settlements
from core.payments.tables import X402Settlement
from core.times import DAY_S
from tests.integration.api.payments.shop import GAS, NETWORK, PRICE, Shop, reason, said, shop_on
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.personas import DEPLOYER, STRANGER

DELEGATION = "0xef0100"  # EIP-7702
MOST_WEI = MOST_GAS * 4 * 10**9  # the tests' chain asks for 1 to 2 gwei
WORTH = MOST_WEI * USDC // PRICE
TIGHT = GasBudget(wei_per_usdc=WORTH, wei_per_day=8 * MOST_WEI, contract_wei_per_day=4 * MOST_WEI)
CHAIN_S = 30


class Tell(IntEnum):
    """By what tests/contracts/attacks/BurningPayer.sol tells a block from a question."""

    GAS, FEE, NUMBER, ORIGIN = range(4)


@pytest.fixture
def tight(market: DeployedChain, deps: Deps) -> Iterator[Shop]:
    """A shop whose gas is worth its price: eight settlements a day, four of them for contracts."""
    market.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(10**9)])
    opened = shop_on(market, replace(deps, clock=lambda: datetime.now(UTC)), TIGHT)
    yield opened
    opened.client.close()


def burner(shop: Shop, tell: Tell, at: int) -> str:
    """A contract wallet with 1 USDC."""
    wallet = shop.chain.deploy("BurningPayer", int(tell), at)
    shop.chain.mint(wallet, USDC)
    return wallet


def turncoat(shop: Shop) -> str:
    """A contract wallet that is good in every block up to the one that stands when it pays."""
    return burner(shop, Tell.NUMBER, shop.chain.reader.block_number() + 2)


def pay(shop: Shop, wallet: str) -> Response:
    return shop.get(shop.payment(signed=False, **{"from": wallet}))


def ether(shop: Shop) -> int:
    return shop.chain.reader.balance_wei(STRANGER.address)


def used_today(shop: Shop) -> int:
    with shop.database.read() as session:
        return settlements.used_on(session, datetime.now(UTC).date()).all_wei


def settlement_rows(shop: Shop) -> list[X402Settlement]:
    with shop.database.read() as session:
        return list(session.scalars(select(X402Settlement).order_by(X402Settlement.id)))


def later(shop: Shop, **delta: int) -> None:
    shop.deps = replace(shop.deps, clock=lambda: datetime.now(UTC) + timedelta(**delta))
    shop.open()


@pytest.mark.parametrize(
    ("tell", "at"), [(Tell.GAS, 1_000_000), (Tell.FEE, 0), (Tell.ORIGIN, int(STRANGER.address, 16))]
)
def test_a_wallet_that_burns_what_it_is_sent_with__is_seen_before_it_is_sent(
    shop: Shop, tell: Tell, at: int
) -> None:
    """It is asked with the gas, at the price and by the sender of the transaction that would
    follow.
    """
    wallet, before = burner(shop, tell, at), ether(shop)
    assert [reason(pay(shop, wallet)) for _ in range(2)] == [(402, "payment_invalid")] * 2
    assert (before - ether(shop), shop.settler.settled, shop.states()) == (0, 0, [])


def test_a_wallet_that_reverts_in_the_block__does_so_once(shop: Shop) -> None:
    wallet, before = turncoat(shop), ether(shop)
    assert reason(pay(shop, wallet)) == (402, "payment_invalid")
    burned = before - ether(shop)
    assert 0 < burned == used_today(shop)
    assert [row.bars_payer for row in settlement_rows(shop)] == [True]
    again = pay(shop, wallet)
    assert reason(again) == (402, "payment_invalid")
    assert (
        "is a contract that accepted a payment when it was checked and then reverted it on chain"
        in again.json()["detail"]
    )
    assert datetime.fromisoformat(again.json()["service"]["retry_at"]) > datetime.now(
        UTC
    ) + timedelta(days=29)
    later(shop, days=29)
    assert reason(shop.get(in_time(shop, wallet, 31))) == (402, "payment_invalid")
    assert before - ether(shop) == burned


def in_time(shop: Shop, wallet: str, days: int) -> dict[str, Any]:
    ends = int((datetime.now(UTC) + timedelta(days=days)).timestamp())
    return shop.payment(signed=False, **{"from": wallet, "validBefore": str(ends)})


def test_a_key_that_delegates_to_such_a_wallet__does_so_once(shop: Shop) -> None:
    """EIP-7702: the account has a key, and code."""
    code = turncoat(shop)
    shop.chain.rpc.call("anvil_setCode", [shop.payer.address, DELEGATION + code[2:]])
    try:
        answers = [shop.get(shop.payment()) for _ in range(3)]
    finally:
        shop.chain.rpc.call("anvil_setCode", [shop.payer.address, "0x"])
    assert [reason(one) for one in answers] == [(402, "payment_invalid")] * 3
    assert [row.bars_payer for row in settlement_rows(shop)] == [True]


def test_a_contract__has_one_payment_under_way(shop: Shop) -> None:
    wallet = burner(shop, Tell.NUMBER, 2**255)
    shop.settler.on_settle = lambda real: said(
        error_reason="settlement_pending", transaction="0x" + "77" * 32
    )
    with ThreadPoolExecutor(6) as pool:
        answers = [
            pool.submit(shop.get, one)
            for one in [shop.payment(signed=False, **{"from": wallet}) for _ in range(6)]
        ]
        found = sorted(reason(one.result(CHAIN_S)) for one in answers)
    assert found == [(402, "payment_invalid")] * 5 + [(503, "settlement_pending")]
    assert len(settlement_rows(shop)) == 1


@pytest.mark.slow
def test_a_contract_that_pays__goes_on_paying(shop: Shop) -> None:
    wallet = burner(shop, Tell.NUMBER, 2**255)
    assert [pay(shop, wallet).status_code for _ in range(3)] == [200] * 3
    assert shop.income == 3 * PRICE


def test_a_settlement__costs_what_its_receipt_says(shop: Shop) -> None:
    before = ether(shop)
    assert shop.get(shop.payment()).status_code == 200
    (row,) = settlement_rows(shop)
    assert row.cost_wei == before - ether(shop) == used_today(shop) < row.reserved_wei


def test_gas_that_costs_more_than_the_payment_earns__is_not_bought(shop: Shop) -> None:
    wallet_before, gas = ether(shop), replace(GAS, wei_per_usdc=10**12)
    poor = replace_gas(shop, gas)
    answer = poor.get(poor.payment())
    assert reason(answer) == (503, "temporarily_unavailable")
    assert answer.json()["detail"].startswith("Gas costs ")
    assert answer.json()["service"]["retry_at"] and answer.headers["Retry-After"] in ("59", "60")
    assert (wallet_before - ether(poor), poor.states(), settlement_rows(poor)) == (0, [], [])


def test_the_fee_of_layer_1__is_part_of_what_gas_costs(shop: Shop) -> None:
    # a contract whose every answer is that number
    answers_with = "0x7f" + f"{GAS.most_wei(PRICE):064x}" + "5f5260205ff3"
    payment = shop.payment()
    shop.chain.rpc.call("anvil_setCode", [GAS_PRICE_ORACLE, answers_with])
    try:
        answer = shop.get(payment)
    finally:
        shop.chain.rpc.call("anvil_setCode", [GAS_PRICE_ORACLE, "0x"])
    assert reason(answer) == (503, "temporarily_unavailable")
    assert "the 0 that settling this payment is worth" in answer.json()["detail"]
    assert shop.get(payment).status_code == 200


def replace_gas(shop: Shop, gas: GasBudget) -> Shop:
    assert shop.deps.parts.find(PaymentConfig) is not None
    shop.settler.real = OwnSettler(STRANGER.signer, shop.chain.reader, NETWORK, gas)
    shop.deps = shop.deps.with_part(
        PaymentConfig, replace(shop.deps.parts.of(PaymentConfig), gas=gas)
    )
    shop.open()
    return shop


def test_when_the_day_is_used_up__free_reads_and_credits_go_on(shop: Shop) -> None:
    replace_gas(shop, replace(GAS, wei_per_day=0))
    shop.open(free_reads_per_day=1, welcome_credits=1)
    agent = shop.agent()
    paid = [shop.get(shop.payment(), headers=agent) for _ in range(3)]
    assert [one.status_code for one in paid] == [200, 200, 503]
    assert [one.headers.get("X-Credits-Charged") for one in paid] == ["0", "1", None]
    assert "Today's gas for settling payments is used up" in paid[2].json()["detail"]
    assert (shop.states(), shop.income) == ([], 0)
    shop.deps = replace(shop.deps, clock=lambda: datetime.now(UTC) + timedelta(days=1))
    replace_gas(shop, GAS)
    tomorrow = int((datetime.now(UTC) + timedelta(days=1, minutes=1)).timestamp())
    assert shop.get(shop.payment(validBefore=str(tomorrow))).status_code == 200


def test_when_the_day_is_used_up__what_ends_before_the_next_is_signed_anew(shop: Shop) -> None:
    """It was called safe to send again, at an hour at which it had ended."""
    replace_gas(shop, replace(GAS, wei_per_day=0))
    shop.open(free_reads_per_day=0, welcome_credits=0)
    refused = shop.get(shop.payment(validBefore=str(shop.last_second_of_the_day()))).json()
    assert refused["service"]["retry_safe"] is False
    assert (
        f"or sign a new payment from {refused['service']['retry_at']} on, since this one "
        "expires before then"
    ) in refused["detail"]
    refused = shop.get(
        shop.payment(validBefore=str(int(datetime.now(UTC).timestamp()) + 2 * DAY_S))
    ).json()
    assert refused["service"]["retry_safe"] is True
    assert (
        f"or send this payment again from {refused['service']['retry_at']} on." in refused["detail"]
    )


def test_when_the_day_is_used_up__nobody_is_led_to_a_call_that_takes_a_key(shop: Shop) -> None:
    replace_gas(shop, replace(GAS, wei_per_day=0))
    shop.open(free_reads_per_day=0, welcome_credits=0)
    answers = [shop.get(shop.payment()), shop.get(shop.payment(), headers=shop.agent())]
    without, with_key = [
        [call["path"] for call in one.json()["service"]["next"]] for one in answers
    ]
    assert without == ["/auth/agent/connect", "/prices", "/agent/catalog"]
    assert with_key == ["/credits/balance", "/prices", "/agent/catalog"]


def test_a_revert_that_is_mined_late__counts_when_the_payer_comes_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.payments.own_settler.CONFIRM_WITHIN_S", 0.3)
    wallet = turncoat(shop)
    shop.chain.rpc.call("evm_setAutomine", [False])
    try:
        assert reason(pay(shop, wallet)) == (503, "settlement_pending")
        assert [row.cost_wei for row in settlement_rows(shop)] == [None]
        assert used_today(shop) == GAS.most_wei(PRICE), (
            "what is not known counts with the most that it can be"
        )
    finally:
        shop.chain.rpc.call("evm_mine", [])
        shop.chain.rpc.call("evm_setAutomine", [True])
    assert "is a contract that accepted a payment" in pay(shop, wallet).json()["detail"]
    assert [row.bars_payer for row in settlement_rows(shop)] == [True]
    assert 0 < used_today(shop) < GAS.most_wei(PRICE)


def left_open(shop: Shop, monkeypatch: pytest.MonkeyPatch, wallets: list[str]) -> None:
    """Their settlements are mined after the calls have ended."""
    monkeypatch.setattr("api.payments.own_settler.CONFIRM_WITHIN_S", 0.3)
    shop.chain.rpc.call("evm_setAutomine", [False])
    try:
        assert [reason(pay(shop, wallet)) for wallet in wallets] == [
            (503, "settlement_pending")
        ] * len(wallets)
    finally:
        shop.chain.rpc.call("evm_mine", [])
        shop.chain.rpc.call("evm_setAutomine", [True])


def job_of(shop: Shop) -> Callable[[datetime], Mapping[str, Any]]:
    place: Any = SimpleNamespace(reader=shop.chain.reader, database=shop.database)
    return partial(Settlements().run, place)


AFTER = timedelta(minutes=2)


def test_a_payer_that_never_comes_again__is_accounted_for_all_the_same(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that was reserved for it stayed used, and the payer stayed unbarred."""
    left_open(shop, monkeypatch, [turncoat(shop)])
    job = job_of(shop)
    assert job(datetime.now(UTC)) == {"open": 0, "closed": 0}, (
        "the call that sent it may still wait"
    )
    assert job(datetime.now(UTC) + AFTER) == {"open": 1, "closed": 1}
    assert [(row.is_reverted, row.bars_payer) for row in settlement_rows(shop)] == [(True, True)]
    assert 0 < used_today(shop) < GAS.most_wei(PRICE)
    assert job(datetime.now(UTC) + AFTER) == {"open": 0, "closed": 0}


def test_settlements_that_were_lost__hold_up_none_behind_them(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.areas.payments.jobs.A_RUN", 1)
    left_open(shop, monkeypatch, [burner(shop, Tell.NUMBER, 2**255) for _ in range(2)])
    with shop.database.write() as session:
        first = select(func.min(X402Settlement.id)).scalar_subquery()
        session.execute(
            update(X402Settlement).where(X402Settlement.id == first).values(tx_hash=b"\x77" * 32)
        )
    job = job_of(shop)
    runs = [job(datetime.now(UTC) + AFTER)["closed"] for _ in range(4)]
    assert runs == [0, 1, 0, 0]
    assert [row.cost_wei is None for row in settlement_rows(shop)] == [True, False]
    assert used_today(shop) > GAS.most_wei(PRICE), "what has no receipt counts in full"


@pytest.fixture
def moved(shop: Shop) -> Iterator[Shop]:
    """A shop whose chain's clock may be moved."""
    before = shop.chain.anvil.snapshot()
    yield shop
    shop.chain.anvil.revert(before)


@pytest.mark.slow
def test_a_transaction_that_is_mined_after_its_time__is_no_revert_of_its_payer(
    moved: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gas became dearer while it was under way: the wallet would have paid, and pays the next
    time.
    """
    monkeypatch.setattr("api.payments.own_settler.CONFIRM_WITHIN_S", 0.3)
    wallet = burner(moved, Tell.NUMBER, 2**255)
    moved.chain.rpc.call("evm_setAutomine", [False])
    try:
        assert reason(pay(moved, wallet)) == (503, "settlement_pending")
        moved.chain.rpc.call("evm_increaseTime", [100])
    finally:
        moved.chain.rpc.call("evm_mine", [])
        moved.chain.rpc.call("evm_setAutomine", [True])
    monkeypatch.undo()
    later(moved, seconds=100)
    assert moved.get(in_time(moved, wallet, 1)).status_code == 200
    assert [(row.is_reverted, row.bars_payer) for row in settlement_rows(moved)] == [
        (False, False)
    ] * 2
    assert all(row.cost_wei for row in settlement_rows(moved)), "it is paid for all the same"


WRAPPED = "6492" * 16  # what EIP-6492 ends with


@pytest.mark.parametrize(
    "signature",
    [
        "0x" + "ff" * 4_096,
        "0x" + "ff" * 2_500,
        "0x" + "11" * 300 + WRAPPED,
        "0x" + "00" * 64 + WRAPPED,
    ],
)
def test_a_signature_that_no_transaction_could_carry__is_the_payers_to_mend(
    shop: Shop, signature: str
) -> None:
    """503 would tell a client that waiting helps, and operators that a node fails."""
    payment = shop.payment()
    payment["payload"]["signature"] = signature
    answer = shop.get(payment)
    assert reason(answer) == (402, "payment_invalid")
    assert "signature" in answer.json()["detail"]
    assert (shop.states(), shop.settler.settled) == ([], 0)


def test_a_payment_that_somebody_else_sends_first__is_served_and_is_no_revert_of_its_payer(
    shop: Shop,
) -> None:
    wallet = burner(shop, Tell.NUMBER, 2**255)
    payment = shop.payment(signed=False, **{"from": wallet})
    sent = payment["payload"]["authorization"]
    fields = [
        wallet,
        shop.pay_to,
        PRICE,
        0,
        int(sent["validBefore"]),
        sent["nonce"],
        payment["payload"]["signature"],
    ]
    first = calldata.transfer_with_authorization(*fields)
    settler = shop.settler.real
    assert isinstance(settler, OwnSettler)
    really_send = settler._send

    def late(*arguments: Any) -> str:
        shop.chain.succeed(DEPLOYER, shop.chain.contracts["usdc"], first)
        return really_send(*arguments)

    settler._send = late  # type: ignore[method-assign]  # between the simulation and the block
    assert shop.get(payment).status_code == 200
    settler._send = really_send  # type: ignore[method-assign]
    assert [(row.is_reverted, row.bars_payer) for row in settlement_rows(shop)] == [(False, False)]
    assert pay(shop, wallet).status_code == 200


def test_what_stands_beside_an_authorization__is_not_settled(shop: Shop) -> None:
    """A facilitator takes `permit2Authorization` first: we would look at one payment and send
    another.
    """
    seen = list[Any]()
    payment = shop.payment()
    payment["payload"]["permit2Authorization"] = {"from": shop.payer.address}
    payment["extensions"] = {"erc20ApprovalGasSponsoring": {"info": {}}}
    real = shop.settler.real.settle
    shop.settler.real.settle = lambda payload, offer: seen.append(payload) or real(payload, offer)  # type: ignore[func-returns-value, method-assign]
    assert shop.get(payment).status_code == 200
    assert [sorted(one.payload) for one in seen] == [["authorization", "signature"]]
    assert [one.extensions for one in seen] == [None]


def test_a_facilitator__has_no_budget_of_ours_and_its_failures_count(shop: Shop) -> None:
    assert shop.deps.parts.find(PaymentConfig) is not None
    shop.deps = shop.deps.with_part(
        PaymentConfig, replace(shop.deps.parts.of(PaymentConfig), gas=None)
    )
    shop.open()
    assert shop.get(shop.payment()).status_code == 200
    shop.settler.on_settle = lambda real: said(error_reason="transaction_failed")
    refused = [shop.get(shop.payment()) for _ in range(4)]
    assert "3 settlements of" in refused[-1].json()["detail"]
    assert settlement_rows(shop) == []
