"""Indices of a few coins, applicants, and a chain whose transfers a test writes."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from eth_utils.address import to_checksum_address
from sqlalchemy import insert, select, update

from api.kernel.jobs import JobPlace
from api.kernel.operation import Deps
from api.payments.payment_config import PaymentConfig
from core.chain.abi import address_word, topic_of
from core.chain.blocks import RawLog, TransactionReceipt
from core.db.engine import WriteSession
from core.fund import indices
from core.hexes import bytes_of
from core.identity.tables import Account
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.market import identity, parts
from core.market.tables import (
    MarketAsset,
    MarketAssetState,
    MarketGrade,
    MarketListingState,
    MarketNetwork,
    MarketRollup,
)
from tests.integration.api.conftest import Clock, FewAnswersChain
from tests.integration.api.fund.conftest import Follower, Office
from tests.market_rows import add_state

USDC = to_checksum_address("0x" + "aa" * 20)
TREASURY = "0x" + "33" * 20
WALLET = "0x" + "44" * 20
BODY: dict[str, Any] = {
    "filter_categories": ["defi"],
    "fund_type": "active",
    "plan_text": "The deepest of lending and exchange, weekly.",
    "rebalance_cadence": "weekly",
    "leverage": "1.00",
    "fee_bps": 100,
    "tvl_cap_usd": "10000.00",
}


@dataclass
class TransferChain(FewAnswersChain):
    """Its transfers of USDC: (from, to, amount) by the transaction's hash, each in its block.
    `grows`: by so many blocks after each receipt.
    """

    names = ("one",)
    transfers: dict[str, tuple[str, str, int, int]] = field(default_factory=dict)
    reverted: set[str] = field(default_factory=set)
    grows: int = 0

    @property
    def rpc(self) -> "TransferChain":
        """One node, which is always asked."""
        return self

    def batch_of_each(
        self, requests: list[Any], within_s: float, parse: list[Any]
    ) -> dict[str, list[Any]]:
        """Its safe block, its newest one and then a receipt."""
        *blocks, (_, (tx_hash,)) = requests
        return {"one": [*(self.header(tag[0]) for _, tag in blocks), self.receipt(tx_hash)]}

    def pay(self, sender: str, to: str, amount: int, block: int = 50) -> str:
        tx_hash = f"0x{len(self.transfers) + 1:064x}"
        self.transfers[tx_hash] = (sender, to, amount, block)
        return tx_hash

    def receipt(self, tx_hash: str) -> TransactionReceipt | None:
        self._require_up()
        self.height += self.grows
        if tx_hash not in self.transfers:
            return None
        sender, to, amount, block = self.transfers[tx_hash]
        zero = "0x" + "00" * 32
        log = RawLog(
            address=USDC,
            topics=(topic_of("Transfer"), address_word(sender), address_word(to)),
            data=f"0x{amount:064x}",
            block_number=block,
            block_hash=zero,
            tx_hash=tx_hash,
            tx_index=0,
            log_index=0,
        )
        return TransactionReceipt(
            tx_hash=tx_hash,
            tx_index=0,
            block_number=block,
            block_hash=zero,
            status=0 if tx_hash in self.reverted else 1,
            sender=sender,
            to=USDC,
            gas_used=50_000,
            logs_bloom=0,
            logs=(log,),
        )


def payments() -> PaymentConfig:
    return PaymentConfig(
        settler=cast("Any", None), network="eip155:84532", asset=USDC, pay_to=TREASURY
    )


@dataclass
class IndexWorld:
    """`index_id`: of the index of large coins, with BTC, LINK and UNI of today."""

    deps: Deps
    clock: Clock
    chain: TransferChain
    office: Office
    index_id: int

    @property
    def path(self) -> str:
        return f"/fund/indices/{self.index_id}"

    def link(self, who: Follower, wallet: str = WALLET) -> None:
        with self.deps.database.write() as session:
            mine = update(Account).where(Account.id == who.user_id)
            session.execute(mine.values(wallet_address=bytes_of(wallet)))

    def apply(self, who: Follower, **changes: Any) -> Any:
        return who.post(f"{self.path}/applications", BODY | changes)

    def paid(self, who: Follower, amount: int = 2_500_000_000, **changes: Any) -> Any:
        """An application whose bond in USDC is on the chain."""
        tx = self.chain.pay(WALLET, TREASURY, amount)
        return self.apply(who, bond_tx=tx, **changes)

    def move(self, application_id: int, name: str, **body: Any) -> Any:
        return self.office.post(f"/admin/fund/applications/{application_id}/{name}", body)

    def job_place(self) -> JobPlace:
        return JobPlace(
            database=self.deps.database,
            reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
            mark_retention_days=90,
            intent_retention_days=90,
            limits=CallerLimits(),
        )


def list_coin(
    session: WriteSession,
    now: datetime,
    ticker: str,
    depths: dict[str, float],
    *,
    grade: str | None = "B",
    contracts: dict[str, str | None] | None = None,
    withdraws: bool | None = True,
) -> None:
    """A coin that each of these exchanges lists against USDT, with the depth of its last days, and
    that has a contract on Ethereum. `contracts`: by exchange, where they do not give the same; None:
    the exchange gives none.
    """
    of_coin = "0x" + ticker.encode().hex().zfill(40)
    asset_id = session.scalars(
        insert(MarketAsset).values(ticker=ticker).returning(MarketAsset.id)
    ).one()
    session.add(
        MarketAssetState(asset_id=asset_id, token=ticker, is_simulated=True, updated_at=now)
    )
    for exchange, depth in depths.items():
        state = add_state(
            session,
            *(exchange, ticker, asset_id, now),
            grade=grade,
            is_provisional=False,
            in_depth_usd=depth,
            in_volume_24h_usd=5e7,
            mid=100.0,
            usd_per_quote=1.0,
            **{f"{side}_05_usd": 50_000.0 for side in ("bid", "ask")},
            **{f"{side}_1_usd": 90_000.0 for side in ("bid", "ask")},
            **{f"{side}_2_usd": 150_000.0 for side in ("bid", "ask")},
            sampled_at=now,
            every_s=60,
            first_seen_at=now - timedelta(days=30),
        )
        session.add(
            MarketNetwork(
                exchange=exchange,
                native_base=ticker,
                chain="eip155:1",
                asset_id=asset_id,
                can_withdraw=withdraws,
                contract=(contracts or {}).get(exchange, of_coin),
                is_native=False,
                deposit_since=now,
                withdraw_since=now,
                scans=1,
                seen_at=now,
            )
        )
        hour = now.replace(minute=0, second=0, microsecond=0)
        bucket = hour - timedelta(hours=4)  # over, as are its two hours
        for table in (parts.ROLLUPS, parts.GRADES):
            parts.ensure(session, table, bucket, now + timedelta(days=40))
        add_grade(session, state.listing_id, hour - timedelta(hours=2), grade)
        session.execute(
            insert(MarketRollup).values(
                listing_id=state.listing_id,
                bucket=bucket,
                expected=120,
                n=120,
                rejected=0,
                gaps=0,
                rv=0.01,
                depth_2_usd=depth,
                coverage=1.0,
            )
        )
    graph = identity.graph_of(identity.coin_rows(session))
    identity.show(session, identity.changes(graph, identity.shown(session)), now)


def add_grade(session: WriteSession, listing_id: int, hour: datetime, grade: str | None) -> None:
    session.execute(
        insert(MarketGrade).values(
            listing_id=listing_id,
            hour=hour,
            letter=grade,
            score=None if grade is None else 80.0,
            is_provisional=False,
            version="grade_v1",
        )
    )


def sampled(deps: Deps, now: datetime, mid: float = 100.0) -> None:
    """Every book is looked at now, with this mid."""
    with deps.database.write() as session:
        ids = session.scalars(select(MarketListingState.listing_id)).all()
        session.execute(update(MarketListingState).values(sampled_at=now, mid=mid))
        bucket = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
        for one in ids:
            session.merge(
                MarketRollup(
                    listing_id=one,
                    bucket=bucket,
                    expected=60,
                    n=60,
                    rejected=0,
                    gaps=0,
                    rv=0.01,
                    depth_2_usd=100_000.0,
                    coverage=1.0,
                )
            )


def write_indices(deps: Deps, now: datetime) -> int:
    """The id of the index of large coins."""
    with deps.database.write() as session:
        ids = indices.register(session, now)
        for key in ids:
            indices.write_day(session, ids[key], key, now)
    return ids["majors"]
