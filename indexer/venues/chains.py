"""One name per chain: CAIP-2. Venues write chains in many ways; a way that is not in this table is
`unknown:<as written>` and never equals another venue's.

An alias that means two chains (`AVAX`: the X or the C chain) is not in the table.
https://chainagnostic.org/CAIPs/caip-2
"""

import re
from typing import Final

_BETWEEN: Final = re.compile(r"[\s_\-]+")

# The chain, its own coin, and how venues write it (capital letters, without spaces and hyphens).
_CHAINS: Final = (
    ("eip155:1", "ETH", "ETH ERC20 ETHEREUM ETHEREUM(ERC20) ERC20(ETH) ETHEREUMMAINNET"),
    ("eip155:10", "ETH", "OP OPTIMISM OPETH OPTIMISM(OP) OPTIMISMETHEREUM OPMAINNET"),
    ("eip155:25", "CRO", "CRONOS CROEVM"),
    ("eip155:56", "BNB", "BSC BEP20 BEP20(BSC) BNBSMARTCHAIN(BEP20) BNBSMARTCHAIN BNBCHAIN BSC(BEP20) BSCBNB"),
    ("eip155:61", "ETC", "ETC ETHEREUMCLASSIC"),
    ("eip155:100", "XDAI", "GNOSIS XDAI"),
    ("eip155:130", "ETH", "UNICHAIN"),
    ("eip155:137", "POL", "POLYGON MATIC POLYGON(MATIC) MATIC(POLYGON) POLYGONPOS POL POLYGON(POL)"),
    ("eip155:146", "S", "SONIC"),
    ("eip155:204", "BNB", "OPBNB"),
    ("eip155:250", "FTM", "FTM FANTOM OPERA"),
    ("eip155:324", "ETH", "ZKSYNC ZKSYNCERA ZKSERA ZKSYNC2"),
    ("eip155:480", "ETH", "WORLDCHAIN WLDCHAIN"),
    ("eip155:999", "HYPE", "HYPEREVM"),
    ("eip155:1088", "METIS", "METIS"),
    ("eip155:1116", "CORE", "CORE COREDAO"),
    ("eip155:1329", "SEI", "SEIEVM"),
    ("eip155:2020", "RON", "RON RONIN"),
    ("eip155:5000", "MNT", "MANTLE MNT"),
    ("eip155:8217", "KAIA", "KAIA KLAY KLAYTN"),
    ("eip155:8453", "ETH", "BASE BASEETH BASEMAINNET"),
    ("eip155:42161", "ETH", "ARBITRUM ARBITRUMONE ARBEVM ARBI ARB ARBITRUMONE(ARB) ARBITRUM(ARB)"),
    ("eip155:42170", "ETH", "ARBITRUMNOVA ARBNOVA"),
    ("eip155:42220", "CELO", "CELO"),
    ("eip155:43114", "AVAX", "AVAXC AVAXCCHAIN CAVAX AVAXC(AVAX) AVALANCHEC AVALANCHECCHAIN AVALANCHECCHAIN(AVAXC)"),
    ("eip155:59144", "ETH", "LINEA LINEAETH"),
    ("eip155:80094", "BERA", "BERA BERACHAIN"),
    ("eip155:81457", "ETH", "BLAST BLASTETH"),
    ("eip155:534352", "ETH", "SCROLL SCROLLETH"),
    ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "SOL", "SOL SOLANA SOLANA(SOL) SPL"),
    ("tron:0x2b6653dc", "TRX", "TRX TRC20 TRON TRON(TRC20) TRC20(TRX)"),
    ("bip122:000000000019d6689c085ae165831e93", "BTC", "BTC BITCOIN BITCOIN(BTC)"),
    ("bip122:12a765e31ffd4059bada1e25190f6e98", "LTC", "LTC LITECOIN"),
    ("bip122:1a91e3dace36e2be3bf030a65679fe82", "DOGE", "DOGE DOGECOIN"),
    ("bip122:000000000000000000651ef99cb9fcbe", "BCH", "BCH BITCOINCASH"),
    ("xrpl:0", "XRP", "XRP RIPPLE XRPL"),
    ("cip34:1-764824073", "ADA", "ADA CARDANO"),
    ("polkadot:91b171bb158e2d3848fa23a9f1c25182", "DOT", "DOT POLKADOT"),
    ("polkadot:b0a8d493285c2df73290dfb7e61f870f", "KSM", "KSM KUSAMA"),
    ("stellar:pubnet", "XLM", "XLM STELLAR"),
    ("algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "ALGO", "ALGO ALGORAND"),
    ("hedera:mainnet", "HBAR", "HBAR HEDERA"),
    ("tezos:NetXdQprcVkpaWU", "XTZ", "XTZ TEZOS"),
    ("starknet:SN_MAIN", "STRK", "STARKNET STARK"),
    ("ton:-239", "TON", "TON TONCOIN THEOPENNETWORK"),
    ("aptos:1", "APT", "APT APTOS APTOS(APT)"),
    ("sui:mainnet", "SUI", "SUI"),
    ("near:mainnet", "NEAR", "NEAR NEARPROTOCOL"),
    ("cosmos:cosmoshub-4", "ATOM", "ATOM COSMOS"),
    ("cosmos:osmosis-1", "OSMO", "OSMO OSMOSIS"),
    ("cosmos:injective-1", "INJ", "INJ INJECTIVE"),
    ("cosmos:pacific-1", "SEI", "SEI"),
    ("cosmos:celestia", "TIA", "TIA CELESTIA"),
)  # fmt: skip

_OF_ALIAS: Final = {alias: chain for chain, _, aliases in _CHAINS for alias in aliases.split()}
_OWN_COIN: Final = {chain: coin for chain, coin, _ in _CHAINS}
CHAINS: Final = tuple(_OWN_COIN)
# Coins that pay for gas under a second name.
_SECOND_NAMES: Final = {("eip155:137", "MATIC"), ("eip155:8217", "KLAY"), ("eip155:42161", "AETH")}


def chain_of(written: str) -> str:
    """The CAIP-2 id, or `unknown:<as written>`."""
    return _OF_ALIAS.get(_BETWEEN.sub("", written).upper(), f"unknown:{written}")


def is_own_coin(chain: str, ticker: str) -> bool:
    """The ticker is the coin of the chain itself, so there is no contract to compare.

    Only where a venue gives no contract: a token may have the ticker of a chain's coin.
    """
    return _OWN_COIN.get(chain) == ticker or (chain, ticker) in _SECOND_NAMES
