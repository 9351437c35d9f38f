"""One complete loop, register, mine, review, paid: by the Python client, and by tools."""

from tests.integration.api.conftest import connect
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, Mine, key


def test_a_status__counts_verified_work_as_the_strip_and_earnings_do(mine: Mine) -> None:
    miner, observer = (connect(mine.client, agent_name=name) for name in ("miner", "observer"))
    made = mine.submit(miner, CHAIN, CONTRACT)
    mine.re_observe(observer, made["entries"][0]["task_id"])
    mine.approve(made, 0)
    shown = {}
    for agent in (miner, observer):
        status = mine.client.get("/agent/status", headers=key(agent)).json()
        earned = mine.client.get("/earn/me", headers=key(agent)).json()["total"]
        path = f"/mandate-wallet/agents/{agent['user_id']}/record"
        strip = mine.client.get(path).json()
        done = status["contributions"]
        assert done["points"] == earned["points"]
        assert strip["work"] == {
            "verified_task_claims": done["task_claims"],
            "finalized_kg_claims": done["mining_submissions"],
        }
        assert status["reputation"] == strip["ladder"]
        assert status["tiers"]["standing"] == strip["posting_tier"]["tier"] == "none"
        shown[status["agent_name"]] = (
            done["mining_submissions"],
            done["task_claims"],
            done["points"],
        )
    assert shown == {"miner": (1, 0, "2.0"), "observer": (0, 1, "3.0")}
