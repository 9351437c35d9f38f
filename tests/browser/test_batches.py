"""Several calls at once: one batch where the wallet makes all of them or none, else one after the other; and as a
file for a Safe.
"""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Mandate, Open, Opened, Place


def test_approve_and_create__is_one_batch_where_the_wallet_has_them(
    open_page: Open, place: Place, signed: str
) -> None:
    opened = signed_in(open_page, place, signed, batches=True)
    opened.page.get_by_role("button", name="With an allowance instead").click()
    finish(opened)
    assert opened.wallet.asked.count("wallet_sendCalls") == 1
    expect(opened.page.locator(".badge", has_text="working").first).to_be_visible()


def test_approve_and_create__is_two_transactions_elsewhere(
    open_page: Open, place: Place, signed: str
) -> None:
    opened = signed_in(open_page, place, signed)
    opened.page.get_by_role("button", name="With an allowance instead").click()
    opened.page.locator("[data-card]").first.get_by_role("button", name="Send with wallet").click()
    second = opened.page.locator("[data-card]").nth(0)
    expect(opened.page.locator("[data-card]")).to_have_count(2)
    second.get_by_role("button", name="Send with wallet").click()
    expect(opened.page.locator(".badge", has_text="working").first).to_be_visible()
    assert opened.wallet.asked.count("eth_sendTransaction") == 2


def test_stop_and_withdraw__is_one_batch(open_page: Open, place: Place, mandate: Mandate) -> None:
    opened = signed_in(open_page, place, mandate.id, batches=True)
    opened.page.get_by_role("button", name="Close all").click()
    opened.page.get_by_role("button", name="Stop and withdraw at once").click()
    finish(opened)
    expect(opened.page.locator(".badge", has_text="stopped").first).to_be_visible()


def test_safe_file__holds_all_calls_that_are_still_to_send(
    open_page: Open, place: Place, signed: str
) -> None:
    opened = signed_in(open_page, place, signed)
    opened.page.get_by_role("button", name="With an allowance instead").click()
    card = opened.page.locator("[data-card]").first
    with opened.page.expect_download() as downloading:
        card.get_by_role("button", name="Safe file").click()
    batch = json.loads(Path(downloading.value.path()).read_text())
    assert len(batch["transactions"]) == 2
    assert re.fullmatch("0x[0-9a-f]{64}", batch["meta"]["checksum"])


def signed_in(open_page: Open, place: Place, mandate_id: str, *, batches: bool = False) -> Opened:
    opened = open_page(place.wallet(batches=batches))
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate_id}")
    return opened


def finish(opened: Opened) -> None:
    card = opened.page.locator("[data-card]").first
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_have_attribute("data-phase", re.compile("mined|recorded"))
