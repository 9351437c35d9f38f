// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

// 100 % in basis points.
uint256 constant BPS = 10_000;

// Length of the rolling window of the daily cap, in seconds. What left at t counts up to t + 86399.
uint48 constant DAY_WINDOW = 1 days;

// After endsAt the keeper has this long to settle before the owner may leave without it, in seconds.
uint64 constant SETTLE_GRACE = 1 days;

// A mandate has between 1 and this many rules, inclusive.
uint256 constant MAX_RULES = 32;

// Value of a rule's recipientWord that pins nothing.
uint8 constant NO_PIN = 255;

// Kinds of a rule.
uint8 constant KIND_SPEND = 0;
uint8 constant KIND_EXIT = 1;
uint8 constant KIND_VALUED_SPEND = 2;
uint8 constant KIND_COST = 3;

// A change of keeper or guard can be accepted this long after it was proposed, in seconds.
uint64 constant HANDOVER_DELAY = 48 hours;

// And for this long after that, inclusive, in seconds.
uint64 constant HANDOVER_WINDOW = 7 days;

// Reason of a stop by the stop line, whoever reported it.
bytes32 constant REASON_STOP_LINE = "stop_line";

// Reasons of a lock.
bytes32 constant LOCK_WORKING = "working";
bytes32 constant LOCK_SETTLE_GRACE = "settle_grace";
bytes32 constant LOCK_NOTHING_LEFT = "nothing_left";

// Uniswap's Permit2, at the same address on every chain. As a target it could hand out standing allowances.
address constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;

// What the reserve token begins with: 1 USDC against 100 tokens that belong to nobody, which is a price of 0.01 USDC.
uint256 constant SEED_USDC = 1e6;
uint256 constant SEED_TOKENS = 100e18;
address constant DEAD = 0x000000000000000000000000000000000000dEaD;

// The last 32 bytes of a signature that carries the creation of its wallet (ERC-6492).
bytes32 constant ERC6492_MAGIC = 0x6492649264926492649264926492649264926492649264926492649264926492;
