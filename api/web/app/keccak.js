// keccak256, for checksums of addresses (EIP-55) and of Safe's batch files. Source: FIPS 202, with
// the padding of the original Keccak submission, as Ethereum has it.

const RATE = 136; // bytes that a block absorbs at 256 bits
const LANE = (1n << 64n) - 1n;

/** @type {readonly bigint[]} */
const ROUND_CONSTANTS = roundConstants();
/** Offsets of rotation in the order of rho's walk: (t + 1)(t + 2) / 2. */
const ROTATIONS = Array.from({ length: 24 }, (_, t) => BigInt((((t + 1) * (t + 2)) / 2) % 64));
/** Lanes in the order of pi's walk, from lane 1 on. */
const WALK = walk();

/**
 * @param {Uint8Array | string} input bytes, or a text in UTF-8
 * @returns {string} 0x and 64 digits in lower case
 */
export function keccak256(input) {
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  const padded = new Uint8Array((Math.floor(bytes.length / RATE) + 1) * RATE);
  padded.set(bytes);
  padded[bytes.length] = 0x01;
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80;
  const view = new DataView(padded.buffer);
  /** @type {bigint[]} */
  const state = new Array(25).fill(0n);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let lane = 0; lane < RATE / 8; lane++) {
      state[lane] = at(state, lane) ^ view.getBigUint64(start + lane * 8, true);
    }
    permute(state);
  }
  const digest = new DataView(new ArrayBuffer(32));
  for (let lane = 0; lane < 4; lane++) digest.setBigUint64(lane * 8, at(state, lane), true);
  const octets = [...new Uint8Array(digest.buffer)];
  return "0x" + octets.map((octet) => octet.toString(16).padStart(2, "0")).join("");
}

/**
 * An address with the checksum of EIP-55.
 * @param {string} address 0x and 40 digits in any case
 * @returns {string}
 */
export function checksummed(address) {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak256(digits).slice(2);
  const shown = [...digits].map((digit, i) =>
    parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return "0x" + shown.join("");
}

/**
 * An address as a person typed or pasted it.
 * @param {string} text
 * @returns {string | null} with its checksum; null where it is none, or its own checksum is wrong
 */
export function addressOf(text) {
  const typed = text.trim();
  if (!/^0x[0-9a-f]{40}$/i.test(typed)) return null;
  const address = checksummed(typed);
  const digits = typed.slice(2);
  const hasChecksum = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return hasChecksum && address !== "0x" + digits ? null : address;
}

/** @param {bigint[]} state */
function permute(state) {
  for (const constant of ROUND_CONSTANTS) {
    const columns = [0, 1, 2, 3, 4].map((x) =>
      [0, 5, 10, 15, 20].reduce((sum, y) => sum ^ at(state, x + y), 0n),
    );
    for (let lane = 0; lane < 25; lane++) {
      const [before, after] = [at(columns, (lane + 4) % 5), at(columns, (lane + 1) % 5)];
      state[lane] = at(state, lane) ^ before ^ rotate(after, 1n);
    }
    let carried = at(state, 1);
    WALK.forEach((lane, t) => {
      const next = at(state, lane);
      state[lane] = rotate(carried, ROTATIONS[t] ?? 0n);
      carried = next;
    });
    for (let y = 0; y < 25; y += 5) {
      const row = state.slice(y, y + 5);
      for (let x = 0; x < 5; x++) {
        state[y + x] = at(row, x) ^ ((at(row, (x + 1) % 5) ^ LANE) & at(row, (x + 2) % 5));
      }
    }
    state[0] = at(state, 0) ^ constant;
  }
}

/**
 * @param {readonly bigint[]} lanes
 * @param {number} i
 */
function at(lanes, i) {
  return lanes[i] ?? 0n;
}

/**
 * @param {bigint} lane
 * @param {bigint} by
 */
function rotate(lane, by) {
  return ((lane << by) | (lane >> (64n - by))) & LANE;
}

function walk() {
  const lanes = [];
  for (let t = 0, x = 1, y = 0; t < 24; t++) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    lanes.push(x + 5 * y);
  }
  return lanes;
}

function roundConstants() {
  const constants = [];
  let register = 1;
  for (let round = 0; round < 24; round++) {
    let constant = 0n;
    for (let bit = 0; bit < 7; bit++) {
      if (register & 1) constant |= 1n << ((1n << BigInt(bit)) - 1n);
      register = register & 0x80 ? ((register << 1) ^ 0x171) & 0xff : register << 1;
    }
    constants.push(constant);
  }
  return constants;
}
