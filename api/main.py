"""The API process: `python -m api.main`. Reads settings, builds the parts, serves; nothing else."""

import argparse
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import structlog
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol
from x402.http.facilitator_client import HTTPFacilitatorClientSync
from x402.http.facilitator_client_base import FacilitatorConfig

from api.areas.discovery.service.document import NAME, VERSION
from api.catalogue import catalogue
from api.kernel import console, docs_page
from api.kernel.catalogue import Catalogue
from api.kernel.cors import Cors
from api.kernel.etag import ConditionalRequests
from api.kernel.http import Envelope, Shared, refusal_handlers, without_slash
from api.kernel.kept_answers import KeptAnswers
from api.kernel.limits import Limits
from api.kernel.metrics import ApiMetrics
from api.kernel.openapi import document
from api.kernel.operation import Access, Deps, Operation, Parts
from api.kernel.route import routes_of
from api.kernel.streams import Streams, StreamTimes, most_open
from api.kernel.tokens import token_hash
from api.kernel.workers import THREADS
from api.local_stack import OPERATIONS, LocalStack, local_stack
from api.payments.figures import SettlerGas
from api.payments.own_settler import OwnSettler
from api.payments.payment_config import GasBudget, PaymentConfig, Settler
from api.shared.signers import OwnSigners
from api.tables import import_tables
from api.tools.endpoint import PATH, route_of
from api.tools.openapi import paths
from api.tools.registry import entries_of
from core.chain.nodes import Nodes
from core.chain.signer import LocalKeySigner, local_signer
from core.custody.keys import KeyMaker, KeyRing
from core.custody.seals import log_unknown_at_start
from core.db.engine import Bounds, Database
from core.errors import InvalidParameterError
from core.fund.accounts import FundSetup, NoAccounts, SimulatedAccounts
from core.house import House
from core.identity.queries import set_operator_key
from core.mandate.chain.lens import LENS
from core.mandate.chain.reader import VaultReader
from core.perps.hyperliquid_desk import operator_desk
from core.perps.rules.leg import perps_terms
from core.perps_settings import PerpsSettings
from core.settings import Settings
from core.sponsored.kept_gas import KeptReadings
from core.sponsored.prices import EthPrices, EthSource
from core.startup import read_settings, refusals

MIN_PEPPER_CHARACTERS = 32
LOOPBACK = ("127.0.0.1", "localhost", "::1")
FACILITATOR_S = 30  # what is not known by then is read from the chain when the payment comes again
# As many connections as threads: no call waits for one while another rests, and none is closed only
# to be opened again.
BOUNDS = Bounds(pool_size=THREADS, overflow=0, trust_s=1)
# for how long a thread that computes keeps the others from going on: Python's own is 5 ms; with 1 ms
# a call beside a large body took half as long again
SWITCH_S = 0.0003
KEEP_ALIVE_S = (
    75  # longer than load balancers keep theirs (60 s), so that none sends a call into a close
)
HEAD_BYTES = 20 * 1024  # of the proxy's 16 KiB, and what it adds
GRACE_S = 10  # what an answer under way gets when the process is asked to end

log = structlog.get_logger("api")


def create_app(deps: Deps) -> FastAPI:
    """The whole application, of the catalogue in `deps`. `state.streams` are its streams."""
    times = deps.parts.of(StreamTimes)
    streams = Streams(deps.database, deps.workers.calls, deps.clock, deps.limits, times)
    deps = deps.with_part(Streams, streams)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        streams.end()
        await streams.wait_ended()
        deps.workers.shutdown()
        deps.database.close()

    app = FastAPI(
        title=NAME,
        version=VERSION,
        openapi_url=None,  # written once, not for each who asks (api/kernel/docs_page.py)
        redirect_slashes=False,
        exception_handlers=refusal_handlers(deps),
        lifespan=lifespan,
    )
    app.state.streams, app.state.shared = streams, Shared(deps, KeptAnswers(deps.clock))
    app.router.default = without_slash(app.router)
    local = deps.parts.find(LocalStack)
    described = cache(lambda: api_document(deps.catalogue, deps.base_url))
    app.router.routes.extend(
        [
            route_of(deps),
            *routes_of(routed(deps.catalogue)),
            *docs_page.routes_of(described, NAME),
            *routes_of(() if local is None else OPERATIONS),
            *console.routes_of(None if local is None else local.rpc_url),
        ]
    )
    app.openapi = described  # type: ignore[method-assign]  # FastAPI's documented hook
    app.add_middleware(Cors, deps=deps)
    app.add_middleware(ConditionalRequests)
    app.add_middleware(Envelope, deps=deps)
    app.add_middleware(
        ProxyHeadersMiddleware, trusted_hosts=list(deps.parts.of(Access).trusted_proxies)
    )
    return app


