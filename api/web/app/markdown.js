// Markdown of notes as elements: headings, lists, tables, paragraphs; bold, emphasis, code, links, wikilinks; a time in a
// cell of its own as pages write it. What is anything else is shown as the text it is: there is no HTML, no image, and
// no link but to https.

import { clock } from "./format.js";
import { html } from "./ui.js";

/**
 * @typedef {(path: string, label: string) => string} WikiHref where a wikilink leads in this page
 * @typedef {{front: string, body: string}} Parts
 */

/** @param {string} note @returns {Parts} */
export function partsOf(note) {
  const found = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(note);
  return found ? { front: found[1] ?? "", body: found[2] ?? "" } : { front: "", body: note };
}

/**
 * @param {string} body @param {WikiHref} href
 * @returns {any[]} elements
 */
export function blocks(body, href) {
  const lines = body.split("\n");
  const found = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const kind = kindOf(line);
    let end = at + 1;
    if (kind !== "heading")
      while (end < lines.length && kindOf(lines[end] ?? "") === kind) end += 1;
    if (kind !== "blank") found.push(block(kind, lines.slice(at, end), href));
    at = end;
  }
  return found;
}

/** @param {string} line */
function kindOf(line) {
  if (line.trim() === "") return "blank";
  if (/^#{1,3} /.test(line)) return "heading";
  if (line.startsWith("- ")) return "list";
  return line.startsWith("|") ? "table" : "paragraph";
}

/** @param {string} kind @param {string[]} lines @param {WikiHref} href */
function block(kind, lines, href) {
  const [first = ""] = lines;
  if (kind === "list")
    return html`<ul class="list">${lines.map((one) => html`<li>${inline(one.slice(2), href)}</li>`)}</ul>`;
  if (kind === "table") return table(lines, href);
  if (kind === "paragraph") return html`<p>${inline(lines.join(" "), href)}</p>`;
  const text = inline(first.replace(/^#+ /, ""), href);
  // the note's own title is the page's
  if (first.startsWith("# ")) return null;
  return first.startsWith("## ") ? html`<h2>${text}</h2>` : html`<h3>${text}</h3>`;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** @param {string[]} lines @param {WikiHref} href */
function table([head = "", rule = "", ...rows], href) {
  const isNumber = cells(rule).map((one) => one.endsWith(":"));
  const cell = (/** @type {string} */ one, /** @type {number} */ place) =>
    html`<td class=${isNumber[place] ? "number" : undefined}>${TIME.test(one) ? html`<time datetime=${one}>${clock(one)}</time>` : inline(one, href)}</td>`;
  return html`<div class="table" tabindex="0"><table>
    <thead><tr>${cells(head).map((one, place) => html`<th scope="col" class=${isNumber[place] ? "number" : undefined}>${inline(one, href)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells(row).map(cell)}</tr>`)}</tbody></table></div>`;
}

/** @param {string} row */
function cells(row) {
  const found = row.match(/(?:\\.|[^|\\])*\|/g) ?? [];
  return found.slice(1).map((one) => one.slice(0, -1).trim());
}

// In the order in which they are tried; what none of them begins is text.
const INLINE =
  /\\([!-/:-@[-`{-~])|`([^`]+)`|\[\[([^\]|]+)(?:\|([^\]]+))?\]\]|\[((?:\\.|[^\]\\])*)\]\(<(https:\/\/[^<>\s]+)>\)|\*\*((?:\\.|[^*\\])+)\*\*|\*((?:\\.|[^*\\])+)\*/g;

/** @param {string} text @param {WikiHref} href @returns {any[]} */
function inline(text, href) {
  const found = [];
  let from = 0;
  for (const one of text.matchAll(INLINE)) {
    if (one.index > from) found.push(text.slice(from, one.index));
    found.push(part(one, href));
    from = one.index + one[0].length;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}

/** @param {RegExpExecArray} found @param {WikiHref} href */
function part([, sign, code, path, label, linked, url, bold, slanted], href) {
  if (sign !== undefined) return sign;
  if (code !== undefined) return html`<code>${code}</code>`;
  if (path !== undefined) {
    const shown = label ?? path;
    return html`<a href=${href(path, shown)}>${shown}</a>`;
  }
  if (url !== undefined)
    return html`<a href=${url} rel="noopener noreferrer nofollow" target="_blank">${inline(linked ?? "", href)}</a>`;
  if (bold !== undefined) return html`<strong>${inline(bold, href)}</strong>`;
  return html`<em>${inline(slanted ?? "", href)}</em>`;
}
