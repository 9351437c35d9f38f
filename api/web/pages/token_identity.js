// Is this ticker one coin everywhere? Coins of exchanges, and the contracts that make them one.

import { cut, words } from "../app/format.js";
import { Letter } from "../app/market.js";
import { Badge, Hash, html, Unknown } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").TokenAsset} TokenAsset
 * @typedef {import("../app/answers.js").TokenNetwork} TokenNetwork
 * @typedef {{x: number, y: number, text: string, group: number}} Node
 */

const VERDICTS = /** @type {Readonly<Record<string, [string, string]>>} */ ({
  verified_same: ["settled", "the same coin on every exchange, by its contracts"],
  partial: ["", "the same coin as far as contracts are known; some exchanges report none"],
  collision: ["loss", "several coins share this ticker"],
  no_contract_data: ["", "no exchange reports a contract, so listings cannot be matched"],
});
const ROW = 34;
const MOST_NODES = 40;

/** @param {{asset: TokenAsset, networks: readonly TokenNetwork[]}} props */
export function Identity({ asset, networks }) {
  const [tone, says] = VERDICTS[asset.identity ?? ""] ?? ["", "not computed yet"];
  return html`<section class="card stack" aria-labelledby="identity"><h2 id="identity">Identity of ${asset.token}</h2>
    <p class="row"><${Badge} tone=${tone}>${asset.identity ? words(asset.identity) : "unknown"}<//><span>${says}</span></p>
    <dl class="pairs"><dt>Best venue</dt><dd><${Letter} letter=${asset.grade} /></dd><dt>Worst venue</dt><dd><${Letter} letter=${asset.grade_worst} /></dd><dt>Transfers, all venues</dt><dd>${asset.transfer ? words(asset.transfer) : html`<${Unknown} />`}</dd></dl>
    ${asset.groups.length === 0 ? null : html`<${Graph} asset=${asset} networks=${networks} />`}
    ${
      asset.contracts.length === 0
        ? null
        : html`<details><summary>Contracts</summary><div class="table" tabindex="0"><table><thead><tr><th scope="col">Chain</th><th scope="col">Address</th><th scope="col">Listed by</th></tr></thead>
        <tbody>${asset.contracts.map((one) => html`<tr><td><code>${cut(one.chain, 40)}</code></td><td>${one.address === "native" ? "the chain's own coin" : html`<${Hash} value=${one.address} label="the address" />`}</td><td>${one.exchanges.join(", ")}</td></tr>`)}</tbody></table></div></details>`
    }
    ${asset.links.some((one) => one.weak) ? html`<p class="quiet">A dashed line is a weak link: only one exchange reports it, and it never merges what several others confirm.</p>` : null}</section>`;
}

/** Coins on the left, contracts on the right; what is one asset has one line style. @param {{asset: TokenAsset, networks: readonly TokenNetwork[]}} props */
function Graph({ asset, networks }) {
  const coins = nodes(
    asset.groups.flatMap((group, place) => group.coins.map((text) => ({ text, group: place }))),
    8,
  );
  const keys = nodes(
    asset.contracts.map((one) => ({ text: `${one.chain}:${one.address}`, group: 0 })),
    520,
  );
  const lines = linesOf(asset, networks, coins, keys);
  const height = Math.max(coins.size, keys.size) * ROW + 8;
  const about = `${coins.size} coins of exchanges and ${keys.size} contracts in ${asset.groups.length} ${asset.groups.length === 1 ? "group" : "groups"}. The table of contracts has the same.`;
  return html`<div class="table" tabindex="0" role="region" aria-label="Identity graph"><svg class="graph" viewBox=${`0 0 760 ${height}`} width="760" height=${height} role="img" aria-label=${about}>
    ${lines.map(({ coin, key }) => html`<line class="tells" x1=${coin.x + 190} y1=${coin.y} x2=${key.x - 6} y2=${key.y} />`)}
    ${asset.links.map((one) => {
      const [from, to] = [keys.get(one.one), keys.get(one.other)];
      return from && to
        ? html`<path d=${`M${from.x - 6},${from.y} C${from.x - 46},${from.y} ${to.x - 46},${to.y} ${to.x - 6},${to.y}`} class=${one.refused ? "refused" : one.weak ? "weak" : ""} />`
        : null;
    })}
    ${[...coins.values()].map((one) => html`<g key=${one.text}><circle cx=${one.x + 186} cy=${one.y} r="4" /><text x=${one.x + 176} y=${one.y + 5} text-anchor="end">${cut(one.text, 24)}</text></g>`)}
    ${[...keys.values()].map((one) => html`<g key=${one.text}><circle cx=${one.x - 4} cy=${one.y} r="4" /><text x=${one.x + 8} y=${one.y + 5}>${shortKey(one.text)}</text></g>`)}
  </svg></div>`;
}

/**
 * Which coin is on which contract: what an exchange reports of its networks, and where it reports none, the
 * contracts that it is known to list.
 * @param {TokenAsset} asset @param {readonly TokenNetwork[]} networks
 * @param {ReadonlyMap<string, Node>} coins @param {ReadonlyMap<string, Node>} keys
 */
function linesOf(asset, networks, coins, keys) {
  /** @type {Map<string, {coin: Node, key: Node}>} */
  const lines = new Map();
  const join = (/** @type {string} */ name, /** @type {string} */ text) => {
    const coin = coins.get(name);
    const key = keys.get(text) ?? keys.get(text.toLowerCase());
    if (coin && key) lines.set(`${name} ${key.text}`, { coin, key });
  };
  for (const one of networks)
    join(
      `${one.exchange}:${one.ticker}`,
      `${one.chain}:${one.native ? "native" : (one.contract ?? "")}`,
    );
  for (const contract of asset.contracts)
    for (const name of coins.keys())
      if (contract.exchanges.includes(name.slice(0, name.indexOf(":"))))
        join(name, `${contract.chain}:${contract.address}`);
  return [...lines.values()];
}

/** @param {{text: string, group: number}[]} found @param {number} x @returns {Map<string, Node>} */
function nodes(found, x) {
  return new Map(
    found
      .slice(0, MOST_NODES)
      .map(({ text, group }, place) => [text, { x, y: place * ROW + ROW / 2 + 4, text, group }]),
  );
}

/** @param {string} key */
function shortKey(key) {
  const at = key.lastIndexOf(":");
  const [chain, address] = [key.slice(0, at), key.slice(at + 1)];
  return `${cut(chain, 14)} ${address.length > 12 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address}`;
}
