"""The leg, from the owner's call to the record, and what readings make of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account import Account
from starlette.testclient import TestClient

from api.areas.perps.jobs import MOST_UNREADABLE, RUN_S, run
from api.kernel.operation import Deps
from api.main import create_app
from core.errors import OutsideError
from core.jobs.schedule import JobSkippedError
from core.mandate import queries as mandates
from core.mandate.ledger import writer as mandate_ledger
from core.money import UsdcE6
from core.perps.rules.leg import AccountReading, Degraded, PerpsTerms
from tests.each import each
from tests.integration.api.conftest import login
from tests.integration.api.mandates.stage import Stage, address, reason

AGENT = address(0x77)


@dataclass
class Readings:
    """A venue that answers what a test says, by owner."""

    worth: dict[str, AccountReading] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    source: str = "hyperliquid:simulated"

    def read_account(self, owner: str, agent: str, dex: str) -> AccountReading:
        self.asked.append(owner)
        if owner not in self.worth:
            raise OutsideError("the venue is down")
        return self.worth[owner]


def path(mandate_id: str) -> str:
    return f"/mandates/{mandate_id}/hl-leg"


def body(stage: Stage, **changed: Any) -> dict[str, Any]:
    return {"owner_address": stage.owner_wallet.address, "agent_address": AGENT} | changed


def bind(stage: Stage, mandate_id: str) -> dict[str, Any]:
    return stage.post(path(mandate_id), stage.owner, body(stage), status=201)


def unbind(stage: Stage, mandate_id: str) -> Any:
    return stage.call("DELETE", path(mandate_id), stage.owner)


def readings(
    stage: Stage, venue: Readings | None, clock: Callable[[], float] = lambda: 0.0
) -> Callable[[datetime], Mapping[str, Any]]:
    place: Any = SimpleNamespace(database=stage.database, perps=venue)
    return lambda now: run(place, now, clock)


def sound(usdc_e6: int) -> AccountReading:
    return AccountReading(worth_usdc_e6=UsdcE6(usdc_e6), reason=None)


def notes(stage: Stage, mandate_id: str) -> list[tuple[str, dict[str, Any]]]:
    with stage.database.read() as session:
        mandate = mandates.find_mandate(session, mandate_id)
        assert mandate is not None
        rows = mandate_ledger.load_rows(session, mandate.id)
    return [
        (row.reported_by.value, dict(row.payload))
        for row in rows
        if any(key.startswith("hl_") for key in row.payload)
    ]


def hl_alerts(stage: Stage) -> list[dict[str, Any]]:
    found = stage.get("/me/alerts", stage.owner)["alerts"]
    return [alert for alert in found if alert["kind"] == "hl_key_lost"]


# Bind, read, unbind


def test_before_a_leg_is_bound__the_answer_says_so(stage: Stage, mandate_id: str) -> None:
    found = stage.get(path(mandate_id), stage.owner)
    assert found.pop("note").startswith("No account is bound")
    assert found == {
        "enabled": True,
        "mandate": mandate_id,
        "mandate_status": "working",
        "network": "simulated",
        "hl_market_on": False,
        "agent_address": None,
        "leg": None,
        "exit_allowance_bps": 100,
    }


def test_a_bound_leg__has_no_worth_before_it_was_read(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    found = stage.get(path(mandate_id), stage.owner)
    assert (found["hl_market_on"], found["agent_address"]) == (True, AGENT)
    assert found["leg"] == {
        "status": "bound",
        "owner_address": stage.owner_wallet.address,
        "agent_address": AGENT,
        "bound_at": "2026-11-21T12:00:00Z",
        "unbound_at": None,
        "dex": "",
        "last_worth_usdc": None,
        "last_read_at": None,
        "last_reason": None,
        "degraded_ticks": 0,
        "source": None,
    }


def test_binding_and_unbinding__are_rows_of_the_record_by_the_owner(
    stage: Stage, mandate_id: str
) -> None:
    bind(stage, mandate_id)
    assert unbind(stage, mandate_id).json()["leg"]["status"] == "unbound"
    parties = {
        "owner_address": stage.owner_wallet.address,
        "agent_address": AGENT,
        "dex": "",
    }
    assert notes(stage, mandate_id) == [
        ("owner", {"hl_leg_bound": parties}),
        ("owner", {"hl_leg_unbound": parties}),
    ]
    assert stage.faults(mandate_id) == []


def test_one_address__has_one_live_leg(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    other = stage.working()
    refused = stage.call("POST", path(other), stage.owner, body(stage))
    assert reason(refused) == (409, "leg_bound")
    unbind(stage, mandate_id)
    bind(stage, other)


def test_a_second_leg__is_refused_with_the_call_that_unbinds_the_first(
    stage: Stage, mandate_id: str
) -> None:
    bind(stage, mandate_id)
    refused = stage.call("POST", path(stage.working()), stage.owner, body(stage)).json()
    assert f"of mandate {mandate_id}" in refused["detail"]
    assert "{" not in refused["detail"]
    first = refused["service"]["next"][0]
    assert (first["method"], first["path"]) == ("DELETE", f"/mandate-wallet{path(mandate_id)}")


def test_the_zero_address__is_no_api_wallet(stage: Stage, mandate_id: str) -> None:
    nobody = body(stage) | {"agent_address": "0x" + "00" * 20}
    refused = stage.call("POST", path(mandate_id), stage.owner, nobody)
    assert reason(refused) == (400, "invalid_parameter")
    assert refused.json()["detail"].startswith("agent_address: ")


def test_the_same_mandate_twice__is_refused(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    refused = stage.call("POST", path(mandate_id), stage.owner, body(stage))
    assert reason(refused) == (409, "leg_bound")


def test_without_a_live_leg__there_is_nothing_to_unbind(stage: Stage, mandate_id: str) -> None:
    assert reason(unbind(stage, mandate_id)) == (409, "wrong_status")


def test_somebody_elses_address__is_refused(stage: Stage, mandate_id: str) -> None:
    refused = stage.call(
        "POST", path(mandate_id), stage.owner, body(stage, owner_address=address(0x99))
    )
    assert reason(refused) == (403, "not_owner")
    assert stage.owner_wallet.address in refused.json()["detail"]


@each(
    "changed",
    [
        {"agent_address": "owner"},
        {"agent_address": "0x12"},
        {"dex": "a b"},
        {"dex": "a" * 17},
        {"private": 1},
    ],
)
def test_a_field_that_breaks_its_rule__is_named(
    stage: Stage, mandate_id: str, changed: dict[str, Any]
) -> None:
    field_name = next(iter(changed))
    if changed.get("agent_address") == "owner":
        changed = {"agent_address": stage.owner_wallet.address}
    refused = stage.call("POST", path(mandate_id), stage.owner, body(stage, **changed))
    assert reason(refused) == (400, "invalid_parameter")
    assert field_name in refused.json()["detail"]


def test_a_key__is_not_taken(stage: Stage, mandate_id: str) -> None:
    sent = body(stage, private_key="0x" + "11" * 32)
    refused = stage.call("POST", path(mandate_id), stage.owner, sent)
    assert refused.status_code == 400


@pytest.mark.parametrize("made", ["draft", "paper"])
def test_a_mandate_without_a_vault_to_be__has_no_leg(stage: Stage, made: str) -> None:
    mandate_id = getattr(stage, made)()
    refused = stage.call("POST", path(mandate_id), stage.owner, body(stage))
    assert reason(refused) == (409, "wrong_status")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_another_owner__finds_nothing(stage: Stage, mandate_id: str, method: str) -> None:
    wallet = Account.create()
    sent = None if method != "POST" else body(stage, owner_address=wallet.address)
    refused = stage.call(method, path(mandate_id), login(stage.client, wallet), sent)
    assert reason(refused) == (404, "not_found")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_while_the_flag_is_off__every_call_says_so(
    stage: Stage, mandate_id: str, deps: Deps, method: str
) -> None:
    app = create_app(deps.with_part(PerpsTerms, None))
    sent = None if method != "POST" else body(stage)
    with TestClient(app, base_url="http://testserver") as client:
        off = replace(stage, client=client)
        assert reason(off.call(method, path(mandate_id), stage.owner, sent)) == (
            404,
            "tw_feature_disabled",
        )


# Readings


def test_a_reading__is_shown_with_its_time_and_source(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    venue = Readings({stage.owner_wallet.address: sound(1_234_500_000)})
    did = readings(stage, venue)(stage.clock.now)
    assert did == {"due": 1, "read": 1, "degraded": 0}
    leg = stage.get(path(mandate_id), stage.owner)["leg"]
    assert (leg["last_worth_usdc"], leg["last_read_at"], leg["source"]) == (
        "1234.500000",
        "2026-11-21T12:00:00Z",
        "hyperliquid:simulated",
    )


def test_a_leg__is_read_when_it_is_due_and_not_before(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    venue = Readings({stage.owner_wallet.address: sound(1)})
    job, now = readings(stage, venue), stage.clock.now
    for seconds in (0, 29, 30):
        job(now + timedelta(seconds=seconds))
    assert len(venue.asked) == 2


def test_a_venue_that_is_down__leaves_the_last_worth(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    now = stage.clock.now
    readings(stage, Readings({stage.owner_wallet.address: sound(7)}))(now)
    readings(stage, Readings())(now + timedelta(seconds=30))
    leg = stage.get(path(mandate_id), stage.owner)["leg"]
    assert (leg["last_worth_usdc"], leg["last_reason"], leg["degraded_ticks"]) == (
        "0.000007",
        "hl_unreadable",
        1,
    )


def test_a_lost_key__alerts_the_owner_once_until_it_is_found_again(
    stage: Stage, mandate_id: str
) -> None:
    bind(stage, mandate_id)
    lost = AccountReading(worth_usdc_e6=UsdcE6(7), reason=Degraded.KEY_LOST)
    owner, now = stage.owner_wallet.address, stage.clock.now
    told = [lost, lost, None, lost]
    for count, reading in enumerate(told):
        venue = Readings({} if reading is None else {owner: reading})
        readings(stage, venue)(now + timedelta(hours=count))
    assert len(hl_alerts(stage)) == 2
    readings(stage, Readings({owner: sound(7)}))(now + timedelta(hours=9))
    assert all(alert["withdrawn_at"] for alert in hl_alerts(stage))


def test_an_alert_of_a_lost_key__says_what_to_do(stage: Stage, mandate_id: str) -> None:
    bind(stage, mandate_id)
    lost = AccountReading(worth_usdc_e6=None, reason=Degraded.KEY_LOST)
    readings(stage, Readings({stage.owner_wallet.address: lost}))(stage.clock.now)
    (alert,) = hl_alerts(stage)
    assert (alert["mandate_id"], alert["args"]["agent_address"]) == (mandate_id, AGENT)
    assert "no longer accepts the key" in alert["message"]


def test_a_leg_that_was_unbound_while_it_was_read__stays_as_it_was(
    stage: Stage, mandate_id: str
) -> None:
    bind(stage, mandate_id)

    class Unbinding(Readings):
        def read_account(self, owner: str, agent: str, dex: str) -> AccountReading:
            unbind(stage, mandate_id)
            return sound(7)

    readings(stage, Unbinding())(stage.clock.now)
    assert stage.get(path(mandate_id), stage.owner)["leg"]["last_worth_usdc"] is None


def many_legs(stage: Stage, count: int) -> list[str]:
    wallets = [Account.create() for _ in range(count)]
    for wallet in wallets:
        owner = login(stage.client, wallet)
        one = replace(stage, owner=owner, owner_wallet=wallet)
        one.agent_id, one.agent = one.new_agent(owner, Account.create())
        one.accept_mandates(one.agent_id, owner)
        bind(one, one.signed())
    return [wallet.address for wallet in wallets]


def test_a_leg_that_cannot_be_read__holds_up_no_other(stage: Stage) -> None:
    first, second = many_legs(stage, 2)
    venue = Readings({second: sound(3)})
    did = readings(stage, venue)(stage.clock.now)
    assert did == {"due": 2, "read": 2, "degraded": 1}
    assert venue.asked == [first, second]


def test_a_slow_venue__ends_the_run_and_the_rest_is_read_by_the_next(stage: Stage) -> None:
    first, second = many_legs(stage, 2)
    venue, ticks = Readings({first: sound(1), second: sound(2)}), iter([0.0, RUN_S, 60.0, 61.0])
    job, now = readings(stage, venue, lambda: next(ticks)), stage.clock.now
    assert job(now) == {"due": 2, "read": 1, "degraded": 0}
    assert job(now + timedelta(seconds=29)) == {"due": 0, "read": 0, "degraded": 0}
    ticks = iter([60.0, 61.0, 62.0])
    job(now + timedelta(seconds=30))
    assert set(venue.asked) == {first, second}


@pytest.mark.slow
def test_a_venue_that_is_down__is_not_asked_for_every_leg(stage: Stage) -> None:
    many_legs(stage, MOST_UNREADABLE + 2)
    venue = Readings()
    did = readings(stage, venue)(stage.clock.now)
    assert (did["due"], len(venue.asked)) == (MOST_UNREADABLE + 2, MOST_UNREADABLE)


def test_without_a_venue__the_job_is_skipped(stage: Stage) -> None:
    with pytest.raises(JobSkippedError, match="HL_URL"):
        readings(stage, None)(stage.clock.now)
