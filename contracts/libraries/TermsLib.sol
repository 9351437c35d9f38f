// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @notice The document an owner signs. It becomes at most one vault, and nothing in it ever changes.
/// @dev EIP-712 struct of version 2 of the domain. Amounts are USDC base units (1e-6 USDC).
struct MandateTerms {
    /// Identifier of the mandate in the service's records, for example `m_4k2v7c3xqa`.
    string publicId;
    /// Whose money it is. An EOA or an ERC-1271 wallet.
    address owner;
    /// Who may act inside the limits. Zero on the open board: the owner sets the agent on chain later.
    address agent;
    /// What the vault must hold before work begins.
    uint256 budgetUsdc;
    /// The most that one call, or one batch, may take out (inclusive). Never zero: an empty cap is the budget.
    uint256 perTxCap;
    /// The most that may leave in any rolling 24 hours (inclusive). Never zero: an empty cap is the budget.
    uint256 dailyCap;
    /// The worth at which the mandate stops (inclusive): budget - floor(budget * stopFloorBps / 10000).
    uint256 stopFloor;
    /// The accepted loss in basis points of the budget, 1 to 10000. The floor above is computed from it.
    uint16 stopFloorBps;
    /// How long the owner meant the mandate to run. The chain enforces `endsAt` alone.
    uint32 horizonDays;
    /// Unix seconds, exclusive: the agent may act while block.timestamp < endsAt.
    uint64 endsAt;
    /// The agent's share of a realised gain, in basis points, 0 to 10000.
    uint16 agentFeeBps;
    /// Above this amount the agent has agreed to ask first. Recorded, not enforced on chain.
    uint256 approvalAbove;
    /// 0 keep, 1 close: the wish for open positions at the floor. Recorded, not enforced on chain.
    uint8 onFloor;
    /// keccak256(abi.encode(Rule[])) of the rules that the vault enforces.
    bytes32 allowedTargetsHash;
    /// keccak256 of the canonical JSON of what the relay guard enforces.
    bytes32 guardTargetsHash;
    /// Unix seconds at which the document was drawn up.
    uint64 issuedAt;
    /// Makes two otherwise equal documents different.
    uint256 nonce;
}

/// @notice One function of one contract that the agent may call.
struct Rule {
    /// The contract. Never USDC, the vault, the factory, Permit2 or an address without code.
    address target;
    /// The function.
    bytes4 selector;
    /// ABI word of the arguments (0 = first) that must equal the vault in all 32 bytes. 255: not pinned.
    uint8 recipientWord;
    /// 0 spend, 1 exit, 2 spend at an adapter that values the position, 3 cost.
    uint8 kind;
}

/// @notice Money that arrives with the creation of a vault.
/// @dev With a signature it is an EIP-3009 authorization by the owner to the vault, whose nonce is the terms
/// digest. Without one it is pulled from the owner's allowance to the vault's address, and the owner must send it.
struct Funding {
    /// USDC base units. 0: the vault starts empty.
    uint256 amount;
    /// Unix seconds, exclusive: the authorization is valid while block.timestamp > validAfter.
    uint256 validAfter;
    /// Unix seconds, exclusive: the authorization is valid while block.timestamp < validBefore.
    uint256 validBefore;
    /// EIP-3009 signature in the bytes form, so that ERC-1271 wallets can give it too. Empty: pull by allowance.
    bytes signature;
}

/// @title TermsLib
/// @notice The EIP-712 hash of the terms, in one place.
library TermsLib {
    bytes32 internal constant TERMS_TYPEHASH = keccak256(
        "MandateTerms(string publicId,address owner,address agent,uint256 budgetUsdc,uint256 perTxCap,uint256 dailyCap,uint256 stopFloor,uint16 stopFloorBps,uint32 horizonDays,uint64 endsAt,uint16 agentFeeBps,uint256 approvalAbove,uint8 onFloor,bytes32 allowedTargetsHash,bytes32 guardTargetsHash,uint64 issuedAt,uint256 nonce)"
    );

    /// @notice EIP-712 struct hash of the terms; the domain is the factory's.
    /// @dev Encoded in two parts, because one call with 18 words does not fit the stack. All members are static
    /// words after the string is hashed, so the two encodings joined are the encoding of the whole.
    function hashStruct(MandateTerms calldata terms) internal pure returns (bytes32) {
        return keccak256(
            bytes.concat(
                abi.encode(
                    TERMS_TYPEHASH,
                    keccak256(bytes(terms.publicId)),
                    terms.owner,
                    terms.agent,
                    terms.budgetUsdc,
                    terms.perTxCap,
                    terms.dailyCap,
                    terms.stopFloor,
                    terms.stopFloorBps
                ),
                abi.encode(
                    terms.horizonDays,
                    terms.endsAt,
                    terms.agentFeeBps,
                    terms.approvalAbove,
                    terms.onFloor,
                    terms.allowedTargetsHash,
                    terms.guardTargetsHash,
                    terms.issuedAt,
                    terms.nonce
                )
            )
        );
    }

    /// @notice The stop line of a budget: what is left after the accepted loss, which is rounded down.
    /// @dev Units: USDC base units and basis points. 1,000 USDC at 500 bps is 950 USDC.
    function stopFloorOf(uint256 budgetUsdc, uint16 stopFloorBps) internal pure returns (uint256) {
        return budgetUsdc - (budgetUsdc * stopFloorBps) / 10_000;
    }
}
