"""Applications with their bonds, over the real pipeline (docs/fund.md#applications)."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from api.areas.fund import jobs
from api.kernel.operation import Deps
from api.payments.payment_config import PaymentConfig
from core.credits.ledger import writer as credit_ledger
from core.credits.tables import CreditEntry
from core.db.engine import Database
from core.fund.accounts import FundSetup
from core.fund.tables import FundApplication, FundRules, FundVault
from core.identity.tables import Account
from tests.each import each
from tests.integration.api.conftest import Clock, deps_of, reason
from tests.integration.api.fund.conftest import Follower, Office, follower_of
from tests.integration.api.fund.pilots import (
    BODY,
    TREASURY,
    USDC,
    WALLET,
    IndexWorld,
    TransferChain,
    list_coin,
    payments,
    write_indices,
)

TWO = {"binance": 400_000.0, "okx": 100_000.0}
DAYS_14_S, BOND = 14 * 86_400, 60


@pytest.fixture
def chain(clock: Clock) -> TransferChain:
    return TransferChain(mined_at=int(clock.now.timestamp()))


@pytest.fixture
def credit_bonds() -> dict[int, int]:
    """The operators' list, which a test writes to."""
    return {}


@pytest.fixture
def deps(
    database: Database, clock: Clock, chain: TransferChain, credit_bonds: dict[int, int]
) -> Deps:
    made = deps_of(database, clock, chain)
    made = replace(made, contracts={"usdc": USDC}).with_part(PaymentConfig, payments())
    return made.with_part(FundSetup, FundSetup(credit_bonds=credit_bonds))


@pytest.fixture
def world(deps: Deps, clock: Clock, chain: TransferChain, office: Office) -> IndexWorld:
    with deps.database.write() as session:
        for ticker in ("BTC", "LINK", "UNI"):
            list_coin(session, clock.now, ticker, TWO)
    return IndexWorld(deps, clock, chain, office, write_indices(deps, clock.now))


@pytest.fixture
def payer(world: IndexWorld, follower: Follower) -> Follower:
    """An agent with a wallet."""
    world.link(follower)
    return follower


@pytest.fixture
def bonded(follower: Follower, credit_bonds: dict[int, int]) -> Follower:
    """An agent with 90 earned credits, whose bond may be in credits."""
    credit_bonds[follower.user_id] = BOND
    return follower


def balance(deps: Deps, account_id: int) -> tuple[int, int]:
    """Available and bonded."""
    with deps.database.read() as session:
        found = credit_ledger.load_balance(session, account_id)
        assert credit_ledger.verify(session, account_id) == []
    return found.available, found.bonded


def count(deps: Deps, table: Any) -> int:
    with deps.database.read() as session:
        return int(session.query(table).count())


def at_once(number: int, call: Callable[[int], Any]) -> Counter[tuple[int, str]]:
    """How often each status and reason (or state) was answered."""
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(call, range(number)))
    return Counter(
        (one.status_code, one.json().get("state") or one.json()["service"]["reason"])
        for one in answers
    )


# A bond in USDC


def test_an_application_without_a_transfer__says_what_to_pay(
    world: IndexWorld, payer: Follower
) -> None:
    refused = world.apply(payer)
    assert reason(refused) == (409, "bond_unpaid")
    assert refused.json()["service"]["bond"] == {
        "usd": "2500.000000",
        "from": WALLET,
        "to": TREASURY,
        "asset": USDC,
        "network": "eip155:84532",
    }
    assert count(world.deps, FundApplication) == 0


def test_an_application_with_its_transfer__is_submitted(world: IndexWorld, payer: Follower) -> None:
    answer = world.paid(payer)
    said = answer.json()
    assert (answer.status_code, said["state"], said["spot_pilot_days"]) == (201, "submitted", 14)
    assert said["bond"] == {
        "currency": "usdc",
        "usd": "2500.000000",
        "credits": None,
        "state": "held",
        "due_at": None,
        "paid_by": f"0x{1:064x}",
        "returned_at": None,
        "returned_by": None,
    }
    queued = world.office.client.get(
        "/admin/queue", params={"kind": "application"}, headers=world.office.headers
    ).json()["items"]
    assert [one["application"]["bond_usd"] for one in queued] == ["2500.000000"]


