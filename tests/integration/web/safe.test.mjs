import assert from "node:assert/strict";
import { test } from "node:test";

import { safeBatch, safeChecksum } from "../../../api/web/app/safe.js";

const SAFE = "0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6";
const CALL = {
  to: "0x036cbd53842c5426634e7929541ec2318f3dcf7e",
  data: "0x63c4f031",
  value: 0,
  chain_id: 84532,
};
// A file that the app exported.
const EXPORTED = {
  version: "1.0",
  chainId: "1",
  createdAt: 1761326849944,
  meta: {
    name: "Transactions Batch",
    description: "",
    txBuilderVersion: "1.18.2",
    createdFromSafeAddress: SAFE,
    createdFromOwnerAddress: "",
    checksum: "0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989",
  },
  transactions: [
    {
      to: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
      value: "0",
      data: null,
      contractMethod: {
        inputs: [
          { internalType: "address", name: "spender", type: "address" },
          { internalType: "uint256", name: "value", type: "uint256" },
        ],
        name: "approve",
        payable: false,
      },
      contractInputsValues: {
        spender: "0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8",
        value: "100000000000",
      },
    },
  ],
};

test("the checksum is the one that the app writes", () => {
  assert.equal(safeChecksum(EXPORTED), EXPORTED.meta.checksum);
});

test("the checksum changes with a call and not with the batch's name", () => {
  const batch = { calls: [CALL], safe: SAFE, createdAt: 1 };
  const first = safeBatch({ ...batch, name: "Stop" });
  const renamed = safeBatch({ ...batch, name: "Another" });
  const other = safeBatch({ ...batch, name: "Stop", calls: [{ ...CALL, data: "0x63c4f032" }] });

  assert.equal(renamed.meta.checksum, first.meta.checksum);
  assert.notEqual(other.meta.checksum, first.meta.checksum);
  assert.equal(first.meta.checksum, safeChecksum(first));
});

test("a batch of two networks is refused", () => {
  const calls = [CALL, { ...CALL, chain_id: 1 }];

  assert.throws(() => safeBatch({ calls, safe: SAFE, name: "Both" }), RangeError);
});

test("addresses are written with their checksum and values as decimal text", () => {
  const [call] = safeBatch({ calls: [CALL], safe: SAFE, name: "Stop" }).transactions;

  assert.deepEqual([call.to, call.value], ["0x036CbD53842c5426634e7929541eC2318f3dCF7e", "0"]);
});
