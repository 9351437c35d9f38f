# The branches of vault, factory and reserve token in a report of lcov, BRDA:<line>,<block>,<branch>,<taken>.
# Exit 1: no test takes one of them, or a contract has none.
/^SF:/ { contract = $2 }
/^BRDA:/ && contract ~ /^contracts\/(MandateVault|MandateVaultFactory|ReserveToken)\.sol$/ {
  branches[contract]++
  if ($5 !~ /[1-9]/) {
    print contract ":" $2 ": no test takes this branch"
    missed++
  }
}
END {
  for (contract in branches) {
    contracts++
    print contract ": " branches[contract] " branches"
  }
  exit missed > 0 || contracts != 3
}
