"""Binds the rows discovery.* of the catalogue to their services."""

from api.areas.discovery import health, schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("discovery.catalog", NoInput, service.catalog, schemas.CatalogAnswer),
    Operation("discovery.service", NoInput, service.service, schemas.Discovery),
    Operation("discovery.live", NoInput, health.live, schemas.Live),
    Operation("discovery.ready", NoInput, health.ready, schemas.Ready),
)
