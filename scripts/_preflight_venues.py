"""What stands behind the adapters that an operator chose (`venues` of the deployment record), asked of
the chain: which code, which pool, whether its value can be read and what it takes to move it.

What cannot be seen from outside stays the operator's to judge: docs/venues-onchain.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.chain.abi import call_by_signature
from core.chain.errors import RpcError, RpcRevertedError
from core.chain.reader import LATEST, At
from core.findings import PartFinding, right, wrong
from core.hexes import ZERO_ADDRESS, hex_of
from core.mandate.chain.reader import VaultReader
from core.mandate.venues import erc4626, uniswap_v3
from core.mandate.venues.registry import venues
from core.money import BPS_ONE, USDC_E6_PER_USDC, usdc_text
from scripts._deployments import Record

UNISWAP_FACTORIES = {  # docs.uniswap.org, deployments on Base
    8453: "0x33128a8fC17869897dcE68Ed026d694621f6FDfD",
    84532: "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24",
}
MIN_OBSERVATIONS, LONG_S = 1_024, 1_800
TICKS_OFF = 500  # about 5 % between the price now and the mean of 30 minutes
DEPTH_PER_MANDATE = 50  # docs/venues-onchain.md: minLiquidity from the largest mandate
BLOCKS_BACK = (1, 30, 900)
PROXY_SLOT = hex(int.from_bytes(keccak(text="eip1967.proxy.implementation")) - 1)


def venue_lines(reader: VaultReader, record: Record) -> Iterator[PartFinding]:
    """One line or more for each; of a record without any, none."""
    for name in record.venues:
        if name not in record.by_name() or venues().named(name) is None:
            yield wrong(name, "is not deployed: run `make deploy`")
        else:
            yield from chosen_lines(reader, record, name)


def chosen_lines(reader: VaultReader, record: Record, name: str) -> Iterator[PartFinding]:
    """Of one of the record's `venues`, whether or not its adapter is deployed yet; USDC is recorded."""
    venue, chosen = venues().named(name), record.venues[name]
    assert venue is not None, "the record was checked before"
    check = {erc4626.VENUE: _pool_lines, uniswap_v3.VENUE: _market_lines}[venue]
    try:
        yield from check(reader, record, name, chosen)
    except (RpcError, DecodingError) as error:
        yield wrong(
            name, f"a call that it needs is not answered ({error}): is it that kind of venue?"
        )


def _asked(
    reader: VaultReader, to: str, signature: str, returns: str, *args: Any, at: At = LATEST
) -> Any:
    """What a view returns, several values as a tuple. Errors: RpcError, DecodingError."""
    kinds = returns.split(",")
    values = decode(kinds, reader.call(to, call_by_signature(signature, args), at))
    return values[0] if len(kinds) == 1 else values


def _code_line(
    reader: VaultReader, name: str, pool: str, chosen: Mapping[str, Any]
) -> Iterator[PartFinding]:
    found = hex_of(keccak(reader.code_at(pool)))
    wanted = chosen.get("codeHash")
    if wanted is None:
        yield right(f"{name} code", f"{found} at {pool}: record it as codeHash to notice a change")
    elif wanted != found:
        yield wrong(
            f"{name} code", f"{found} at {pool}, the record has {wanted}: the admin delists it"
        )
    else:
        yield right(f"{name} code", f"{found} at {pool}")


def _pool_lines(
    reader: VaultReader, record: Record, name: str, chosen: Mapping[str, Any]
) -> Iterator[PartFinding]:
    """Of an ERC-4626 vault."""
    pool, usdc = chosen["pool"], record.by_name()["usdc"].address
    if not reader.code_at(pool):
        yield wrong(f"{name} pool", f"there is no contract at {pool} on this chain")
        return
    yield from _code_line(reader, name, pool, chosen)
    asset = to_checksum_address(_asked(reader, pool, "asset()", "address"))
    if asset != usdc:
        yield wrong(f"{name} asset", f"is {asset}, not USDC {usdc}: delist it")
        return
    implementation = int(str(reader.rpc.call("eth_getStorageAt", [pool, PROXY_SLOT, LATEST])), 16)
    behind = "; its code can be replaced by the admin of its proxy" if implementation else ""
    shares = _asked(reader, pool, "convertToShares(uint256)", "uint256", USDC_E6_PER_USDC)
    back = _asked(reader, pool, "convertToAssets(uint256)", "uint256", shares)
    paid = _asked(reader, pool, "previewRedeem(uint256)", "uint256", shares)
    least = back * (BPS_ONE - chosen["exitFeeBps"]) // BPS_ONE
    tolerated = chosen["maxLossBps"] * USDC_E6_PER_USDC // BPS_ONE
    if USDC_E6_PER_USDC - back > tolerated:
        yield wrong(f"{name} rounding", f"1 USDC of shares is {usdc_text(back)}: above maxLossBps")
    elif paid < least - 1:
        yield wrong(
            f"{name} exit fee", f"1 USDC pays {usdc_text(paid)}: more than exitFeeBps is taken"
        )
    else:
        yield right(f"{name} rate", f"1 USDC of shares pays {usdc_text(paid)}{behind}")
    yield from _fall_lines(reader, name, pool, shares, back)


