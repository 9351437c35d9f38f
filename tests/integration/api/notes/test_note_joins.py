"""What a note shows of claims and of the shadow fund, from the rows that those keep."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from core.db.engine import Database
from core.market.shadow_tables import ShadowAsset
from tests.integration.api.conftest import Clock, TestClient
from tests.market_rows import MarketIds

SOURCE = "https://blog.example/post"
HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) [[BTC]] #tag **b** | `c`"


def claim(client: TestClient, agent: dict[str, str], base: str, said: str, kind: str) -> int:
    body = {"base": base, "claim": said, "source_url": SOURCE, "kind": kind}
    made = client.post("/kg/claim", json=body, headers=agent)
    assert made.status_code == 201, made.text
    return int(made.json()["claim_id"])


def verify(client: TestClient, operator: dict[str, str], id_: int) -> None:
    path = f"/admin/kg/claims/{id_}/verdict"
    done = client.post(path, json={"verdict": "verified"}, headers=operator)
    assert done.status_code == 200, done.text


def note_of(client: TestClient, token: str, headers: dict[str, str] | None = None) -> str:
    return str(client.get(f"/kg/{token}.md", headers=headers).text)


def community_of(note: str) -> list[str]:
    _, _, rest = note.partition("## Community intel\n")
    return [line for line in rest.partition("\n## ")[0].splitlines() if line]


def test_a_claim__is_in_the_note_as_no_fact__and_moves_once_an_operator_saw_its_source(
    client: TestClient,
    market: MarketIds,
    agent: dict[str, str],
    operator: dict[str, str],
    clock: Clock,
) -> None:
    id_ = claim(client, agent, "link", "It has a dog.", "project")
    assert community_of(note_of(client, "LINK")) == [
        "**Not facts.** Reported by the community and verified by nobody:",
        f"- *Unverified.* project: It has a dog. ([source](<{SOURCE}>), 2026-11-21)",
    ]
    verify(client, operator, id_)
    clock.pass_(seconds=60)  # a free note may be kept so long
    for headers in (None, agent):
        assert community_of(note_of(client, "LINK", headers)) == [
            "Verified claims, each looked up at its source:",
            f"- project: It has a dog. ([source](<{SOURCE}>), 2026-11-21)",
        ]
    assert community_of(note_of(client, "BTC")) == []


def test_a_backer__is_a_link_once_it_is_verified(
    client: TestClient,
    market: MarketIds,
    agent: dict[str, str],
    operator: dict[str, str],
    clock: Clock,
) -> None:
    id_ = claim(client, agent, "LINK", "Example Capital", "backer")
    assert "[[backer/" not in note_of(client, "LINK")
    verify(client, operator, id_)
    clock.pass_(seconds=60)
    note = note_of(client, "LINK")
    (line,) = [one for one in note.splitlines() if one.startswith("- Backer: ")]
    assert line.startswith("- Backer: [[backer/example_capital--")
    assert line.endswith("|Example Capital]]")


@pytest.mark.parametrize(("pnl_usd_e6", "told"), [(25_120_000, "25.12"), (-10_000_000, "-10")])
def test_what_the_paper_fund_made_of_a_token__is_marked_paper(
    client: TestClient,
    market: MarketIds,
    database: Database,
    clock: Clock,
    agent: dict[str, str],
    pnl_usd_e6: int,
    told: str,
) -> None:
    with database.write() as session:
        session.add(
            ShadowAsset(
                asset_id=market.assets["BTC"],
                n=3,
                hits=2,
                pnl_usd_e6=pnl_usd_e6,
                since=clock.now - timedelta(days=2),
            )
        )
    says = (
        "## Shadow-fund track record\n\nPaper trades, never real money: 3 closed since 2026-11-19, "
        f"2 with a gain, {told} USD in all.\n"
    )
    for headers in (None, agent):
        assert says in note_of(client, "BTC", headers)
    assert "Shadow-fund" not in note_of(client, "LINK")


def test_figures_that_no_chain_has__are_left_out(
    client: TestClient,
    market: MarketIds,
    database: Database,
    clock: Clock,
    agent: dict[str, str],
) -> None:
    """JSON has no infinity, so that the database writes it as a text, which no figure is made of."""
    with database.write() as session:
        session.execute(
            text("""
insert into onchain_day (asset_id, chain, day, supply, holders, top10_share, at)
values (:asset, 'eip155:1', :day, 'Infinity', 7, 'NaN', :at)
"""),
            {"asset": market.assets["LINK"], "day": clock.now.date(), "at": clock.now},
        )
        session.execute(text("update arb_observation set net_1k_bps = 'NaN'"))
    note = note_of(client, "LINK", agent)
    assert "- `eip155:1`, 2026-11-21; holders 7\n" in note
    assert "bps after fees" not in note_of(client, "BTC", agent)


def test_a_token_whose_listings_were_never_compared__has_no_count_of_gaps(
    client: TestClient, market: MarketIds, database: Database, agent: dict[str, str]
) -> None:
    """It said 0 wherever two exchanges had the ticker."""
    assert "\narb_hits_24h:" not in note_of(client, "LINK", agent)
    with database.write() as session:
        session.execute(
            text("update listing_state set strong_group = 'eip155:1:0x51' where token = 'LINK'")
        )
    assert "\narb_hits_24h: 0\n" in note_of(client, "LINK", agent)
