"""Settings of the database, and of what stands before it (docs/operations/cluster.md)."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from core.db.replicas import ReplicaPlace
from core.environment import optional
from core.limits import count

DRIVER = "postgresql+psycopg"


def _database_url(text: str) -> str:
    try:
        is_ours = make_url(text).drivername == DRIVER
    except (ArgumentError, ValueError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"write {DRIVER}://user:password@host:port/database")
    return text


DatabaseUrl = Annotated[str, AfterValidator(_database_url)]


class DatabaseSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Database
    database_url: DatabaseUrl = Field(
        description="postgresql+psycopg://... of Postgres 15 or newer"
    )
    database_pooled_url: DatabaseUrl | None = optional(
        "the same database through PgBouncer (pool_mode transaction), for the API's short "
        "transactions; none: they use DATABASE_URL"
    )
    database_read_url: DatabaseUrl | None = optional(
        "replicas that answer the API's reads as soon as they have all that was "
        "committed; none: the primary answers"
    )
    database_read_wait_ms: int = count(
        50, "milliseconds that a read waits for a replica, then the primary answers it", 0, 1_000
    )
    database_read_lag_s: int = count(
        30, "seconds behind from which a replica is said to be in trouble", 1, 86_400
    )

    def replica(self) -> ReplicaPlace | None:
        """None: there is none."""
        if self.database_read_url is None:
            return None
        return ReplicaPlace(
            self.database_read_url, self.database_read_wait_ms / 1000, self.database_read_lag_s
        )
