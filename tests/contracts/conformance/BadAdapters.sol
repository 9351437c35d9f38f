// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IAdapter} from "../../../contracts/interfaces/IAdapter.sol";
import {IMandateVault, Status} from "../../../contracts/interfaces/IMandateVault.sol";
import {KIND_EXIT, KIND_VALUED_SPEND, NO_PIN} from "../../../contracts/libraries/ConstantsLib.sol";
import {Rule} from "../../../contracts/libraries/TermsLib.sol";

/// @notice Positions that the adapter holds itself, so that a value can be computed in a wrong way.
abstract contract BadAdapter is IAdapter {
    IERC20 internal immutable USDC;

    /// @inheritdoc IAdapter
    mapping(address vault => uint256) public override positionOf;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function buy(uint256 amount) external virtual;
    function sell(uint256 units) external virtual;

    /// @inheritdoc IAdapter
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](2);
        list[0] = Rule(address(this), this.buy.selector, NO_PIN, KIND_VALUED_SPEND);
        list[1] = Rule(address(this), this.sell.selector, NO_PIN, KIND_EXIT);
    }
}

    /// @notice A pool of two assets, x * y = k, whose price of the moment values positions: what IAdapter forbids. It pays
    /// before it has counted, and its USDC is its balance.
    contract SpotAdapter is BadAdapter {
        uint256 private _unitsInPool = 10_000e6;

        constructor(address usdc) BadAdapter(usdc) {}

        function buy(uint256 amount) external override {
            uint256 pool = USDC.balanceOf(address(this));
            require(USDC.transferFrom(msg.sender, address(this), amount));
            uint256 units = _unitsInPool - _unitsInPool * pool / (pool + amount);
            _unitsInPool -= units;
            positionOf[msg.sender] += units;
        }

        function sell(uint256 units) external override {
            uint256 pool = USDC.balanceOf(address(this));
            uint256 amount = pool - pool * _unitsInPool / (_unitsInPool + units);
            positionOf[msg.sender] -= units;
            require(USDC.transfer(msg.sender, amount));
            _unitsInPool += units;
        }

        function unitPrice() public view returns (uint256) {
            return USDC.balanceOf(address(this)) * 1e6 / _unitsInPool;
        }

        function valueOf(address vault) external view returns (uint256) {
            return positionOf[vault] * unitPrice() / 1e6;
        }

        function isLinear() external pure returns (bool) {
            return true;
        }
    }

    /// @notice A venue at 1 USDC a unit that is honest in all but its worth: `numerator / denominator` of it, and `more`.
    contract LyingUnitsAdapter is BadAdapter {
        uint256 private immutable NUMERATOR;
        uint256 private immutable DENOMINATOR;
        int256 private immutable MORE;

        constructor(address usdc, uint256 numerator, uint256 denominator, int256 more) BadAdapter(usdc) {
            (NUMERATOR, DENOMINATOR, MORE) = (numerator, denominator, more);
        }

        function buy(uint256 amount) external virtual override {
            require(USDC.transferFrom(msg.sender, address(this), amount));
            positionOf[msg.sender] += amount;
        }

        function sell(uint256 units) external virtual override {
            positionOf[msg.sender] -= units;
            require(USDC.transfer(msg.sender, units));
        }

        function valueOf(address vault) external view virtual returns (uint256) {
            uint256 units = positionOf[vault];
            // Amounts of tests, and results above 0.
            // forge-lint: disable-next-line(unsafe-typecast)
            return units == 0 ? 0 : uint256(int256(units * NUMERATOR / DENOMINATOR) + MORE);
        }

        function unitPrice() external pure returns (uint256) {
            return 1e6;
        }

        function isLinear() external pure returns (bool) {
            return false;
        }
    }

    /// @notice A venue at 1 USDC a unit that counts many positions one by one, and answers 0 where the counting fails.
    contract CatchingAdapter is LyingUnitsAdapter {
        constructor(address usdc) LyingUnitsAdapter(usdc, 1, 1, 0) {}

        function count(address vault) external view returns (uint256) {
            bytes32 one;
            for (uint256 i; i < 20_000; ++i) {
                one = keccak256(abi.encode(one));
            }
            return one == 0 ? 0 : positionOf[vault];
        }

        function valueOf(address vault) external view override returns (uint256) {
            try this.count(vault) returns (uint256 value) {
                return value;
            } catch {
                return 0;
            }
        }
    }

    /// @notice A venue that lets anybody sell for whoever bought last.
    contract ForwardingAdapter is LyingUnitsAdapter {
        address private _last;

        constructor(address usdc) LyingUnitsAdapter(usdc, 1, 1, 0) {}

        function buy(uint256 amount) external override {
            require(USDC.transferFrom(msg.sender, address(this), amount));
            positionOf[msg.sender] += amount;
            if (amount != 0) _last = msg.sender;
        }

        function sell(uint256 units) external override {
            address of_ = positionOf[msg.sender] == 0 ? _last : msg.sender;
            positionOf[of_] -= units;
            require(USDC.transfer(of_, units));
        }
    }

    /// @notice A venue that pays nobody but mandates that work.
    contract PossessiveAdapter is LyingUnitsAdapter {
        error Mine();

        constructor(address usdc) LyingUnitsAdapter(usdc, 1, 1, 0) {}

        function sell(uint256 units) external override {
            if (IMandateVault(msg.sender).status() != Status.Working) revert Mine();
            positionOf[msg.sender] -= units;
            require(USDC.transfer(msg.sender, units));
        }
    }
