"""Check this record: the hash chain and its transactions, at the node of the visitor's own wallet."""

from playwright.sync_api import Route, expect

from tests.browser.conftest import Mandate, Open, Opened, Place


def test_a_record__of_the_service__agrees_with_the_chain(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = checking(open_page, place, mandate)
    expect(opened.page.locator("[data-verdict]")).to_have_attribute("data-verdict", "agrees")
    assert "eth_getTransactionReceipt" in opened.wallet.asked
    expect(opened.page.locator("[data-check] pre")).to_contain_text(
        f"verify-record {mandate.id}.ndjson"
    )
    assert opened.errors == []


def test_a_record__with_another_amount__differs(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    def tamper(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(
            response=answer,
            body=answer.text().replace('"amount_usdc":"500.000000"', '"amount_usdc":"400.000000"'),
        )

    opened = checking(open_page, place, mandate, tamper)
    expect(opened.page.locator("[data-verdict]")).to_have_attribute("data-verdict", "different")
    expect(opened.page.get_by_text("row_hash is not the hash").first).to_be_visible()


def test_cancel__ends_a_check_whose_record_never_comes(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = begun(open_page, place, mandate, lambda route: None)
    opened.page.get_by_role("button", name="Cancel", exact=True).click()
    check = opened.page.get_by_role("button", name="Check", exact=True)
    expect(check).to_be_visible(timeout=5_000)
    expect(opened.page.locator("[data-check] [role=status]")).to_have_count(0)


def checking(open_page: Open, place: Place, mandate: Mandate, tamper=None) -> Opened:  # type: ignore[no-untyped-def]
    opened = begun(open_page, place, mandate, tamper)
    opened.page.locator("[data-verdict]").wait_for()
    return opened


def begun(open_page: Open, place: Place, mandate: Mandate, tamper=None) -> Opened:  # type: ignore[no-untyped-def]
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    if tamper is not None:
        opened.page.route("**/record", tamper)
    opened.go(f"mandates/{mandate.id}/record")
    opened.page.get_by_role("button", name="Check", exact=True).click()
    return opened
