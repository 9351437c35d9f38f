"""The operations of the area discovery: what this service offers, and whether it is up."""

from api.areas.discovery import schemas
from api.areas.discovery.service import document, health
from api.kernel.auth import ANYBODY, ANYBODY_OR_KEY_OR_OWNER
from api.kernel.operation import Area, NoInput, Read

AREA = Area(
    name="discovery",
    about="What this service offers, and whether it is up.",
    operations=(
        Read(
            key="discovery.catalog",
            path="/agent/catalog",
            auth=ANYBODY_OR_KEY_OR_OWNER,
            summary="Read every call of this service; with a key, which of them it may make.",
            command=NoInput,
            answer=schemas.CatalogAnswer,
            handler=document.catalog,
            max_age_s=300,
            keeps=True,
        ),
        Read(
            key="discovery.service",
            path="/.well-known/service.json",
            auth=ANYBODY,
            summary="Read the discovery document: capabilities, endpoints, rate limits and "
            "instructions.",
            command=NoInput,
            answer=schemas.ServiceDocument,
            handler=document.service,
            max_age_s=300,
            keeps=True,
        ),
        Read(
            key="discovery.live",
            path="/health/live",
            auth=ANYBODY,
            summary="Read whether the process answers.",
            command=NoInput,
            answer=schemas.Live,
            handler=health.live,
            asks_nothing=True,
        ),
        Read(
            key="discovery.ready",
            path="/health/ready",
            auth=ANYBODY,
            summary="Read the state of each part, with its lag; 503 while one is down.",
            command=NoInput,
            answer=schemas.Ready,
            handler=health.ready,
            also=(503,),
            max_age_s=1,
            keeps=True,
        ),
    ),
)
