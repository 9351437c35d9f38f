"""All SQL of the anchors: the tree grows by an epoch, roots find their blocks, proofs are read.

Laws
- An epoch is written once, in one transaction, after the one before it; nothing of it changes but
  where it was posted.
- The proofs of an epoch are made of what was written up to it, however much came later.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache

from sqlalchemy import LargeBinary, Select, exists, func, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.anchors.rules import (
    KEY_BITS,
    Children,
    EpochPost,
    HeadProof,
    grown,
    key_of,
    leaf_of,
    path_of,
    paths_above,
    proof_of,
    value_of,
)
from core.anchors.tables import AnchorEpoch, AnchorForeign, AnchorHead, AnchorLeaf, AnchorNode
from core.db.arrays import parts_of, table_of
from core.db.engine import WriteSession
from core.hexes import hex_of

PATHS_A_QUERY = 5_000
LEAVES_A_WRITE = 5_000


@dataclass(frozen=True, slots=True)
class HeadRow:
    """The last row of a mandate's ledger as of an epoch."""

    public_id: str
    seq: int
    row_hash: bytes


@dataclass(frozen=True, slots=True)
class EpochRoot:
    """`seen_block`: up to which its post was looked for."""

    epoch: int
    root: bytes
    root_before: bytes
    seen_block: int


# The tree grows


def newest_epoch(session: Session) -> EpochRoot | None:
    row = session.scalar(select(AnchorEpoch).order_by(AnchorEpoch.epoch.desc()).limit(1))
    return None if row is None else _epoch_root(row)


def seqs(session: Session) -> dict[str, int]:
    """Up to which row each mandate's newest leaf goes, by public id."""
    query = select(AnchorLeaf.public_id, AnchorLeaf.seq)
    return {public_id: seq for public_id, seq in session.execute(query)}  # noqa: C416 (mypy takes no Row for a pair)


@dataclass(frozen=True, slots=True)
class EpochTree:
    """The tree with the heads that an epoch brings. `leaves`: theirs, by key; `nodes`: those that are
    other than before.
    """

    root: bytes
    heads: Sequence[HeadRow] = ()
    leaves: Mapping[bytes, bytes] = field(default_factory=dict)
    nodes: Mapping[bytes, Children] = field(default_factory=dict)


def tree_with(
    read: Callable[[], AbstractContextManager[Session]],
    heads: Sequence[HeadRow],
    root_before: bytes,
) -> EpochTree:
    """`heads`: those that changed since the epoch before, of `root_before`.

    Hashed outside of transactions: whoever asks is the only one to write the tree.
    """
    new = dict(map(_key_and_leaf, heads))
    with read() as session:
        if not heads and session.scalar(select(exists(select(AnchorLeaf.key)))):
            return EpochTree(root_before)
        kept = session.execute(select(AnchorLeaf.key, AnchorLeaf.leaf)).all()
        is_grown = session.scalar(select(exists(select(AnchorNode.path))))
    leaves = {key: leaf for key, leaf in kept} | new  # noqa: C416 (mypy takes no Row for a pair)
    ordered, changed = sorted(leaves), sorted(new)
    paths = sorted(set(paths_above(ordered, changed))) if is_grown else []
    with read() as session:
        before = _nodes(session, paths)
    root, nodes = grown(ordered, leaves, changed, before)
    return EpochTree(root, heads, new, nodes)


def _key_and_leaf(head: HeadRow) -> tuple[bytes, bytes]:
    key = key_of(head.public_id)
    return key, leaf_of(key, value_of(head.seq, head.row_hash))


def add_epoch(
    session: WriteSession,
    epoch: int,
    tree: EpochTree,
    root_before: bytes,
    seen_block: int,
    now: datetime,
) -> EpochRoot:
    """Write an epoch. Errors: the database's, when it is written already."""
    _write_leaves(session, tree)
    _write_heads(session, epoch, tree.heads)
    _write_nodes(session, epoch, tree.nodes)
    row = AnchorEpoch(
        epoch=epoch,
        root=tree.root,
        root_before=root_before,
        seen_block=seen_block,
        created_at=now,
    )
    session.add(row)
    session.flush()
    return _epoch_root(row)


def _write_leaves(session: WriteSession, tree: EpochTree) -> None:
    pairs = zip(tree.heads, tree.leaves.items(), strict=True)
    for some in parts_of([*pairs], LEAVES_A_WRITE):
        values = [
            {"public_id": head.public_id, "key": key, "seq": head.seq, "leaf": leaf}
            for head, (key, leaf) in some
        ]
        statement = insert(AnchorLeaf).values(values)
        changed = {name: statement.excluded[name] for name in ("seq", "leaf")}
        session.execute(
            statement.on_conflict_do_update(index_elements=[AnchorLeaf.public_id], set_=changed)
        )


def _write_heads(session: WriteSession, epoch: int, heads: Iterable[HeadRow]) -> None:
    rows = [{"epoch": epoch, **asdict(head)} for head in heads]
    if rows:
        session.execute(insert(AnchorHead), rows)


