"""The bound of `make bench-api` and `make bench-hall`: a FastAPI application whose routes do one
SELECT each, and nothing else.

    python -m tests.bench.bare PORT

DATABASE_URL names the database. Pool and server are set as the product's are.
"""

import os
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine, select

from api.main import BOUNDS
from core.hall.tables import HallAgent
from core.identity.tables import Account

PATH = "/bare"
QUERY = select(Account.id, Account.name).order_by(Account.id).limit(1)
HALL_PATH, HALL_ROWS = "/bare/hall", 20
HALL_QUERY = (
    select(HallAgent.agent_id, HallAgent.rank, HallAgent.days_live, HallAgent.record)
    .where(HallAgent.is_listed)
    .order_by(HallAgent.ranked.desc(), HallAgent.days_live.desc(), HallAgent.agent_id)
    .limit(HALL_ROWS)
)


def create_app(database_url: str) -> FastAPI:
    engine = create_engine(database_url, pool_size=BOUNDS.pool_size, max_overflow=BOUNDS.overflow)
    app = FastAPI()

    @app.get(PATH)
    def bare() -> dict[str, Any]:
        with engine.connect() as connection:
            row = connection.execute(QUERY).one()
            return {"id": row.id, "name": row.name}

    @app.get(HALL_PATH)
    def bare_hall() -> list[dict[str, Any]]:
        with engine.connect() as connection:
            return [dict(row._mapping) for row in connection.execute(HALL_QUERY)]

    return app


if __name__ == "__main__":
    app = create_app(os.environ["DATABASE_URL"])
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )
