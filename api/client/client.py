"""The client: every call of the service by area, credentials, repetition, payment.

    with Client("http://127.0.0.1:8000") as client:
        agent = client.connect("my-agent")
        agent.mandates.offers(agent.user_id)

Each call sends the one credential that its route takes. A refused call raises Refused. Not for
sharing between threads while credentials change; calls themselves may run side by side.
"""

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx

from api.client.authoring import SIGNED_PATHS, RowSigner
from api.client.following import FollowedEvents
from api.client.operations import (
    AgentsRotated,
    Areas,
    IdentityConnected,
    IdentityLoggedIn,
    IdentityWalletStatus,
    MandatesOneMandate,
)
from api.client.payments import REQUEST_HEADER, RESPONSE_HEADER, Payer, WontPay
from api.client.refusal import IDEMPOTENCY_HEADER, NotPaid, Refused, body_of
from api.client.signing import account_of, sign_text, sign_typed_data
from api.client.transport import Request, Retries, Transport

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount

KEY_HEADER = "X-SVC-User-Key"
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")


class Client(Areas):
    """`key` is an agent's or operator's, `session` an owner's, `bearer` the token of connect; each
    may be set later.

    `signer` signs the rows of the record that this client writes; sign_in and link_wallet set it.
    `payer` pays for calls that ask for it; without one they raise Refused with `is_payable`.
    `over`: another way to carry the calls than the network, which tests use.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        session: str | None = None,
        payer: Payer | None = None,
        timeout_s: float = 30,
        *,
        bearer: str | None = None,
        retries: Retries | None = None,
        over: httpx.BaseTransport | None = None,
        signer: "LocalAccount | str | None" = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.key, self.session, self.bearer, self.payer = key, session, bearer, payer
        self.registered: IdentityConnected | None = None
        self._timeout_s, self._over = timeout_s, over
        self._rows = None if signer is None else RowSigner(account_of(signer))
        self._transport = Transport(self.base_url, timeout_s, retries or Retries(), over)
        super().__init__(self._call, self._follow)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # Who calls

    @property
    def user_id(self) -> str:
        """The agent's id as mandates name it.

        Errors: ValueError when this client has not registered the agent.
        """
        if self.registered is None:
            raise ValueError(
                "this client did not register its agent; read the id with mandates.me()"
            )
        return str(self.registered["user_id"])

    def sign_in(self, wallet: "LocalAccount | str") -> IdentityLoggedIn:
        """Become an owner: ask for a message, sign it as it is, hand it in.

        The session stays in this client.
        """
        account = account_of(wallet)
        nonce = self.identity.nonce(wallet_address=str(account.address), purpose="login")
        found = self.identity.login(
            message=nonce["message"], signature=sign_text(account, nonce["message"])
        )
        self.session = found["bearer_token"]
        self._rows = RowSigner(account)
        return found

    def connect(self, agent_name: str) -> "Client":
        """Register an agent; answers its client, to be closed on its own.

        Its keys are shown once, in `registered`: keep them.

        With a session in this client the agent is the owner's.
        """
        found = self.identity.connect(agent_name=agent_name)
        agent = Client(
            self.base_url,
            found["api_key"],
            payer=self.payer,
            timeout_s=self._timeout_s,
            bearer=found["bearer_token"],
            retries=self._transport.retries,
            over=self._over,
        )
        agent.registered = found
        return agent

    def link_wallet(self, wallet: "LocalAccount | str") -> IdentityWalletStatus:
        """Link the agent's wallet to its account; needs the `bearer` of connect."""
        account = account_of(wallet)
        nonce = self.identity.nonce(wallet_address=str(account.address), purpose="link")
        found = self.identity.link(
            wallet_address=str(account.address), signature=sign_text(account, nonce["message"])
        )
        self._rows = RowSigner(account)
        return found

    def unlink_wallet(self, agent_id: int, wallet: "LocalAccount | str") -> AgentsRotated:
        """As its owner, unlink the wallet of an agent; `wallet` is the owner's own, which signs it.

        Its secrets are replaced.
        """
        account = account_of(wallet)
        nonce = self.identity.nonce(
            wallet_address=str(account.address), purpose="unlink", agent_id=agent_id
        )
        return self.agents.unlink(agent_id, signature=sign_text(account, nonce["message"]))

    def sign_terms(self, mandate_id: str, wallet: "LocalAccount | str") -> MandatesOneMandate:
        """Read a draft's terms, sign them with the owner's wallet and hand the signature in;
        answers the signed mandate.

        Whoever signs vouches for what the terms say: read
        `mandates.terms(...)["typed_data"]["message"]` first. What is signed here is a mandate's
        terms, of this mandate and this owner, or nothing. Errors: ValueError.
        """
        account = account_of(wallet)
        typed_data = self.mandates.terms(mandate_id)["typed_data"]
        message = typed_data["message"]
        offered = (typed_data["primaryType"], message["publicId"], str(message["owner"]).lower())
        if offered != ("MandateTerms", mandate_id, str(account.address).lower()):
            raise ValueError(
                f"not signed: the service offers {offered} to sign, which are not the terms of "
                f"{mandate_id} for {account.address}"
            )
        return self.mandates.sign(mandate_id, signature=sign_typed_data(account, typed_data))

    # Lists

    def pages(
        self, call: Callable[..., Any], *path: str, **fields: Any
    ) -> Iterator[dict[str, Any]]:
        """Every page of a list, newest or first as the call orders them:
        `client.pages(client.mandates.ledger, id)`.
        """
        cursor: Any = fields.pop("cursor", None)
        while True:
            page: dict[str, Any] = call(*path, **fields, cursor=cursor)
            yield page
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def items(
        self, call: Callable[..., Any], name: str, *path: str, **fields: Any
    ) -> Iterator[Any]:
        """What the pages' list `name` holds: `client.items(client.mandates.ledger, "events",
        id)`.
        """
        for page in self.pages(call, *path, **fields):
            yield from page[name]

    def save_record(self, mandate_id: str, file: "str | PathLike[str]") -> int:
        """Write a mandate's record to `file` as it comes, for verify-record; bytes written.

        A record that broke off lacks its head, and verify-record says so.

        Errors: Refused, Unreachable.
        """
        path, _ = fill_path("/mandate-wallet/mandates/{id}/record", {"id": mandate_id})
        with self._transport.stream(
            Request(method="GET", path=path, headers=self._credential("key or owner"))
        ) as answer:
            if not answer.is_success:
                answer.read()
                raise Refused(answer.status_code, body_of(answer), None)
            with Path(file).open("wb") as out:
                return sum(out.write(part) for part in answer.iter_bytes())

    def _follow(self, path: str, auth: str, fields: Mapping[str, Any]) -> FollowedEvents:
        """A stream that is open. Errors: Refused, Unreachable."""
        filled, rest = fill_path(path, fields)
        last_event_id = rest.get("last_event_id")
        sent = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
        request = Request(method="GET", path=filled, headers=self._credential(auth) | sent)
        with ExitStack() as held:
            answer = held.enter_context(self._transport.stream(request))
            if not answer.is_success:
                answer.read()
                raise Refused(answer.status_code, body_of(answer), None)
            return FollowedEvents(answer, held.pop_all(), last_event_id)

    # Sending

    def _call(
        self, method: str, path: str, auth: str, fields: Mapping[str, Any], **how: Any
    ) -> dict[str, Any]:
        """What every generated method calls. A row of the record that it writes is signed, unless
        it brings a signature.

        Errors: Refused, Unreachable.
        """

        def call(sent: Mapping[str, Any]) -> dict[str, Any]:
            return self._send_call(method, path, auth, sent, **how)

        if self._rows is None or path not in SIGNED_PATHS or "author" in fields:
            return call(fields)
        return self._rows.send(path, fields, self.mandates.author, call)

    def _send_call(
        self,
        method: str,
        path: str,
        auth: str,
        fields: Mapping[str, Any],
        *,
        idempotent: bool = False,
        idempotency_key: str | None = None,
        also: int | None = None,
    ) -> dict[str, Any]:
        """Errors: Refused, Unreachable."""
        filled, rest = fill_path(path, fields)
        headers = self._credential(auth)
        if idempotent:
            headers[IDEMPOTENCY_HEADER] = idempotency_key or uuid.uuid4().hex
        in_query = method in ("GET", "DELETE")
        request = Request(
            method=method,
            path=filled,
            headers=headers,
            query={name: _query_text(value) for name, value in rest.items()} if in_query else {},
            body=None if in_query else rest,
            is_answer=also,
        )
        answer = self._transport.send(request)
        if not answer.is_success and answer.status_code != also:
            return self._paid(
                request, Refused(answer.status_code, body_of(answer), request.idempotency_key)
            )
        return body_of(answer)

    def _paid(self, request: Request, refused: Refused) -> dict[str, Any]:
        """The same call with a payment, once.

        Errors: the refusal itself when it asks for none, NotPaid, Refused.
        """
        if self.payer is None or not refused.is_payable:
            raise refused
        try:
            payment = self.payer.pay(refused.body)
        except WontPay as error:
            raise NotPaid(refused, str(error)) from None
        answer = self._transport.send(
            replace(request, headers={**request.headers, REQUEST_HEADER: payment.header})
        )
        if not answer.is_success:
            raise Refused(answer.status_code, body_of(answer), request.idempotency_key)
        self.payer.keep_receipt(request.path, payment, answer.headers.get(RESPONSE_HEADER))
        return body_of(answer)

    def _credential(self, auth: str) -> dict[str, str]:
        """Of the credentials that the route takes the first that is here: key, session, bearer.

        None here: the service says so.
        """
        takes_any = auth == "optional"
        if self.key is not None and (takes_any or "key" in auth or auth == "operator"):
            return {KEY_HEADER: self.key}
        if self.session is not None and (takes_any or "owner" in auth or auth == "operator"):
            return {"Authorization": f"Bearer {self.session}"}
        if self.bearer is not None and "bearer" in auth:
            return {"Authorization": f"Bearer {self.bearer}"}
        return {}


def fill_path(path: str, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path with its {names} filled, and the fields that are not in it. {name:path} keeps its
    slashes.
    """
    rest = dict(fields)

    def filled(found: re.Match[str]) -> str:
        return quote(str(rest.pop(found[1])), safe="/" if found[2] == "path" else "")

    return _PLACEHOLDER.sub(filled, path), rest


def _query_text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