def routed(catalogue: Catalogue) -> tuple[Operation, ...]:
    """The operations that are routes of their own; the tool endpoint serves its two itself."""
    return tuple(operation for operation in catalogue.operations if operation.path != PATH)


def api_document(catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """OpenAPI of the routes, and of the tool endpoint as far as OpenAPI can say it."""
    found = document(routes_of(routed(catalogue)), catalogue, NAME, VERSION, base_url)
    found["paths"] |= paths(catalogue)
    return found


def deps_of(settings: Settings) -> Deps:
    """Errors: InvalidParameterError that names the variable and says what to write."""
    deployment = settings.deployment(LENS)
    custody_keys = settings.custody_keys()
    database = Database(
        settings.database_url,
        application_name="api",
        bounds=BOUNDS,
        pooled_url=settings.database_pooled_url,
        replica=settings.replica(),
    )
    chain = VaultReader(
        Nodes(settings.rpc_urls, calls_per_s=settings.rpc_requests_per_s), deployment.contracts
    )
    payment_config, local = _payment_config(settings, chain), is_local(settings)
    return Deps(
        catalogue=catalogue(),
        database=database,
        metrics=_metrics(database, payment_config),
        chain=chain,
        chain_id=settings.chain_id,
        base_url=settings.base_url.rstrip("/"),
        contracts=deployment.contracts,
        pepper=_pepper(settings),
        clock=_now,
        limits=Limits.model_validate(settings, from_attributes=True),
        parts=Parts(
            Access(
                frozenset(address.lower() for address in settings.operator_addresses),
                tuple(settings.trusted_proxies),
                is_local=local,
            ),
            House.model_validate(settings, from_attributes=True),
            payment_config,
            KeyMaker(KeyRing(custody_keys)) if custody_keys else None,
            OwnSigners(own_signer(settings, "GUARD")),
            perps_terms(settings.hl_url, settings.hl_exit_allowance_bps),
            operator_desk(PerpsSettings.model_validate(settings, from_attributes=True)),
            KeptReadings(
                eth_price=EthPrices(
                    settings.gas_eth_usd, EthSource(settings.gas_eth_source), is_local=local
                )
            ),
            FundSetup(
                SimulatedAccounts(chain) if local else NoAccounts(), settings.fund_credit_bonds
            ),
            local_stack(chain, settings.rpc_urls[0]) if local and settings.local_stack else None,
        ),
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _metrics(database: Database, payment_config: PaymentConfig | None) -> ApiMetrics:
    metrics = ApiMetrics(database)
    if payment_config is not None and payment_config.gas is not None:
        metrics.registry.register(SettlerGas(database, payment_config.gas, _now))
    return metrics


def _payment_config(settings: Settings, chain: VaultReader) -> PaymentConfig | None:
    """None: no payee is named. Errors: InvalidParameterError."""
    if settings.x402_pay_to is None:
        return None
    network = f"eip155:{settings.chain_id}"
    settler, gas = _settler(settings, chain, network)
    return PaymentConfig(
        settler=settler,
        network=network,
        asset=chain.contracts["usdc"],
        pay_to=settings.x402_pay_to,
        gas=gas,
    )


def _settler(
    settings: Settings, chain: VaultReader, network: str
) -> tuple[Settler, GasBudget | None]:
    """The facilitator behind a URL, or one in this process with a key of ours and a budget for its
    gas. Errors: InvalidParameterError.
    """
    if settings.x402_facilitator_url is not None:
        config = FacilitatorConfig(
            url=settings.x402_facilitator_url.rstrip("/"), timeout=FACILITATOR_S
        )
        return HTTPFacilitatorClientSync(config), None
    gas = GasBudget(
        wei_per_usdc=settings.x402_gas_wei_per_usdc,
        wei_per_day=settings.x402_gas_wei_per_day,
        contract_wei_per_day=settings.x402_contract_gas_wei_per_day,
    )
    return OwnSettler(_settle_signer(settings), chain, network, gas), gas


def _settle_signer(settings: Settings) -> LocalKeySigner:
    """Errors: InvalidParameterError."""
    signer = own_signer(settings, "X402_SETTLE")
    if signer is None:
        rule = (
            "name who settles: X402_FACILITATOR_URL, or X402_SETTLE_KEYSTORE and "
            "X402_SETTLE_KEYSTORE_PASSWORD_FILE"
        )
        raise InvalidParameterError("X402_PAY_TO", f"payments need more than a payee; {rule}")
    return signer


def own_signer(settings: Settings, prefix: str) -> LocalKeySigner | None:
    """By the settings that begin with GUARD or X402_SETTLE; None: no key is set.

    Errors: InvalidParameterError, also for a key in plain off a local chain.
    """
    name = prefix.lower()
    plain = getattr(settings, f"{name}_private_key")
    if plain is not None and not is_local(settings):
        raise InvalidParameterError(
            f"{prefix}_PRIVATE_KEY", f"it is for a local chain only; use {prefix}_KEYSTORE"
        )
    return local_signer(
        prefix,
        plain,
        getattr(settings, f"{name}_keystore"),
        getattr(settings, f"{name}_keystore_password_file"),
    )


def is_local(settings: Settings) -> bool:
    """Whether every node runs on this machine."""
    return all(urlsplit(url).hostname in LOOPBACK for url in settings.rpc_urls)


def _pepper(settings: Settings) -> bytes:
    pepper = settings.key_pepper.get_secret_value()
    if len(pepper) < MIN_PEPPER_CHARACTERS:
        rule = (
            f"set a secret of at least {MIN_PEPPER_CHARACTERS} characters (`openssl rand "
            "-hex 32`) and keep it: changing it voids every key"
        )
        raise InvalidParameterError("KEY_PEPPER", rule)
    return pepper.encode()


def admit_operator(settings: Settings, deps: Deps) -> None:
    """The operator's key is the one that is set now, and no other.

    Errors: InvalidParameterError off a local chain.
    """
    key = settings.operator_key
    if key is not None and not is_local(settings):
        raise InvalidParameterError(
            "OPERATOR_KEY",
            "it is for a local chain only; name operators' wallets in OPERATOR_ADDRESSES instead",
        )
    key_hash = None if key is None else token_hash(deps.pepper, key.get_secret_value())
    try:
        with deps.database.write() as session:
            set_operator_key(session, key_hash, deps.clock())
    except SQLAlchemyError as error:
        log.warning("operator key not set", error=type(error).__name__)


def listen(host: str, port: int) -> socket.socket:
    """Errors: InvalidParameterError when the port is taken."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidParameterError(
            "HOST", f"{host} is not an address of this machine ({error.strerror})"
        ) from error
    try:
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise InvalidParameterError(
            "PORT",
            f"cannot listen on {host}:{port} ({error.strerror}); set PORT to a free one",
        ) from error


class Protocol(H11Protocol):
    """uvicorn's holds what a connection that was reset sent last for KEEP_ALIVE_S more, and HAProxy resets
    each that rests.
    """

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(None)


def server_of(app: ASGIApp, grace_s: int = GRACE_S) -> Server:
    """The server of one process. What strangers send is bounded by the proxy before it
    (docs/operations/haproxy.cfg): here is what holds without one.
    """
    return Server(
        Config(
            app,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # create_app reads them
            limit_concurrency=most_open(),
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=grace_s,
        )
    )


def main() -> None:
    argparse.ArgumentParser(
        prog="python -m api.main",
        description="Serve the API until SIGTERM. It takes no arguments: settings come from the "
        "environment (docs/operations.md#settings).",
    ).parse_args()
    # uvicorn ends gracefully and then raises the signal again; this makes that a clean exit.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    import_tables()
    settings = read_settings()
    with refusals():
        deps = deps_of(settings)
        admit_operator(settings, deps)
        log_unknown_at_start(deps.database, settings.custody_keys())
        listener = listen(settings.host, settings.port)
        if settings.api_metrics_port:
            deps.metrics.listen(settings.host, settings.api_metrics_port)
    server = server_of(create_app(deps))
    entries_of(deps.catalogue)  # read once, and not by the first who asks for a tool
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()  # what exists from the start is not looked through while calls make garbage
    if settings.host not in LOOPBACK:
        log.warning("the API listens beyond this machine", host=settings.host)
    log.info("serving", base_url=settings.base_url, host=settings.host, port=settings.port)
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