def _write_nodes(session: WriteSession, epoch: int, nodes: Mapping[bytes, Children]) -> None:
    rows = [
        {"path": path, "epoch": epoch, "left_hash": left, "right_hash": right}
        for path, (left, right) in nodes.items()
    ]
    if rows:
        session.execute(insert(AnchorNode), rows)


def _nodes(
    session: Session, paths: Sequence[bytes], at: int | None = None
) -> dict[bytes, Children]:
    """The newest version of each of these nodes that there is, of epoch `at` at the latest."""
    found: dict[bytes, Children] = {}
    for some in parts_of(paths, PATHS_A_QUERY):
        wanted = table_of("wanted", {"path": (LargeBinary, some)})
        node = select(AnchorNode.left_hash, AnchorNode.right_hash).where(
            AnchorNode.path == wanted.c.path, true() if at is None else AnchorNode.epoch <= at
        )
        newest = node.order_by(AnchorNode.epoch.desc()).limit(1).lateral("newest")
        query = select(wanted.c.path, newest.c.left_hash, newest.c.right_hash)
        for path, left, right in session.execute(query.join(newest, true())):
            found[path] = (left, right)
    return found


# Roots and blocks


def unposted(session: Session, limit: int) -> list[EpochRoot]:
    """The oldest epochs whose block is not known and may come: the contract takes none that is not
    after a root of somebody else.
    """
    return list(map(_epoch_root, session.scalars(_unposted(limit))))


@cache
def _unposted(limit: int) -> Select[AnchorEpoch]:
    foreign = select(func.coalesce(func.max(AnchorForeign.epoch), 0)).scalar_subquery()
    query = select(AnchorEpoch).where(
        AnchorEpoch.block_number.is_(None), AnchorEpoch.epoch > foreign
    )
    return query.order_by(AnchorEpoch.epoch).limit(limit)


def epoch_after(session: Session, epoch: int) -> EpochRoot | None:
    """The oldest one after this."""
    query = select(AnchorEpoch).where(AnchorEpoch.epoch > epoch).order_by(AnchorEpoch.epoch)
    row = session.scalar(query.limit(1))
    return None if row is None else _epoch_root(row)


def note_posts(
    session: WriteSession, posts: Iterable[EpochPost], seen_block: int, foreign: Set[int]
) -> None:
    """Write down where roots were posted, and up to which block that was looked for.

    One of another root, or of an epoch in `foreign`, is none of ours and stays beside them; the next
    of ours is on top of it.
    """
    for post in posts:
        root = bytes.fromhex(post.root[2:])
        if post.epoch in foreign:
            _note_foreign(session, post, root)
            continue
        is_ours = (AnchorEpoch.epoch == post.epoch, AnchorEpoch.root == root)
        found = {
            "root_before": bytes.fromhex(post.root_before[2:]),
            "block_number": post.block_number,
            "block_hash": bytes.fromhex(post.block_hash[2:]),
            "tx_hash": bytes.fromhex(post.tx_hash[2:]),
        }
        ours = update(AnchorEpoch).where(*is_ours, AnchorEpoch.block_number.is_(None))
        if session.execute(ours.values(**found).returning(AnchorEpoch.epoch)).all():
            continue
        if not session.scalar(select(exists().where(*is_ours))):
            _note_foreign(session, post, root)
    session.execute(
        update(AnchorEpoch)
        .where(AnchorEpoch.block_number.is_(None), AnchorEpoch.seen_block < seen_block)
        .values(seen_block=seen_block)
    )


def _note_foreign(session: WriteSession, post: EpochPost, root: bytes) -> None:
    values = {
        "epoch": post.epoch,
        "root": root,
        "block_number": post.block_number,
        "tx_hash": bytes.fromhex(post.tx_hash[2:]),
    }
    session.execute(insert(AnchorForeign).values(**values).on_conflict_do_nothing())


def newest_foreign(session: Session) -> str | None:
    """The transaction of the newest root that is none of ours."""
    newest = select(AnchorForeign.tx_hash).order_by(AnchorForeign.epoch.desc()).limit(1)
    found = session.scalar(newest)
    return None if found is None else hex_of(found)


def is_root_of(session: Session, post: EpochPost) -> bool:
    """Whether it is of the root that we made of its epoch, or of an epoch of which we made none."""
    found = session.get(AnchorEpoch, post.epoch)
    return found is None or hex_of(found.root) == post.root


def foreign_post(session: Session, epoch: int, root: bytes) -> str | None:
    """The transaction of a root that is none of ours; None: no such one is known at a safe height."""
    found = session.get(AnchorForeign, epoch)
    return None if found is None or found.root != root else hex_of(found.tx_hash)


def _epoch_root(row: AnchorEpoch) -> EpochRoot:
    return EpochRoot(row.epoch, row.root, row.root_before, row.seen_block)


# Proofs