@each(
    ("sender", "to", "amount"),
    [
        (WALLET, TREASURY, 2_499_999_999),
        (WALLET, TREASURY, 2_500_000_001),
        ("0x" + "55" * 20, TREASURY, 2_500_000_000),
        (WALLET, "0x" + "55" * 20, 2_500_000_000),
    ],
)
def test_a_transfer_that_is_another_one__is_400_and_names_the_field(
    world: IndexWorld, payer: Follower, sender: str, to: str, amount: int
) -> None:
    tx = world.chain.pay(sender, to, amount)
    answer = world.apply(payer, bond_tx=tx)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("bond_tx: name a transaction that moved exactly 2500")


@pytest.mark.slow
def test_a_transfer_that_reverted__pays_nothing(world: IndexWorld, payer: Follower) -> None:
    tx = world.chain.pay(WALLET, TREASURY, 2_500_000_000)
    world.chain.reverted.add(tx)
    assert world.apply(payer, bond_tx=tx).status_code == 400


@each("block", [101, None])
def test_a_transfer_that_is_not_safe_yet__is_asked_for_again(
    world: IndexWorld, payer: Follower, block: int | None
) -> None:
    tx = (
        "0x" + "77" * 32
        if block is None
        else world.chain.pay(WALLET, TREASURY, 2_500_000_000, block)
    )
    refused = world.apply(payer, bond_tx=tx)
    assert reason(refused) == (503, "settlement_pending")
    assert refused.json()["service"]["retry_at"] == "2026-11-21T12:00:30Z"


def test_one_transfer__pays_one_bond(world: IndexWorld, payer: Follower) -> None:
    first = world.paid(payer).json()
    world.move(first["application_id"], "reject", reason="No.")
    again = world.apply(payer, bond_tx=first["bond"]["paid_by"])
    assert again.status_code == 400
    assert again.json()["detail"].startswith("bond_tx: this transfer paid another bond")


def test_an_account_without_a_wallet__is_told_to_link_one(
    world: IndexWorld, follower: Follower
) -> None:
    assert reason(world.apply(follower)) == (409, "wallet_not_linked")


def test_a_bond_in_usdc__is_given_back_by_a_transfer_that_the_chain_proves(
    world: IndexWorld, payer: Follower
) -> None:
    application_id = world.paid(payer).json()["application_id"]
    early = world.chain.pay(TREASURY, WALLET, 2_500_000_000)
    assert reason(world.move(application_id, "return-bond", tx_hash=early)) == (409, "wrong_status")
    rejected = world.move(application_id, "reject", reason="No.").json()
    assert (rejected["bond"]["state"], rejected["reason"]) == ("due", "No.")
    assert world.move(application_id, "return-bond").status_code == 400
    short = world.chain.pay(TREASURY, WALLET, 2_499_999_999)
    assert world.move(application_id, "return-bond", tx_hash=short).status_code == 400
    back = world.move(application_id, "return-bond", tx_hash=early).json()["bond"]
    assert (back["state"], back["returned_by"]) == ("returned", early)
    assert reason(world.move(application_id, "return-bond", tx_hash=early)) == (409, "wrong_status")


def test_one_transfer__gives_one_bond_back(
    world: IndexWorld, payer: Follower, deps: Deps, clock: Clock
) -> None:
    first = world.paid(payer).json()["application_id"]
    world.move(first, "reject", reason="No.")
    back = world.chain.pay(TREASURY, WALLET, 2_500_000_000)
    world.move(first, "return-bond", tx_hash=back)
    second = world.paid(payer).json()["application_id"]
    world.move(second, "reject", reason="No.")
    again = world.move(second, "return-bond", tx_hash=back)
    assert again.status_code == 400
    assert again.json()["detail"].startswith("tx_hash: this transfer gave another bond back")


# A bond in credits


def test_a_bond_in_credits__is_what_operators_set_for_the_account(
    world: IndexWorld, bonded: Follower
) -> None:
    said = world.apply(bonded, bond_currency="credit").json()
    assert (said["bond"]["credits"], said["bond"]["usd"]) == (BOND, None)
    assert balance(world.deps, bonded.user_id) == (100 - BOND, BOND)


def test_an_account_that_is_not_on_the_list__is_403(world: IndexWorld, follower: Follower) -> None:
    assert reason(world.apply(follower, bond_currency="credit")) == (403, "bond_currency_refused")


def test_a_transfer_beside_a_bond_in_credits__is_refused(
    world: IndexWorld, bonded: Follower
) -> None:
    tx = world.chain.pay(WALLET, TREASURY, 1)
    answer = world.apply(bonded, bond_currency="credit", bond_tx=tx)
    assert answer.json()["detail"].startswith("bond_tx: leave it out")


