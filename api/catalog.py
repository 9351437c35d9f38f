"""The one table of every route and tool.

Laws
- A row stands here only when its route exists; create_app refuses to start on a row without an operation and on an
  operation without a row. A route that does not exist yet is absent, never a stub (law 9).
- `/agent/catalog`, the discovery document, the next calls of refusals, OpenAPI and the tool list are generated from it.
- `key` is `<area>.<verb>`; the area is the folder in api/areas that serves it, for `tools` api/tools.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.credits.rules.prices import PRICES


class Auth(StrEnum):
    """Which credentials a route takes. Others that are sent must still be valid (decisions 64)."""

    NONE = "none"
    KEY = "key"  # X-SVC-User-Key of an agent
    OWNER = "owner"  # Authorization: Bearer, an owner's signed session
    BEARER = "bearer"  # Authorization: Bearer, the token that connect returned
    OPERATOR = "operator"
    KEY_OR_OWNER = "key or owner"
    KEY_OWNER_OR_BEARER = "key, owner or bearer"
    NONE_OR_OWNER = "none or owner"
    OPTIONAL = "optional"  # key, owner or nothing


class Family(StrEnum):
    """Which rules of refusal apply: wallet routes carry the block and `scope_denied`, core ones `agent_key_scope`."""

    CORE = "core"
    WALLET = "wallet"


class Profile(StrEnum):
    """Which tools a client is shown, by the query `profile` of /mcp; each shows all of the one before it (core spec 4.10)."""

    CONNECTOR = "connector"
    CLAW = "claw"
    FULL = "full"

    def shows(self, tool: "Tool") -> bool:
        return list(Profile).index(tool.profile) <= list(Profile).index(self)


class ToolKind(StrEnum):
    """What a tool does to its world, in the words of the specification's table."""

    READ = "read"  # changes nothing
    WRITE = "write"  # adds
    DESTRUCTIVE = "write destructive"  # replaces what stood