@dataclass(frozen=True, slots=True)
class AnchoredHead:
    """What one posted epoch says of one mandate.

    `seq` 0 and `row_hash` None: it has no leaf.
    """

    post: EpochPost
    seq: int
    row_hash: str | None
    proof: HeadProof


def newest_posted_epoch(session: Session, until_block: int | None = None) -> int | None:
    """The newest one that was posted in this block at the latest; None: in any."""
    is_posted = (
        AnchorEpoch.block_number.is_not(None)
        if until_block is None
        else AnchorEpoch.block_number <= until_block
    )
    return session.scalar(select(func.max(AnchorEpoch.epoch)).where(is_posted))


def newest_posted_until(session: Session, epoch: int) -> int | None:
    """The newest posted one that is not after this; None: there is none."""
    is_posted = AnchorEpoch.block_number.is_not(None), AnchorEpoch.epoch <= epoch
    return session.scalar(select(func.max(AnchorEpoch.epoch)).where(*is_posted))


def posted_between(session: Session, first: int, last: int, limit: int) -> list[EpochPost]:
    """Posted epochs from `first` to `last`, oldest first."""
    query = select(AnchorEpoch).where(
        AnchorEpoch.epoch.between(first, last), AnchorEpoch.block_number.is_not(None)
    )
    return [
        EpochPost(
            row.epoch,
            hex_of(row.root),
            hex_of(row.root_before),
            row.block_number or 0,
            hex_of(row.block_hash or b""),
            hex_of(row.tx_hash or b""),
        )
        for row in session.scalars(query.order_by(AnchorEpoch.epoch).limit(limit))
    ]


def anchored_heads(
    session: Session, public_id: str, posts: Sequence[EpochPost]
) -> Iterator[AnchoredHead]:
    """What each of these epochs says of the mandate, oldest first."""
    if not posts:
        return
    key, last = key_of(public_id), posts[-1].epoch
    paths = [path_of(key, depth) for depth in range(KEY_BITS)]
    versions = _versions(session, paths, posts[0].epoch, last)
    own = AnchorHead.public_id == public_id
    before = select(func.max(AnchorHead.epoch)).where(own, AnchorHead.epoch <= posts[0].epoch)
    since = func.coalesce(before.scalar_subquery(), 0)
    heads = session.scalars(
        select(AnchorHead)
        .where(own, AnchorHead.epoch.between(since, last))
        .order_by(AnchorHead.epoch)
    ).all()
    epochs = [head.epoch for head in heads]
    for post in posts:
        nodes = {
            depth: children
            for depth, path in enumerate(paths)
            if (children := _as_of(versions.get(path, ()), post.epoch)) is not None
        }
        at = bisect_right(epochs, post.epoch)
        if at:
            head = heads[at - 1]
            yield AnchoredHead(post, head.seq, hex_of(head.row_hash), proof_of(key, nodes))
        else:
            other = _leaf_below(session, path_of(key, len(nodes)), post.epoch)
            yield AnchoredHead(post, 0, None, proof_of(key, nodes, other, is_held=False))


Version = tuple[int, Children]


def _versions(
    session: Session, paths: Sequence[bytes], first: int, last: int
) -> Mapping[bytes, Sequence[Version]]:
    """Of these nodes what they were at epoch `first`, and each change up to `last`."""
    found: defaultdict[bytes, list[Version]] = defaultdict(list)
    for path, children in _nodes(session, paths, first).items():
        found[path].append((first, children))
    query = select(
        AnchorNode.path, AnchorNode.epoch, AnchorNode.left_hash, AnchorNode.right_hash
    ).where(AnchorNode.path.in_(paths), AnchorNode.epoch > first, AnchorNode.epoch <= last)
    for path, epoch, left, right in session.execute(query.order_by(AnchorNode.epoch)):
        found[path].append((epoch, (left, right)))
    return found


def _as_of(versions: Sequence[Version], epoch: int) -> Children | None:
    at = bisect_right(versions, epoch, key=lambda version: version[0])
    return versions[at - 1][1] if at else None


def _leaf_below(session: Session, path: bytes, epoch: int) -> tuple[bytes, bytes] | None:
    """(key, value) of the leaf below this node as of an epoch that knew no more than one there."""
    depth, low = path[0], int.from_bytes(path[1:].ljust(32, b"\0"))
    high = low + (1 << (KEY_BITS - depth)) - 1
    head = (
        select(AnchorHead.seq, AnchorHead.row_hash)
        .where(AnchorHead.public_id == AnchorLeaf.public_id, AnchorHead.epoch <= epoch)
        .order_by(AnchorHead.epoch.desc())
        .limit(1)
        .lateral("head")
    )
    query = select(AnchorLeaf.key, head.c.seq, head.c.row_hash).join(head, true())
    found = session.execute(
        query.where(AnchorLeaf.key.between(low.to_bytes(32), high.to_bytes(32)))
    ).first()
    return None if found is None else (found.key, value_of(found.seq, found.row_hash))