def _fall_lines(
    reader: VaultReader, name: str, pool: str, shares: int, now: int
) -> Iterator[PartFinding]:
    """A rate that fell lately could be made to fall: nothing bounds a value from below."""
    head, seen = reader.block_number(), 0
    for back in BLOCKS_BACK:
        try:
            before = _asked(
                reader,
                pool,
                "convertToAssets(uint256)",
                "uint256",
                shares,
                at=max(1, head - back),
            )
        except (RpcError, DecodingError):
            break  # before the pool, or of a state that the node has no more
        seen = back
        if before > now + 1:
            yield wrong(
                f"{name} history",
                f"the rate fell from {usdc_text(before)} to {usdc_text(now)} within {back} blocks: "
                "list only pools whose rate nobody can lower within a transaction",
            )
            return
    yield right(f"{name} history", f"the rate did not fall within {seen} blocks")


def _market_lines(
    reader: VaultReader, record: Record, name: str, chosen: Mapping[str, Any]
) -> Iterator[PartFinding]:
    """Of a Uniswap v3 pool."""
    at = {one.name: one.address for one in record.contracts}
    factory, token, fee = chosen["uniswapFactory"], chosen["token"], chosen["fee"]
    public = UNISWAP_FACTORIES.get(record.chain_id)
    if factory not in (public, at.get(uniswap_v3.FACTORY)):
        yield wrong(f"{name} factory", f"is {factory}; Uniswap's on this chain is {public}")
        return
    if not reader.code_at(factory):
        yield wrong(f"{name} factory", f"there is no contract at {factory} on this chain")
        return
    pool = to_checksum_address(
        _asked(
            reader,
            factory,
            "getPool(address,address,uint24)",
            "address",
            at["usdc"],
            token,
            fee,
        )
    )
    derived = uniswap_v3.pool_address(
        {**at, uniswap_v3.FACTORY: factory, uniswap_v3.TOKEN: token, "fee": str(fee)}
    )
    if pool == ZERO_ADDRESS:
        yield wrong(f"{name} pool", f"the factory has none of USDC and {token} at {fee} millionths")
        return
    if pool != derived:
        yield wrong(f"{name} pool", f"the factory has {pool}, Uniswap's code would be at {derived}")
        return
    yield right(f"{name} pool", f"{pool}, of Uniswap's code, at a fee of {fee} millionths")
    yield from _code_line(reader, name, pool, chosen)
    root, tick, _, cardinality, _, _, _ = _asked(
        reader, pool, "slot0()", "uint160,int24,uint16,uint16,uint16,uint8,bool"
    )
    if cardinality < MIN_OBSERVATIONS:
        yield wrong(
            f"{name} observations",
            f"{cardinality}, at least {MIN_OBSERVATIONS} are needed: anybody calls "
            f"increaseObservationCardinalityNext({MIN_OBSERVATIONS}) at the pool",
        )
        return
    yield right(f"{name} observations", f"room for {cardinality}")
    least = chosen["minLiquidity"]
    # USDC base units on either side of the price, of liquidity: times the root of the price
    depth = (least << 96) // root if int(at["usdc"], 16) < int(token, 16) else least * root >> 96
    yield from _depth_lines(reader, name, pool, tick, least, depth)


def _depth_lines(
    reader: VaultReader, name: str, pool: str, tick: int, least: int, depth: int
) -> Iterator[PartFinding]:
    try:
        ticks, spl = _asked(reader, pool, "observe(uint32[])", "int56[],uint160[]", [LONG_S, 0])
    except RpcRevertedError:  # it says OLD
        yield wrong(
            f"{name} observations",
            f"reach back less than {LONG_S // 60} minutes, and nothing is valued until they do: ask "
            "again then",
        )
        return
    mean = (LONG_S << 128) // max(1, (spl[1] - spl[0]) % (1 << 160))
    largest = usdc_text(depth // DEPTH_PER_MANDATE)
    if mean < least:
        yield wrong(
            f"{name} liquidity",
            f"its mean is {mean}, below minLiquidity {least}: nothing is valued, and no mandate can "
            "buy, sell or be stopped by its worth",
        )
    else:
        yield right(
            f"{name} liquidity",
            f"{mean * 100 // least} % of minLiquidity, which is enough for mandates of {largest} USDC",
        )
    off = abs(tick - (ticks[1] - ticks[0]) // LONG_S)
    if off > TICKS_OFF:
        yield wrong(
            f"{name} price",
            f"is about {off // 100} % off its mean of 30 minutes: it is moving, or being moved; "
            "run this again",
        )
    else:
        yield right(f"{name} price", f"within {off // 100 + 1} % of its mean of 30 minutes")
