"""Reading many vaults at one block: what a node may answer, and that nothing becomes a zero.

No socket is opened.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx

from core.chain.abi import errors_by_selector, function
from core.chain.rpc import Rpc
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UsdcE6
from keeper.observe import Observer
from keeper.views import Numbers
from tests.unit.keeper.readings import HEAD

GOOD, BAD = "0x" + "11" * 20, "0x" + "22" * 20
SELECTORS = {
    function("MandateVault", name).selector: name
    for name in ("status", "worth", "stopFloor", "worthAtCost")
}
WORTH_UNKNOWN = next(
    selector for selector, error in errors_by_selector().items() if error.name == "WorthUnknown"
)
REFUSED = {
    "error": {
        "code": 3,
        "message": "execution reverted",
        "data": WORTH_UNKNOWN + f"{5_000_000:064x}",
    }
}
ALL_GOOD = {"status": 1, "worth": 960_000_000, "stopFloor": 950_000_000}


def word(value: int) -> dict[str, Any]:
    return {"result": f"0x{value:064x}"}


def observer(
    answer: Callable[[str, str], dict[str, Any]], asked: list[Any] | None = None
) -> Observer:
    """An observer whose node answers `answer(vault, view)`."""

    def handle(request: httpx.Request) -> httpx.Response:
        bodies = json.loads(request.content)
        if isinstance(bodies, dict):
            # asked whether it answers at all
            return httpx.Response(200, json={"id": bodies["id"], "result": "0x1f4"})
        if asked is not None:
            asked.extend(bodies)
        calls = [(body, body["params"][0]) for body in bodies]
        return httpx.Response(
            200,
            json=[
                {"id": body["id"], **answer(call["to"], SELECTORS[call["data"]])}
                for body, call in calls
            ],
        )

    return Observer(
        VaultReader(Rpc(["http://node"], transport=httpx.MockTransport(handle)), {}), 84532, 10
    )


def test_numbers__all_answered__are_read() -> None:
    found = observer(lambda vault, view: word(ALL_GOOD[view])).numbers([GOOD], HEAD)
    assert found == {
        GOOD: Numbers(VaultStatus.WORKING, UsdcE6(960_000_000), UsdcE6(950_000_000), "vault.worth")
    }


def test_numbers__every_call_names_the_block_by_its_hash() -> None:
    asked: list[Any] = []
    observer(lambda vault, view: word(1), asked).numbers([GOOD, BAD], HEAD)
    assert {body["params"][1]["blockHash"] for body in asked} == {HEAD.hash}


def test_numbers__the_floor_is_asked_once_in_a_vaults_life() -> None:
    asked: list[Any] = []
    watching = observer(lambda vault, view: word(1), asked)
    watching.numbers([GOOD], HEAD)
    watching.numbers([GOOD], HEAD)
    assert [SELECTORS[body["params"][0]["data"]] for body in asked].count("stopFloor") == 1


def at_cost(answer: dict[str, Any], asked: list[Any] | None = None) -> Numbers:
    """What is read of a vault with money at unvalued targets that answers `worthAtCost` so."""
    answers = {"worth": REFUSED, "worthAtCost": answer}
    watching = observer(lambda vault, view: answers.get(view) or word(ALL_GOOD[view]), asked)
    return watching.numbers([GOOD], HEAD)[GOOD]


def test_numbers__money_at_unvalued_targets__is_counted_at_cost_and_says_so() -> None:
    found = at_cost({"result": f"0x{955_000_000:064x}{5_000_000:064x}"})
    assert found == Numbers(
        VaultStatus.WORKING, UsdcE6(955_000_000), UsdcE6(950_000_000), "vault.worth_at_cost"
    )


def test_numbers__at_cost__is_one_more_call_of_that_vault_alone_at_the_same_hash() -> None:
    asked: list[Any] = []
    two_words = {"result": f"0x{955_000_000:064x}{5_000_000:064x}"}

    def answer(vault: str, view: str) -> dict[str, Any]:
        if view == "worthAtCost":
            return two_words
        return REFUSED if (vault, view) == (BAD, "worth") else word(ALL_GOOD[view])

    observer(answer, asked).numbers([BAD, GOOD], HEAD)
    at_cost_calls = [
        body["params"] for body in asked if SELECTORS[body["params"][0]["data"]] == "worthAtCost"
    ]
    assert [(call["to"], at["blockHash"]) for call, at in at_cost_calls] == [(BAD, HEAD.hash)]


def test_numbers__a_venue_that_answers_the_same_error__stays_unknown() -> None:
    assert (at_cost(REFUSED).worth_usdc_e6, at_cost(REFUSED).source) == (None, "WorthUnknown")


def test_numbers__at_cost_without_anything_at_cost__contradicts_itself_and_is_unknown() -> None:
    found = at_cost({"result": f"0x{955_000_000:064x}{0:064x}"})
    assert (found.worth_usdc_e6, found.source) == (None, "unreadable")


def test_numbers__at_cost_in_anything_but_two_words__is_unknown() -> None:
    two = f"0x{955_000_000:064x}{5_000_000:064x}"
    for junk in (
        f"0x{955_000_000:064x}",
        "0x",
        "0xzz",
        None,
        7,
        two + f"{1:064x}",
        two + "00",
        two[:-2],
    ):
        found = at_cost({"result": junk})
        assert (found.worth_usdc_e6, found.source) == (None, "unreadable")


def test_numbers__another_error_of_worth__is_unknown_and_asks_no_second_time() -> None:
    asked: list[Any] = []
    failed = {"error": {"code": 3, "message": "execution reverted", "data": "0x12345678"}}
    found = observer(
        lambda vault, view: failed if view == "worth" else word(ALL_GOOD[view]), asked
    ).numbers([GOOD], HEAD)[GOOD]
    assert (found.worth_usdc_e6, found.source) == (None, "unreadable")
    assert "worthAtCost" not in [SELECTORS[body["params"][0]["data"]] for body in asked]


def test_numbers__an_answer_without_a_word__is_unknown_and_not_zero() -> None:
    for junk in ("0x", "0x00", "0xzz", None, 7, f"0x{1:064x}{1:064x}", f"0x{1:064x}00"):
        found = observer(lambda vault, view, junk=junk: {"result": junk}).numbers([GOOD], HEAD)[
            GOOD
        ]
        assert found == Numbers(None, None, None, "unreadable")


def test_numbers__a_status_that_the_contract_does_not_have__is_unknown() -> None:
    assert observer(lambda vault, view: word(9)).numbers([GOOD], HEAD)[GOOD].status is None


def test_numbers__one_vault_unreadable__does_not_blind_the_others() -> None:
    lagging = {"error": {"code": -32000, "message": "header not found"}}
    found = observer(lambda vault, view: lagging if vault == BAD else word(ALL_GOOD[view])).numbers(
        [BAD, GOOD], HEAD
    )
    assert found[BAD].worth_usdc_e6 is None
    assert found[GOOD].worth_usdc_e6 == 960_000_000


def test_numbers__more_vaults_than_one_batch_holds__all_are_read() -> None:
    vaults = [f"0x{n:040x}" for n in range(250)]
    found = observer(lambda vault, view: word(int(vault, 16) if view == "worth" else 1)).numbers(
        vaults, HEAD
    )
    assert [found[vault].worth_usdc_e6 for vault in vaults] == list(range(250))
