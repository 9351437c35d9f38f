// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @notice Code that answers no question as it was asked. Put in place of an adapter, or of a vault that never was one.
contract BurningCode {
    fallback() external {
        while (true) {}
    }
}

contract RevertingCode {
    fallback() external {
        revert("down");
    }
}

/// @notice Returns a megabyte of zeros, so that whoever copies it pays for it.
contract LongAnswer {
    fallback() external {
        assembly {
            return(0, 1000000)
        }
    }
}

contract LongRevert {
    fallback() external {
        assembly {
            revert(0, 1000000)
        }
    }
}

contract ShortAnswer {
    fallback() external {
        assembly {
            return(0, 31)
        }
    }
}

contract HugeAnswer {
    fallback() external {
        assembly {
            mstore(0, not(0))
            return(0, 32)
        }
    }
}

/// @notice Answers 5 after 100,000 gas a call: dear, and honest.
contract DearCode {
    fallback() external {
        uint256 until = gasleft() - 100_000;
        while (gasleft() > until) {}
        assembly {
            mstore(0, 5)
            return(0, 32)
        }
    }
}

/// @notice Claims the digest of another's terms.
contract Impostor {
    bytes32 public immutable termsDigest;

    constructor(bytes32 digest) {
        termsDigest = digest;
    }
}
