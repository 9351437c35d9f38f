"""The operations of the area discovery: what this service offers, and whether it is up."""

from api.areas.discovery.service import document, health, overview
from api.kernel.auth import ANYBODY, ANYBODY_OR_KEY_OR_OWNER
from api.kernel.operation import Area, CachePolicy, CallBounds, Read

AREA = Area(
    name="discovery",
    about="What this service offers, and whether it is up.",
    operations=(
        Read(
            key="discovery.catalog",
            path="/agent/catalog",
            auth=ANYBODY_OR_KEY_OR_OWNER,
            summary="Read every call of this service; with a key, which of them it may make.",
            handler=document.catalog,
            cache=CachePolicy(300, keeps=True),
        ),
        Read(
            key="discovery.service",
            path="/.well-known/service.json",
            auth=ANYBODY,
            summary="Read the discovery document: capabilities, endpoints, rate limits and "
            "instructions.",
            handler=document.service,
            cache=CachePolicy(300, keeps=True),
        ),
        Read(
            key="discovery.overview",
            path="/overview",
            auth=ANYBODY,
            summary="Read how many mandates are working, what their vaults hold and how many "
            "attempts were refused.",
            handler=overview.overview,
            cache=CachePolicy(60, keeps=True),
        ),
        Read(
            key="discovery.live",
            path="/health/live",
            auth=ANYBODY,
            summary="Read whether the process answers.",
            handler=health.live,
            bounds=CallBounds(asks_nothing=True),
        ),
        Read(
            key="discovery.ready",
            path="/health/ready",
            auth=ANYBODY,
            summary="Read the state of each part, with its lag; 503 while one is down.",
            handler=health.ready,
            statuses=(200, 503),
            cache=CachePolicy(1, keeps=True),
        ),
    ),
)
