"""Consents that are given and revoked at the same time (docs/fund.md#consents)."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sqlalchemy import select, text

from api.kernel.operation import Deps
from core.fund import queries as fund
from core.fund.rules.frozen import rules_of
from core.fund.tables import FundFill, FundMirror, FundVault
from core.identity import queries as identity
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import ADDRESS, USD, Follower, Office, follower_of

WAITING = text(
    "select count(*) from pg_stat_activity where datname = current_database() and "
    "wait_event_type = 'Lock'"
)

FILL = {
    "account_address": ADDRESS,
    "filled_at": "2026-11-21T12:00:00Z",
    "price": "91250.5",
    "qty": "0.0027",
    "side": "buy",
}


def standing(deps: Deps, follower: Follower, vault: int) -> int | None:
    with deps.database.read() as session:
        found = fund.standing_mirror(session, follower.user_id, vault)
        return None if found is None else found.max_order_usdc_e6


def test_a_consent_that_began_before_the_one_it_replaces__is_given(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    clock.pass_(seconds=1)
    assert follower.consent(vault).status_code == 200
    clock.pass_(seconds=-1)  # it began a second earlier, and waited
    assert follower.consent(vault, max_order_usd="50").status_code == 200
    assert standing(deps, follower, vault) == 50 * USD


def test_a_revocation_that_began_before_the_consent__ends_it(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    clock.pass_(seconds=1)
    given = follower.consent(vault).json()
    clock.pass_(seconds=-1)
    answer = follower.client.delete(f"/fund/vaults/{vault}/mirrors", headers=follower.key)
    assert answer.status_code == 200, answer.text
    own = follower.get(f"/fund/vaults/{vault}/mirrors/me").json()
    assert (own["is_current"], own["revoked_at"]) == (False, given["given_at"])
    assert standing(deps, follower, vault) is None


def test_a_revocation_beside_a_consent__leaves_none_that_stands(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    given = follower.consent(vault).json()
    path = f"/fund/vaults/{vault}/mirrors"
    with ThreadPoolExecutor(1) as pool:
        with deps.database.write() as session:
            identity.lock_owner(session, follower.user_id)
            fund.consent(
                session,
                follower.user_id,
                vault,
                address=ADDRESS,
                max_order_usdc_e6=50 * USD,
                max_leverage_e2=100,
                rules_hash=bytes.fromhex(given["rules_hash"][2:]),
                now=clock.now,
            )
            revoked = pool.submit(follower.client.delete, path, headers=follower.key)
            while not revoked.done():
                with deps.database.read() as other:
                    if other.scalar(WAITING):
                        break
                time.sleep(0.01)
        assert revoked.result().status_code == 200, revoked.result().text
    assert standing(deps, follower, vault) is None


# What is counted


def slow_counts(deps: Deps, vault: int) -> tuple[int, int]:
    """Row by row."""
    with deps.database.read() as session:
        found = session.get_one(FundVault, vault)
        rules = fund.rules_in_force(session, [found])[vault].rules_hash
        mirrors = session.scalars(select(FundMirror).where(FundMirror.vault_id == vault)).all()
        fills = session.scalars(select(FundFill).where(FundFill.vault_id == vault)).all()
    standing = [one for one in mirrors if one.revoked_at is None and one.rules_hash == rules]
    return len(standing), len(fills)


def counts(deps: Deps, vault: int) -> tuple[int, int]:
    with deps.database.read() as session:
        rules = fund.rules_in_force(session, [session.get_one(FundVault, vault)])[vault]
        found = fund.counts_of(session, vault, rules.rules_hash)
    return found.mirrors, found.fills


def frozen_anew(deps: Deps, vault: int, clock: Clock) -> None:
    with deps.database.write() as session:
        held = fund.hold_vault(session, vault)
        assert held is not None
        old = rules_of(fund.rules_in_force(session, [held])[vault].document)
        fund.freeze(session, replace(old, version=old.version + 1), None, clock.now)


def test_consents_and_fills__are_counted_as_their_rows_say(
    follower: Follower, office: Office, vault: int, clock: Clock, deps: Deps
) -> None:
    other = follower_of(follower.client, deps, clock)
    signal = office.publish(vault)
    follower.consent(vault)
    follower.get(f"/fund/signals/{signal}")
    follower.plan(signal)
    steps: list[Callable[[], object]] = [
        lambda: follower.consent(vault),
        lambda: other.consent(vault),
        lambda: follower.consent(vault, max_order_usd="50"),
        lambda: other.client.delete(f"/fund/vaults/{vault}/mirrors", headers=other.key),
        lambda: other.client.delete(f"/fund/vaults/{vault}/mirrors", headers=other.key),
        lambda: follower.post(f"/fund/signals/{signal}/fills", FILL),
        lambda: follower.post(f"/fund/signals/{signal}/fills", FILL),
        lambda: other.consent(vault),
        lambda: frozen_anew(deps, vault, clock),
        lambda: other.client.delete(f"/fund/vaults/{vault}/mirrors", headers=other.key),
        lambda: follower.consent(vault),
        lambda: follower.consent(vault),
    ]
    seen = []
    for step in steps:
        step()
        assert counts(deps, vault) == slow_counts(deps, vault)
        seen.append(counts(deps, vault))
    assert seen == [
        (1, 0), (2, 0), (2, 0), (1, 0), (1, 0), (1, 1), (1, 1), (2, 1), (0, 1), (0, 1), (1, 1), (1, 1)
    ]  # fmt: skip


def test_a_consent_to_rules_that_were_replaced_meanwhile__is_not_counted(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    read = follower.client.get(f"/fund/vaults/{vault}").json()["rules_hash"]
    frozen_anew(deps, vault, clock)
    with deps.database.write() as session:
        fund.consent(
            session,
            follower.user_id,
            vault,
            address=ADDRESS,
            max_order_usdc_e6=USD,
            max_leverage_e2=100,
            rules_hash=bytes.fromhex(read[2:]),
            now=clock.now,
        )
    assert counts(deps, vault) == slow_counts(deps, vault) == (0, 0)
    follower.consent(vault)
    assert counts(deps, vault) == slow_counts(deps, vault) == (1, 0)
