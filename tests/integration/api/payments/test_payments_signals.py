"""A live signal is paid once per follower, by USDC too, whatever comes at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from core.fund import queries as fund
from core.fund.ledger import writer as signal_ledger
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.signals import NewSignal
from core.fund.tables import FundSignalSale
from core.identity.queries import set_operator_key
from core.identity.tables import Account
from core.money import UsdcE6
from tests.integration.api.payments.shop import Shop, reason

SIGNAL_PRICE = 100_000
MARKET = "binance_btc_usdt"


@pytest.fixture
def path(shop: Shop) -> str:
    """Of a live signal."""
    now = datetime.now(UTC)
    with shop.database.write() as session:
        set_operator_key(session, b"h" * 32, now)
        by_id = session.query(Account.id).filter(Account.kind == "operator").scalar()
        vault_id = fund.add_vault(
            session, "Majors", FundKind.SPOT, is_simulated=True, maker_id=None, now=now
        )
        rules = FrozenRules(
            vault_id=vault_id,
            version=1,
            kind=FundKind.SPOT,
            mandate="Large coins.",
            universe=(UniverseMarket(MARKET, "always", UsdcE6(10_000_000)),),
            most_leverage_e2=100,
        )
        fund.freeze(session, rules, None, now)
        signal = NewSignal(
            vault_id=vault_id,
            rules_version=1,
            market=MARKET,
            weight_e4=2_500,
            leverage_e2=100,
            mid=None,
        )
        seq = signal_ledger.publish(session, signal, by_id, now)
    return f"/fund/signals/{seq}"


@pytest.fixture
def poor(shop: Shop) -> dict[str, str]:
    """An agent without credits."""
    shop.open(welcome_credits=0)
    return shop.agent()


def paid(shop: Shop, path: str, agent: dict[str, str]) -> dict[str, object]:
    """A payment for the signal, as its 402 asks for it."""
    offer = shop.offer(path=path, headers=agent)
    return shop.payment(accepted=offer, value=str(SIGNAL_PRICE))


def test_a_402__is_paid_in_usdc_and_the_signal_is_free_from_then_on(
    shop: Shop, path: str, poor: dict[str, str]
) -> None:
    refused = shop.get(path=path, headers=poor)
    assert reason(refused) == (402, "credit_insufficient")
    assert refused.json()["service"]["credit"] == {"needed": 10, "available": 0, "shortfall": 10}
    assert refused.json()["accepts"][0]["amount"] == str(SIGNAL_PRICE)
    served = shop.get(paid(shop, path, poor), path, poor)
    assert (served.status_code, shop.income) == (200, SIGNAL_PRICE)
    again = shop.get(path=path, headers=poor)
    assert (again.status_code, shop.income) == (200, SIGNAL_PRICE)
    with shop.database.read() as session:
        assert [sale.paid_by for sale in session.query(FundSignalSale)] == ["usdc"]


def test_payments_at_once_with_other_nonces__settle_one(
    shop: Shop, path: str, poor: dict[str, str]
) -> None:
    payments = [paid(shop, path, poor) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda one: shop.get(one, path, poor), payments))
    assert shop.income == SIGNAL_PRICE
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert 200 in [answer.status_code for answer in answers]
    again = [shop.get(one, path, poor) for one in payments]
    assert ({answer.status_code for answer in again}, shop.income) == ({200}, SIGNAL_PRICE)


def test_the_live_list__offers_what_the_402_offers(
    shop: Shop, path: str, poor: dict[str, str]
) -> None:
    vault_id = 1
    page = shop.client.get(f"/fund/vaults/{vault_id}/signals/live", headers=poor).json()
    asked = shop.client.get(path, headers=poor).json()
    assert page["locked_count"] == 1
    assert page["payment_required"]["accepts"] == asked["accepts"]
    assert page["payment_required"]["resource"]["url"].endswith(path)
