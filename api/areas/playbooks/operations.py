"""The operations of the area playbooks: guides, some of which are paid for."""

from api.areas.playbooks.service import reading
from api.kernel.auth import ANYBODY, ANYBODY_OR_KEY_OR_OWNER
from api.kernel.operation import Area, CachePolicy, Read
from api.payments.metered import Metered

AREA = Area(
    name="playbooks",
    about="Guides, some of which are paid for.",
    operations=(
        Read(
            key="playbooks.index",
            path="/playbook",
            auth=ANYBODY,
            summary="Read the index of the guides.",
            handler=reading.index,
            media=("text/markdown",),
            cache=CachePolicy(300),
        ),
        Read(
            key="playbooks.atom",
            path="/playbook/{atom_id}",
            auth=ANYBODY,
            summary="Read one short guide.",
            handler=reading.atom,
            media=("text/markdown",),
            cache=CachePolicy(300),
        ),
        Read(
            key="playbooks.read",
            path="/playbooks/{pb}/{path}",
            auth=ANYBODY_OR_KEY_OR_OWNER,
            scope="read",
            summary="Read a page of a playbook, paid with a free read, 1 credit, or 0.010000 USDC "
            "by x402.",
            handler=reading.read,
            idempotent=True,
            sold=Metered("playbook_read", reading.is_page),
            media=("text/markdown",),
        ),
    ),
)