def test_too_few_credits__are_402_and_nothing_is_kept(
    world: IndexWorld, bonded: Follower, credit_bonds: dict[int, int]
) -> None:
    credit_bonds[bonded.user_id] = 91  # ten of the hundred are the welcome credit
    refused = world.apply(bonded, bond_currency="credit")
    assert reason(refused) == (402, "credit_insufficient")
    assert refused.json()["service"]["credit"] == {"needed": 91, "available": 90, "shortfall": 1}
    assert count(world.deps, FundApplication) == 0
    assert balance(world.deps, bonded.user_id) == (100, 0)


def test_a_rejection__gives_the_credits_back_at_once(world: IndexWorld, bonded: Follower) -> None:
    application_id = world.apply(bonded, bond_currency="credit").json()["application_id"]
    said = world.move(application_id, "reject", reason="Too broad.").json()
    assert (said["state"], said["bond"]["state"]) == ("rejected", "returned")
    assert said["bond"]["returned_at"] == said["decided_at"]
    assert balance(world.deps, bonded.user_id) == (100, 0)


def test_an_approved_bond__comes_back_when_the_pilot_is_fourteen_days_old(
    world: IndexWorld, bonded: Follower, clock: Clock
) -> None:
    application_id = world.apply(bonded, bond_currency="credit").json()["application_id"]
    said = world.move(application_id, "approve").json()
    assert (said["bond"]["state"], said["bond"]["due_at"]) == ("held", "2026-12-05T12:00:00Z")
    clock.pass_(seconds=DAYS_14_S - 1)
    assert jobs.give_bonds_back(world.job_place(), clock.now) == {"bonds": 0}
    assert balance(world.deps, bonded.user_id) == (40, BOND)
    clock.pass_(seconds=1)
    assert jobs.give_bonds_back(world.job_place(), clock.now) == {"bonds": 1}
    assert balance(world.deps, bonded.user_id) == (100, 0)
    assert jobs.give_bonds_back(world.job_place(), clock.now) == {"bonds": 0}
    assert reason(world.move(application_id, "return-bond")) == (409, "wrong_status")


# What is decided


def test_an_applicant__reads_what_became_of_its_own_alone(
    world: IndexWorld, payer: Follower, deps: Deps, clock: Clock
) -> None:
    application_id = world.paid(payer).json()["application_id"]
    rejected = world.move(application_id, "reject", reason="Too broad.").json()
    second = world.paid(payer).json()
    said = payer.get("/fund/me/applications").json()["applications"]
    assert said == [second, rejected]
    first = payer.get("/fund/me/applications", limit=1).json()
    assert first["applications"] == [second]
    rest = payer.get("/fund/me/applications", limit=1, cursor=first["next_cursor"]).json()
    assert (rest["applications"], rest["next_cursor"]) == ([rejected], None)
    other = follower_of(payer.client, deps, clock)
    assert other.get("/fund/me/applications").json()["applications"] == []


def test_an_approval__makes_the_applicant_the_maker_of_a_pilot(
    world: IndexWorld, payer: Follower, client: TestClient
) -> None:
    application_id = world.paid(payer).json()["application_id"]
    said = world.move(application_id, "approve").json()
    vault = client.get(f"/fund/vaults/{said['vault_id']}").json()
    rules = vault["frozen_rules"]
    assert (vault["kind"], vault["mandate"]) == ("spot", BODY["plan_text"])
    assert [one["market"] for one in rules["universe"]] == ["binance_link_usdt", "binance_uni_usdt"]
    assert (rules["max_leverage"], vault["index_id"]) == ("1.00", world.index_id)
    with world.deps.database.read() as session:
        assert session.get_one(FundVault, said["vault_id"]).maker_id == payer.user_id
    listed = client.get("/fund/indices").json()["indices"][0]
    assert (listed["funds_count"], listed["vault_ids"]) == (1, [said["vault_id"]])


def test_the_journey__goes_on_from_apply_to_pilot(world: IndexWorld, payer: Follower) -> None:
    def states() -> dict[str, str]:
        nodes = payer.get("/fund/me/journey").json()["nodes"]
        return {one["node"]: one["state"] for one in nodes}

    assert states()["apply"] == "next"
    application_id = world.paid(payer).json()["application_id"]
    assert states()["apply"] == "in_progress"
    world.move(application_id, "approve")
    assert (states()["apply"], states()["pilot"]) == ("done", "in_progress")


