"""Reading many vaults at one block: what a node may answer, and that nothing becomes a zero.

No socket is opened.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx

from core.chain.abi import function
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UsdcE6
from keeper.observe import Observer
from keeper.views import Numbers
from tests.unit.keeper.readings import HEAD

GOOD, BAD = "0x" + "11" * 20, "0x" + "22" * 20
SELECTORS = {
    function("MandateVault", name).selector: name for name in ("status", "worth", "stopFloor")
}
ALL_GOOD = {"status": (1,), "worth": (960_000_000, 0), "stopFloor": (950_000_000,)}


def words(*values: int) -> dict[str, Any]:
    return {"result": "0x" + "".join(f"{value:064x}" for value in values)}


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
        VaultReader(Nodes(["http://node"], transport=httpx.MockTransport(handle)), {}), 84532, 10
    )


def test_numbers__all_answered__are_read() -> None:
    found = observer(lambda vault, view: words(*ALL_GOOD[view])).numbers([GOOD], HEAD)
    assert found == {
        GOOD: Numbers(VaultStatus.WORKING, UsdcE6(960_000_000), UsdcE6(950_000_000), "vault.worth")
    }


def test_numbers__every_call_names_the_block_by_its_hash() -> None:
    asked: list[Any] = []
    observer(lambda vault, view: words(1), asked).numbers([GOOD, BAD], HEAD)
    assert {body["params"][1]["blockHash"] for body in asked} == {HEAD.hash}


def test_numbers__the_floor_is_asked_once_in_a_vaults_life() -> None:
    asked: list[Any] = []
    watching = observer(lambda vault, view: words(1), asked)
    watching.numbers([GOOD], HEAD)
    watching.numbers([GOOD], HEAD)
    assert [SELECTORS[body["params"][0]["data"]] for body in asked].count("stopFloor") == 1


def measured(answer: dict[str, Any]) -> Numbers:
    """What is read of a vault that answers `worth` so."""
    watching = observer(lambda vault, view: answer if view == "worth" else words(*ALL_GOOD[view]))
    return watching.numbers([GOOD], HEAD)[GOOD]


def test_numbers__money_at_unvalued_targets__is_counted_at_cost_and_says_so() -> None:
    assert measured(words(955_000_000, 5_000_000)) == Numbers(
        VaultStatus.WORKING, UsdcE6(955_000_000), UsdcE6(950_000_000), "vault.worth_at_cost"
    )


def test_numbers__a_worth_in_anything_but_two_words__is_unknown() -> None:
    two = f"0x{955_000_000:064x}{5_000_000:064x}"
    for junk in (two[:66], "0x", "0xzz", None, 7, two + f"{1:064x}", two + "00", two[:-2]):
        found = measured({"result": junk})
        assert (found.worth_usdc_e6, found.source) == (None, "unreadable")


def test_numbers__a_worth_or_part_beyond_all_usdc__is_out_of_range() -> None:
    for answer in (words(2**255, 0), words(5, 2**255)):
        assert (measured(answer).worth_usdc_e6, measured(answer).source) == (None, "out_of_range")


def test_numbers__an_adapter_that_reverts__is_unknown() -> None:
    failed = {"error": {"code": 3, "message": "execution reverted", "data": "0x12345678"}}
    assert (measured(failed).worth_usdc_e6, measured(failed).source) == (None, "unreadable")


def test_numbers__an_answer_without_a_word__is_unknown_and_not_zero() -> None:
    for junk in ("0x", "0x00", "0xzz", None, 7, "0x" + f"{1:064x}" * 3, f"0x{1:064x}00"):
        found = observer(lambda vault, view, junk=junk: {"result": junk}).numbers([GOOD], HEAD)[
            GOOD
        ]
        assert found == Numbers(None, None, None, "unreadable")


def test_numbers__a_status_that_the_contract_does_not_have__is_unknown() -> None:
    assert observer(lambda vault, view: words(9)).numbers([GOOD], HEAD)[GOOD].status is None


def test_numbers__one_vault_unreadable__does_not_blind_the_others() -> None:
    lagging = {"error": {"code": -32000, "message": "header not found"}}
    found = observer(
        lambda vault, view: lagging if vault == BAD else words(*ALL_GOOD[view])
    ).numbers([BAD, GOOD], HEAD)
    assert found[BAD].worth_usdc_e6 is None
    assert found[GOOD].worth_usdc_e6 == 960_000_000


def test_numbers__more_vaults_than_one_batch_holds__all_are_read() -> None:
    vaults = [f"0x{n:040x}" for n in range(250)]
    found = observer(
        lambda vault, view: words(int(vault, 16), 0) if view == "worth" else words(1)
    ).numbers(vaults, HEAD)
    assert [found[vault].worth_usdc_e6 for vault in vaults] == list(range(250))
