// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @title MockUSDC
/// @notice USDC for the local chain: Circle's FiatTokenV2_2 as far as this project uses it, and anyone mints.
/// @dev The code works when it is copied to another address without storage, for example to that of the test
/// network's USDC: name, symbol and decimals are code, and the EIP-712 domain is built for the address it runs at.
/// Error strings are Circle's, so that what works here fails there in the same words.
contract MockUSDC is ERC20, EIP712 {
    /// @notice EIP-3009.
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    /// @notice EIP-3009.
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    /// @notice EIP-3009.
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    /// @notice True once the authorizer's nonce was used or cancelled.
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    /// @notice The authorizer's nonce was used.
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    /// @notice The authorizer's nonce was cancelled.
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    constructor() ERC20("", "") EIP712("USDC", "2") {}

    /// @inheritdoc ERC20
    function name() public pure override returns (string memory) {
        return "USDC";
    }

    /// @inheritdoc ERC20
    function symbol() public pure override returns (string memory) {
        return "USDC";
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice Version of the EIP-712 domain.
    function version() external pure returns (string memory) {
        return "2";
    }

    /// @notice The EIP-712 domain at this address and on this chain.
    // The name is the token's own.
    // forge-lint: disable-next-line(mixed-case-function)
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @notice Makes USDC out of nothing.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    // ------------------------------------------------------------------ transferWithAuthorization

    /// @notice EIP-3009, with the parts of a key's signature.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice EIP-3009, with a signature as bytes, which may be an ERC-1271 wallet's.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        bytes32 structHash = keccak256(
            abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _requireInTime(validAfter, validBefore);
        _useAuthorization(from, nonce, structHash, signature);
        _transfer(from, to, value);
    }

    // ------------------------------------------------------------------ receiveWithAuthorization

    /// @notice EIP-3009, with the parts of a key's signature. Only the payee may call.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice EIP-3009, with a signature as bytes, which may be an ERC-1271 wallet's. Only the payee may call.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        bytes32 structHash =
            keccak256(abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce));
        _requireInTime(validAfter, validBefore);
        _useAuthorization(from, nonce, structHash, signature);
        _transfer(from, to, value);
    }

    // ------------------------------------------------------------------ cancelAuthorization

    /// @notice EIP-3009, with the parts of a key's signature.
    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice EIP-3009, with a signature as bytes, which may be an ERC-1271 wallet's.
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public {
        _requireUnused(authorizer, nonce);
        bytes32 structHash = keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce));
        _requireSigned(authorizer, structHash, signature);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    // ------------------------------------------------------------------ checks

    function _requireInTime(uint256 validAfter, uint256 validBefore) private view {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
    }

    function _useAuthorization(address authorizer, bytes32 nonce, bytes32 structHash, bytes memory signature) private {
        _requireUnused(authorizer, nonce);
        _requireSigned(authorizer, structHash, signature);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationUsed(authorizer, nonce);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(!authorizationState[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
    }

    function _requireSigned(address signer, bytes32 structHash, bytes memory signature) private view {
        require(
            SignatureChecker.isValidSignatureNow(signer, _hashTypedDataV4(structHash), signature),
            "FiatTokenV2: invalid signature"
        );
    }
}