def test_an_operator__does_not_decide_on_an_agent_of_its_own(
    world: IndexWorld, payer: Follower
) -> None:
    application_id = world.paid(payer).json()["application_id"]
    with world.deps.database.write() as session:
        operators = select(Account.id).where(Account.kind == "operator")
        session.get_one(Account, payer.user_id).owner_id = session.scalars(operators).one()
    refused = world.move(application_id, "approve")
    assert reason(refused) == (403, "conflict_of_interest")


def test_an_application_that_is_not_there__is_404(world: IndexWorld) -> None:
    for name, body in (("approve", {}), ("reject", {"reason": "No."}), ("return-bond", {})):
        assert reason(world.move(99, name, **body)) == (404, "not_found")


def test_an_index_without_its_categories_today__is_not_applied_for(
    world: IndexWorld, payer: Follower
) -> None:
    answer = world.apply(payer, filter_categories=["l2"])
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("filter_categories: the index has no constituent")


@each(
    ("changes", "field"),
    [
        ({"leverage": "0.99"}, "leverage"),
        ({"leverage": "20.01"}, "leverage"),
        ({"fee_bps": 1_001}, "fee_bps"),
        ({"fee_bps": "1e3"}, "fee_bps"),
        ({"tvl_cap_usd": "0"}, "tvl_cap_usd"),
        ({"tvl_cap_usd": "1e9"}, "tvl_cap_usd"),
        ({"plan_text": ""}, "plan_text"),
        ({"plan_text": "a\u202eb"}, "plan_text"),
        ({"fund_type": "hedge"}, "fund_type"),
        ({"rebalance_cadence": "hourly"}, "rebalance_cadence"),
        ({"bond_currency": "eur"}, "bond_currency"),
        ({"bond_tx": "0x12"}, "bond_tx"),
        ({"filter_categories": ["meme"]}, "filter_categories"),
    ],
)
def test_bad_input__is_400_and_names_the_field(
    world: IndexWorld, payer: Follower, changes: dict[str, Any], field: str
) -> None:
    answer = world.apply(payer, **changes)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(field)


# At once


@pytest.mark.slow
def test_64_applications_at_once__are_one_with_one_bond(
    world: IndexWorld, bonded: Follower
) -> None:
    found = at_once(64, lambda _: world.apply(bonded, bond_currency="credit"))
    assert found == {(201, "submitted"): 1, (409, "already_applied"): 63}
    assert balance(world.deps, bonded.user_id) == (100 - BOND, BOND)


def test_64_rejections_at_once__give_the_bond_back_once(
    world: IndexWorld, bonded: Follower
) -> None:
    application_id = world.apply(bonded, bond_currency="credit").json()["application_id"]
    found = at_once(64, lambda _: world.move(application_id, "reject", reason="No."))
    assert found == {(200, "rejected"): 1, (409, "wrong_status"): 63}
    assert balance(world.deps, bonded.user_id) == (100, 0)
    with world.deps.database.read() as session:
        kinds = select(CreditEntry.kind).where(CreditEntry.account_id == bonded.user_id)
        assert Counter(session.scalars(kinds))["release"] == 1


@pytest.mark.slow
def test_64_approvals_and_rejections_at_once__are_one_of_them(
    world: IndexWorld, bonded: Follower
) -> None:
    application_id = world.apply(bonded, bond_currency="credit").json()["application_id"]

    def decide(number: int) -> Any:
        if number % 2:
            return world.move(application_id, "approve")
        return world.move(application_id, "reject", reason="No.")

    found = at_once(64, decide)
    assert found[409, "wrong_status"] == 63
    is_approved = found[200, "approved"] == 1
    assert count(world.deps, FundVault) == count(world.deps, FundRules) == int(is_approved)
    assert balance(world.deps, bonded.user_id) == ((40, BOND) if is_approved else (100, 0))


def test_two_accounts_with_one_transfer_at_once__are_one_application(
    world: IndexWorld, payer: Follower, deps: Deps, clock: Clock
) -> None:
    tx = world.chain.pay(WALLET, TREASURY, 2_500_000_000)
    found = at_once(8, lambda _: world.apply(payer, bond_tx=tx))
    assert found == {(201, "submitted"): 1, (409, "already_applied"): 7}
    stranger = follower_of(payer.client, deps, clock)
    world.link(stranger, "0x" + "66" * 20)
    assert world.apply(stranger, bond_tx=tx).status_code == 400