@dataclass(frozen=True, slots=True)
class Tool:
    """The tool that makes the same call as its row. `title`: for people. `profile`: the first one that shows it."""

    name: str
    title: str
    kind: ToolKind
    profile: Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One route. `path` has {names} that are fields of the command; {path} stands for several segments.

    `price` names the fee of a GET in core.credits.rules.prices; without one nothing is charged. `media_type` is of a plain
    success; the answer of another one than JSON is lines, or the body {"text": ...}. `also_as`: media types that the query
    `format` asks for instead.
    `block`: every refusal carries the machine-readable object; without it a core refusal is a sentence alone, but for
    401, 402 and 429 (decisions 1). `takes_body`: the command has fields that the path doesn't fill and that are required.
    `example`: a body valid as it stands, used in next calls and OpenAPI. `idempotent`: takes Idempotency-Key.
    `status`: of a plain success; `also`: others that are no refusal. `operator_too`: an owner's route that an operator's session
    takes as well. `max_age_s`: how long anyone may keep an answer that no credential was sent for (decisions 71); None: not at all.
    `more`: what the summary has no room for, in OpenAPI.
    """

    key: str
    method: str
    path: str
    auth: Auth
    section: str
    summary: str
    family: Family = Family.CORE
    scope: str | None = None
    block: bool = True
    takes_body: bool = False
    example: Mapping[str, Any] | None = None
    idempotent: bool = False
    price: str | None = None
    media_type: str = "application/json"
    also_as: tuple[str, ...] = ()
    status: int = 200
    also: tuple[int, ...] = ()
    max_age_s: int | None = None
    tool: Tool | None = None
    operator_too: bool = False
    more: str | None = None

    @property
    def area(self) -> str:
        return self.key.partition(".")[0]

    @property
    def price_credits(self) -> int:
        """0: nothing is charged."""
        return 0 if self.price is None else PRICES[self.price].credits or 0


STATEMENT_FILES = ("text/csv", "application/pdf")


def _reads(name: str, title: str) -> Tool:
    """A wallet tool that changes nothing; wallet tools are in the profile full (wallet spec 4.1)."""
    return Tool(name, title, ToolKind.READ, Profile.FULL)


def _writes(name: str, title: str) -> Tool:
    return Tool(name, title, ToolKind.WRITE, Profile.FULL)


def _wallet(key: str, method: str, path: str, auth: Auth, section: str, summary: str, **more: Any) -> Row:
    """A wallet row: GETs by key need the scope read (decisions 41), writes take an idempotency key."""
    by_key = auth in (Auth.KEY, Auth.KEY_OR_OWNER)
    more.setdefault("scope", "read" if by_key and method == "GET" else None)
    more.setdefault("idempotent", method != "GET")
    full = "/mandate-wallet" + path
    return Row(key=key, method=method, path=full, auth=auth, section=section, summary=summary, family=Family.WALLET, **more)


def _core(key: str, method: str, path: str, auth: Auth, section: str, summary: str, **more: Any) -> Row:
    return Row(key=key, method=method, path=path, auth=auth, section=section, summary=summary, **more)


_IDENTITY = (
    Row(
        key="identity.nonce",
        method="POST",
        path="/auth/wallet/nonce",
        auth=Auth.NONE,
        section="core 4.1",
        takes_body=True,
        summary="Get the message that your wallet signs: to sign in (login), register, link itself, declare a record (self) or unlink.",
    ),
    Row(
        key="identity.login",
        method="POST",
        path="/auth/owner/login",
        auth=Auth.NONE,
        section="added",
        takes_body=True,
        summary="Sign in as an owner with the signed message; the answer's bearer_token is your session.",
    ),
    Row(
        key="identity.logout",
        method="POST",
        path="/auth/owner/logout",
        auth=Auth.OWNER,
        section="added",
        operator_too=True,
        summary="End this owner session at once.",
    ),
    Row(
        key="identity.connect",
        method="POST",
        path="/auth/agent/connect",
        auth=Auth.NONE_OR_OWNER,
        section="core 4.1",
        takes_body=True,
        example={"agent_name": "my-agent"},
        tool=Tool("agent_connect", "Register an agent", ToolKind.WRITE, Profile.CONNECTOR),
        summary="Register an agent in one call; sent with an owner's session the agent is owned. Keys are shown once.",
    ),
    Row(
        key="identity.register",
        method="POST",
        path="/auth/agent/register",
        auth=Auth.NONE,
        section="core 4.1",
        takes_body=True,
        summary="Register an agent with a wallet, by the signed message of purpose register. Keys are shown once.",
    ),
    Row(
        key="identity.register_external",
        method="POST",
        path="/mining/register",
        auth=Auth.NONE,
        section="core 4.1",
        takes_body=True,
        summary="Register an agent under an id of another system, once per id. Keys are shown once.",
    ),
    Row(
        key="identity.recover",
        method="POST",
        path="/auth/agent/recover",
        auth=Auth.NONE,
        section="core 4.1",
        takes_body=True,
        summary="Replace a lost key by the recovery code: key, code and bearer_token are new, scopes and credits stay; an owner is told.",
    ),
    Row(
        key="identity.link",
        method="POST",
        path="/auth/wallet/link",
        auth=Auth.BEARER,
        section="core 4.1",
        takes_body=True,
        summary="Link a wallet to the agent's account with the signed message of purpose link.",
        more="The starter wallet of an owned agent pays it after 24 hours, or as soon as the owner confirms it.",
    ),
    Row(
        key="identity.wallet_status",
        method="GET",
        path="/auth/wallet/status",
        auth=Auth.BEARER,
        section="core 4.1",
        summary="Read whether a wallet is linked to the agent's account.",
    ),
)

_AGENTS = (
    _core(
        "agents.self_read",
        "GET",
        "/agent/self",
        Auth.KEY,
        "core 4.1",
        "Read your self-declared record, or with wallet= that of the agent with this wallet, and who signed it.",
    ),
    _core(
        "agents.self_write",
        "POST",
        "/agent/self",
        Auth.KEY,
        "core 4.1",
        "Replace your self-declared record; with your wallet's signature it is provably yours.",
        example={"persona": "A careful buyer of units.", "next_steps": ["find a mandate"]},
        idempotent=True,
    ),
    _core(
        "agents.status",
        "GET",
        "/agent/status",
        Auth.KEY,
        "core 4.1",
        "Read your verified record: contributions, credit balance, reputation, tiers.",
    ),
    _core("agents.dashboard", "GET", "/agent/dashboard", Auth.KEY, "core 4.1", "Read where your work stands, stage by stage."),
    _core("agents.scopes", "GET", "/agent/scopes", Auth.KEY, "core 4.1", "Read what your key may do, and its limits in USD."),
    _core(
        "agents.scopes_set",
        "PUT",
        "/agents/{id}/scopes",
        Auth.OWNER,
        "core 4.1",
        "Replace what your agent's key may do; scopes null is full access, an empty list none.",
        takes_body=True,
    ),
    _core(
        "agents.persona",
        "POST",
        "/agents/{id}/persona",
        Auth.OWNER,
        "core 4.1",
        "Seed your agent's persona; it stands until the agent declares its own.",
        takes_body=True,
        idempotent=True,
    ),
    _core("agents.mine", "GET", "/agents/mine", Auth.OWNER, "core 4.1", "List your agents: status, scopes, wallet, last call."),
    _core(
        "agents.rotate_key",
        "POST",
        "/agents/{id}/keys/rotate",
        Auth.OWNER,
        "added",
        "Replace all secrets of your agent: key, recovery code and connect's token; a wallet that waits is unlinked, scopes stay.",
    ),
    _core(
        "agents.undo_recovery",
        "POST",
        "/agents/{id}/recovery/undo",
        Auth.OWNER,
        "added",
        "Undo a recovery of your agent: its secrets are replaced, and the wallet that was linked since is unlinked.",
    ),
    _core(
        "agents.unlink",
        "POST",
        "/agents/{id}/wallet/unlink",
        Auth.OWNER,
        "added",
        "Unlink your agent's wallet with the signed message of purpose unlink; its secrets are replaced too.",
        takes_body=True,
    ),
    _core(
        "agents.confirm_wallet",
        "POST",
        "/agents/{id}/wallet/confirm",
        Auth.OWNER,
        "added",
        "Confirm the wallet that your agent has linked, so that its starter wallet pays it from now on.",
        takes_body=True,
    ),
)

_SAFETY = (
    _core("safety.notices", "GET", "/me/notices", Auth.KEY_OWNER_OR_BEARER, "core 4.1", "Read the account's inbox: one notice a lock."),
    _core(
        "safety.violations",
        "GET",
        "/me/violations",
        Auth.KEY_OWNER_OR_BEARER,
        "core 4.1",
        "Read the cases against the account, open and closed.",
    ),
    _core("safety.board", "GET", "/public/violations/notices", Auth.NONE, "core 4.1", "Read the public board of account locks."),
    _core("safety.defense", "GET", "/public/defense", Auth.NONE, "core 4.1", "Read the protection level and what each level does."),
    _core(
        "safety.defense_set",
        "PUT",
        "/admin/defense",
        Auth.OPERATOR,
        "added",
        "Set the protection level.",
        takes_body=True,
    ),
    _core(
        "safety.case_open",
        "POST",
        "/admin/violations",
        Auth.OPERATOR,
        "added",
        "Open a case against an agent: its account is locked, told once and shown on the public board.",
        takes_body=True,
        idempotent=True,
        status=201,
    ),
    _core("safety.case_close", "POST", "/admin/violations/{id}/close", Auth.OPERATOR, "added", "Close a case; the lock ends."),
)

_DISCOVERY = (
    Row(
        key="discovery.catalog",
        method="GET",
        path="/agent/catalog",
        auth=Auth.OPTIONAL,
        section="core 4.1",
        summary="Read every call of this service; with a key, which of them it may make.",
        max_age_s=300,
    ),
    Row(
        key="discovery.service",
        method="GET",
        path="/.well-known/service.json",
        auth=Auth.NONE,
        section="core 4.1",
        summary="Read the discovery document: capabilities, endpoints, rate limits and instructions.",
        max_age_s=300,
    ),
    Row(
        key="discovery.live",
        method="GET",
        path="/health/live",
        auth=Auth.NONE,
        section="added",
        summary="Read whether the process answers.",
    ),
    Row(
        key="discovery.ready",
        method="GET",
        path="/health/ready",
        auth=Auth.NONE,
        section="added",
        summary="Read the state of each part, with its lag; 503 while one is down.",
        also=(503,),
    ),
)

_MANDATES = (
    _wallet(
        "mandates.door",
        "GET",
        "/door",
        Auth.NONE,
        "wallet 4",
        "Read what a mandate is and how to come by one; 402, free.",
        status=402,
        more="Always 402, with X-Payable: none and without PAYMENT-REQUIRED: nothing can be paid here, and no payment is read.",
    ),
    _wallet("mandates.me", "GET", "/agents/me", Auth.KEY, "wallet 4", "Read the agent's own id, wallet and mandates."),
    _wallet(
        "mandates.offers",
        "GET",
        "/agents/{id}/offers",
        Auth.KEY,
        "wallet 4",
        "List mandates that wait for the agent.",
        tool=_reads("mandate_offers", "Mandates waiting for you"),
    ),
    _wallet(
        "mandates.policy",
        "GET",
        "/agents/{id}/policy",
        Auth.KEY_OR_OWNER,
        "added",
        "Read an agent's policy.",
        tool=_reads("agent_policy_get", "Read a policy"),
    ),
    _wallet(
        "mandates.policy_set",
        "PUT",
        "/agents/{id}/policy",
        Auth.OWNER,
        "added",
        "Replace an agent's whole policy; a body without accepts_mandates sets it to false.",
        tool=Tool("agent_policy_set", "Replace a policy", ToolKind.DESTRUCTIVE, Profile.FULL),
    ),
    _wallet(
        "mandates.list",
        "GET",
        "/mandates",
        Auth.KEY_OR_OWNER,
        "added",
        "List your mandates.",
        tool=_reads("mandate_list", "List your mandates"),
    ),
    _wallet("mandates.board", "GET", "/board", Auth.NONE, "added", "List mandates of the open board.", max_age_s=10),
    _wallet(
        "mandates.approvals",
        "GET",
        "/mandates/{id}/approvals",
        Auth.KEY_OR_OWNER,
        "added",
        "Read the reported actions above the owner's asking line.",
        tool=_reads("mandate_approvals", "Read the owner's approvals"),
    ),
    _wallet(
        "mandates.propose",
        "POST",
        "/proposals",
        Auth.KEY,
        "added",
        "Propose a draft mandate to your owner, who edits and signs it.",
        scope="tx",
        takes_body=True,
        status=201,
        tool=_writes("mandate_propose", "Propose a mandate"),
    ),
    _wallet("mandates.create", "POST", "/mandates", Auth.OWNER, "wallet 4", "Create a draft mandate.", takes_body=True, status=201),
    _wallet("mandates.update", "PUT", "/mandates/{id}", Auth.OWNER, "wallet 4", "Change a draft mandate.", takes_body=True),
    _wallet("mandates.assign", "POST", "/mandates/{id}/assign", Auth.OWNER, "wallet 4", "Name the agent of a draft.", takes_body=True),
    _wallet("mandates.terms", "GET", "/mandates/{id}/terms", Auth.OWNER, "added", "Read the typed data that the owner's wallet signs."),
    _wallet(
        "mandates.sign", "POST", "/mandates/{id}/sign", Auth.OWNER, "added", "Hand in the owner's signature of the terms.", takes_body=True
    ),
    _wallet("mandates.cancel", "POST", "/mandates/{id}/cancel", Auth.OWNER, "added", "Cancel a draft or a signed mandate without a vault."),
    _wallet("mandates.deploy_call", "GET", "/mandates/{id}/deploy-call", Auth.OWNER, "added", "Build the call that creates the vault."),
    _wallet("mandates.deposit_call", "GET", "/mandates/{id}/deposit-call", Auth.OWNER, "added", "Build the calls that fund the vault."),
    _wallet("mandates.withdraw_call", "GET", "/mandates/{id}/withdraw-call", Auth.OWNER, "added", "Build the owner's withdraw call."),
    _wallet(
        "mandates.set_agent_call",
        "GET",
        "/mandates/{id}/set-agent-call",
        Auth.OWNER,
        "added",
        "Build the call that sets or removes the vault's agent (resume and pause).",
    ),
    _wallet(
        "mandates.accept",
        "POST",
        "/mandates/{id}/accept",
        Auth.KEY,
        "wallet 4",
        "Accept a mandate that names you.",
        scope="tx",
        tool=_writes("mandate_accept", "Accept a mandate"),
    ),
    _wallet(
        "mandates.read",
        "GET",
        "/mandates/{id}",
        Auth.KEY_OR_OWNER,
        "wallet 4",
        "Read a mandate: clauses, limits, progress, lock and the newest steps.",
        tool=_reads("mandate_get", "Read a mandate"),
    ),
    _wallet("mandates.steps", "GET", "/mandates/{id}/steps", Auth.KEY_OR_OWNER, "added", "Page through the record of steps."),
    _wallet("mandates.ledger", "GET", "/mandates/{id}/ledger", Auth.KEY_OR_OWNER, "added", "Page through the raw book."),
    _wallet(
        "mandates.record",
        "GET",
        "/mandates/{id}/record",
        Auth.KEY_OR_OWNER,
        "added",
        "Download the whole book as canonical JSON lines with row hashes, to verify it against the chain.",
        media_type="application/x-ndjson",
    ),
    _wallet(
        "mandates.report_event",
        "POST",
        "/mandates/{id}/events",
        Auth.KEY,
        "wallet 4",
        "Report what you did, with the chain call's tx_hash; a rule break is stored and flagged.",
        scope="tx",
        also=(202,),
        takes_body=True,
        tool=_writes("mandate_report_event", "Report an action"),
    ),
    _wallet(
        "mandates.report_refusal",
        "POST",
        "/mandates/{id}/refusals",
        Auth.KEY,
        "wallet 4",
        "Report an attempt that was refused.",
        scope="tx",
        takes_body=True,
        tool=_writes("mandate_report_refusal", "Report a refused attempt"),
    ),
    _wallet(
        "mandates.execute_call",
        "POST",
        "/mandates/{id}/execute-call",
        Auth.KEY,
        "added",
        "Build the vault's execute call and check it; nothing is sent.",
        scope="read",
        takes_body=True,
        idempotent=False,
        tool=_reads("mandate_execute_call", "Build an execute call"),
    ),
    _wallet(
        "mandates.unwind_call",
        "POST",
        "/mandates/{id}/unwind-call",
        Auth.KEY_OR_OWNER,
        "added",
        "Build the vault's unwind call and check it; nothing is sent.",
        scope="read",
        idempotent=False,
        tool=_reads("mandate_unwind_call", "Build an unwind call"),
    ),
    _wallet(
        "mandates.stop",
        "POST",
        "/mandates/{id}/stop",
        Auth.KEY_OR_OWNER,
        "added",
        "Stop your mandate.",
        scope="tx",
        tool=_writes("mandate_stop", "Stop your mandate"),
    ),
    _wallet("mandates.stop_call", "GET", "/mandates/{id}/stop-call", Auth.OWNER, "wallet 4", "Build the owner's stop call."),
    _wallet(
        "mandates.close_all_plan", "GET", "/mandates/{id}/close-all-plan", Auth.OWNER, "wallet 4", "Read the steps that end a mandate."
    ),
    _wallet(
        "mandates.statement",
        "GET",
        "/mandates/{id}/statement",
        Auth.OWNER,
        "wallet 4",
        "Read a week's statement, or download it as CSV or PDF (format).",
        also_as=STATEMENT_FILES,
    ),
    _wallet(
        "mandates.alerts",
        "GET",
        "/me/alerts",
        Auth.OWNER,
        "wallet 6.4",
        "Read alerts: keeper or roles changed, public stop off, an agent recovered or a wallet linked to it.",
    ),
    _wallet(
        "mandates.statement_all",
        "GET",
        "/me/statement",
        Auth.OWNER,
        "wallet 4",
        "Read the week's statement of all mandates, or download it as CSV or PDF (format).",
        also_as=STATEMENT_FILES,
    ),
)

_TRANSFERS = (
    _wallet(
        "transfers.balances",
        "GET",
        "/agents/{id}/balances",
        Auth.KEY_OR_OWNER,
        "added",
        "Read an agent's balances in their four states.",
        tool=_reads("agent_balances", "Read balances"),
    ),
    _wallet(
        "transfers.report",
        "POST",
        "/transfers/report",
        Auth.KEY,
        "wallet 4",
        "Report a transfer of your own wallet; the chain confirms it or fails it.",
        scope="tx",
        takes_body=True,
        tool=_writes("transfer_report", "Report a transfer"),
    ),
)

_TOOLS = (
    Row(
        key="tools.endpoint",
        method="POST",
        path="/mcp",
        auth=Auth.OPTIONAL,
        section="core 4.10",
        summary="Call the tools of this service (MCP, Streamable HTTP); profile selects which are shown.",
    ),
    Row(
        key="tools.help",
        method="GET",
        path="/mcp",
        auth=Auth.NONE,
        section="core 4.10",
        summary="Read how to connect a client to the tools; a page for people.",
    ),
)

_CUSTODY = (
    Row(
        key="custody.provision",
        method="POST",
        path="/agent/wallet/provision",
        auth=Auth.KEY,
        section="core 4.1",
        scope="tx",
        idempotent=True,
        summary="Get your custodial starter wallet; the first call makes it, the next ones answer the same address.",
    ),
    Row(
        key="custody.transfer",
        method="POST",
        path="/agent/wallet/transfer-to-self-custody",
        auth=Auth.KEY,
        section="core 4.1",
        scope="tx",
        idempotent=True,
        status=202,
        summary="Move USDC of your starter wallet to your linked wallet; amount_usdc null moves all. The service pays the gas.",
    ),
    Row(
        key="custody.transfers",
        method="GET",
        path="/agent/wallet/transfers",
        auth=Auth.KEY,
        section="added",
        scope="read",
        summary="Read your starter wallet's balance and what became of its transfers.",
    ),
)

_CREDITS = (
    Row(
        key="credits.balance",
        method="GET",
        path="/credits/balance",
        auth=Auth.KEY,
        section="core 4.2",
        block=False,
        summary="Read your credits by bucket, what you owe, and today's free reads.",
    ),
    Row(
        key="credits.ledger",
        method="GET",
        path="/credits/ledger",
        auth=Auth.KEY,
        section="core 4.2",
        block=False,
        summary="Page through every posting of your credits, newest first.",
    ),
    Row(
        key="credits.prices",
        method="GET",
        path="/prices",
        auth=Auth.NONE,
        section="core 4.2",
        block=False,
        max_age_s=60,
        summary="Read every fee, in credits and USDC, whether it is charged today, and the limits.",
    ),
)

_PLAYBOOKS = (
    Row(
        key="playbooks.index",
        method="GET",
        path="/playbook",
        auth=Auth.NONE,
        section="core 4.7",
        max_age_s=300,
        media_type="text/markdown",
        summary="Read the index of the guides.",
    ),
    Row(
        key="playbooks.atom",
        method="GET",
        path="/playbook/{atom_id}",
        auth=Auth.NONE,
        section="core 4.7",
        max_age_s=300,
        media_type="text/markdown",
        summary="Read one short guide.",
    ),
    Row(
        key="playbooks.read",
        method="GET",
        path="/playbooks/{pb}/{path}",
        auth=Auth.OPTIONAL,
        section="core 4.7",
        scope="read",
        idempotent=True,
        price="playbook_read",
        media_type="text/markdown",
        summary="Read a page of a playbook: a free read of yours, 1 credit, or 0.010000 USDC by x402.",
    ),
)

CATALOG: tuple[Row, ...] = _IDENTITY + _AGENTS + _SAFETY + _DISCOVERY + _MANDATES + _TRANSFERS + _CUSTODY + _CREDITS + _PLAYBOOKS + _TOOLS
ROWS: Mapping[str, Row] = {row.key: row for row in CATALOG}


def rows_by_tool(profile: Profile) -> Mapping[str, Row]:
    """The rows whose tools this profile shows, by the tool's name."""
    return {row.tool.name: row for row in CATALOG if row.tool is not None and profile.shows(row.tool)}
