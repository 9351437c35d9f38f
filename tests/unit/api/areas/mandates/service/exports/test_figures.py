from api.areas.mandates.service.exports.figures import BLOCKS, WORDS, caution, figures, leaves, said
from tests.each import each
from tests.unit.api.areas.mandates.service.exports.weeks import week, whole


def test_figures__have_words_each() -> None:
    names = {name for name, _ in figures(week())} | {
        name for total in whole()["totals"].values() for name, _ in leaves(total)
    }
    assert names == set(WORDS)


def test_figures__are_every_leaf_of_every_block() -> None:
    statement = week()
    shown = {
        "period",
        "steps",
        "has_more_steps",
        "disclosures",
        "mandate_id",
        "agent_id",
        "vault_address",
        "strategy",
        "status",
        "market_mode",
    }
    assert set(statement) - shown == set(BLOCKS)
    assert dict(figures(statement))["allowed_vs_used.busiest_day.used"] == "100.010000"
    assert len(figures(statement)) == 34


@each(
    ("value", "words"),
    [
        (None, "unknown"),
        (True, "yes"),
        (False, "no"),
        ([], "none"),
        (["a", "b"], "a, b"),
        (0, "0"),
        ("-1.5", "-1.5"),
    ],
)
def test_said__unknown_is_said_and_never_zero(value: object, words: str) -> None:
    assert said(value) == words


def test_caution__names_paper_and_the_test_network_and_what_is_simulated() -> None:
    assert (
        caution("paper", 84532, is_local=True)
        == "PAPER: no money moved. Every figure follows the agent's own reports."
    )
    assert caution("testnet", 84532, is_local=True).startswith(
        "TEST NETWORK: chain id 84532, a local chain."
    )
    assert "prices of its test venue are simulated" in caution("testnet", 84532, is_local=False)
