"""What the canonical chain says in our tables."""

from typing import Any

from sqlalchemy.orm import Session

from core.shadow.views import LIVE, PARTS, canonical_rows


def canonical_view(session: Session, chain_id: int) -> dict[str, list[tuple[Any, ...]]]:
    """Every rebuildable fact of the canonical chain, in order."""
    view = {}
    for name, part in PARTS.items():
        query = canonical_rows(part, LIVE, chain_id)
        view[name] = [
            tuple(row) for row in session.execute(query.order_by(*list(query.selected_columns)[:3]))
        ]
    return view
