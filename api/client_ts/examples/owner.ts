/** A mandate of an owner with one key: `node dist/examples/owner.js [FOLDER]`, with `make up` running; FOLDER has its stack.json. */
import { readStack } from "./local.js";
import { live } from "./mandate.js";
import { connect, keyWallet } from "./wallet.js";

const stack = readStack(process.argv[2]);
await live(stack.base_url, keyWallet(connect(stack.rpc_url, stack.accounts.owner.private_key)));
