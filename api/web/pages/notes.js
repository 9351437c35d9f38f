// What is known of a token, as its note says it, and which notes lead to it.

import { get, text } from "../app/api.js";
import { cut, words } from "../app/format.js";
import { saveFile } from "../app/long_work.js";
import { blocks, partsOf } from "../app/markdown.js";
import { Letter } from "../app/market.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Badge, Empty, html, PageHead } from "../app/ui.js";

/** @typedef {import("../app/answers.js").NoteList} NoteList */

const SHOWN = 200;
const INDEX = "_index";

/** @param {{path: string[]}} props */
export default function Notes({ path: [first, second] }) {
  if (first === undefined) return html`<${All} />`;
  if (second !== undefined)
    return html`<${Hub} key=${`${first}/${second}`} kind=${first} file=${`${first}/${second}`} />`;
  return html`<${Note} key=${first} token=${first} />`;
}

/**
 * Where a wikilink leads here. A file whose name is no ticker ends in `--` and a part of a hash; its label is one.
 * @param {string} path @param {string} label
 */
function hrefOf(path, label) {
  if (path === INDEX) return link("notes");
  if (path.includes("/")) return link("notes", ...path.split("/", 2));
  return link("notes", path.includes("--") ? label : path);
}

function All() {
  const q = (place.value.query.get("q") ?? "").slice(0, 32);
  const found = useResource((stop) => get("/kg/notes", { q, limit: SHOWN }, stop), [q]);
  return html`<${PageHead} title="Notes" lead="What is known of a token as markdown, with what is not known left out. Every ticker has a note.">
      <button type="button" onClick=${() => saveFile("notes.zip", "all notes as a zip", "/kg/export")}>All notes as a zip</button><//>
    <form class="row" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>How the ticker begins <input type="search" maxlength="32" value=${q} onInput=${(/** @type {any} */ event) => setQuery({ q: event.target.value })} /></label>
      ${q ? html`<a class="button" href=${link("notes", q)}>Read the note of ${cut(q, 32)}</a>` : null}</form>
    <${Read} of=${found} what="the notes">${(/** @type {NoteList} */ data) =>
      data.notes.length === 0
        ? q === ""
          ? html`<${Empty} title="No token is known yet"><p class="quiet">Notes are of the tokens that exchanges list: they appear with the scanner's first minute.</p><div class="row"><a class="button" href=${link("status")}>See the status</a></div><//>`
          : html`<${Empty} title="No exchange lists such a ticker"><p class="quiet">Its note says so, and has what the community reported of it, if anything.</p><//>`
        : html`<${Tokens} data=${data} />`}<//>`;
}

/** @param {{data: NoteList}} props */
function Tokens({ data }) {
  return html`<section class="card stack"><ul class="list">${data.notes.map(
    (one) =>
      html`<li class="head"><a href=${link("notes", one.token)}><strong>${one.token}</strong></a><span class="row">${one.identity === "collision" ? html`<${Badge} tone="loss">several coins<//>` : null}<span class="quiet">${one.exchanges.join(", ")}</span><${Letter} letter=${one.grade} provisional=${null} /></span></li>`,
  )}</ul>${data.next_after === null ? null : html`<p class="quiet">And more: write how the ticker begins.</p>`}</section>`;
}

/** @param {{kind: string, file: string}} props what many notes lead to */
function Hub({ kind, file }) {
  const found = useResource(
    (stop) => get("/kg/notes", { links_to: file, limit: SHOWN }, stop),
    [file],
  );
  const name = words(file.slice(kind.length + 1).replace(/--[0-9a-f]{8}$/, ""));
  return html`<${PageHead} title=${name} lead=${html`<${Badge}>${cut(kind, 20)}<//> Tokens whose notes lead here`}><a class="button" href=${link("notes")}>All notes</a><//>
    <${Read} of=${found} what="the notes that lead here">${(/** @type {NoteList} */ data) =>
      data.notes.length === 0
        ? html`<${Empty} title="No note leads here"><p class="quiet">Links are collected once an hour.</p><//>`
        : html`<${Tokens} data=${data} />`}<//>`;
}

/** @param {{token: string}} props */
function Note({ token }) {
  const found = useResource(() => text(`/kg/${encodeURIComponent(token)}.md`), [token]);
  return html`<${PageHead} title=${token}><a class="button" href=${link("notes")}>All notes</a><a class="button" href=${`/kg/${encodeURIComponent(token)}.md`} download=${`${encodeURIComponent(token)}.md`}>Markdown</a><//>
    <${Read} of=${found} what="the note">${(/** @type {string} */ note) => {
      const { front, body } = partsOf(note);
      return html`<article class="card stack note">${blocks(body, hrefOf)}
        <details><summary>Frontmatter</summary><pre>${front}</pre></details></article>
        <${Backlinks} token=${token} />`;
    }}<//>`;
}

/** @param {{token: string}} props */
function Backlinks({ token }) {
  const found = useResource(
    (stop) => get("/kg/notes", { links_to: token, limit: SHOWN }, stop),
    [token],
  );
  return html`<section class="card stack" aria-labelledby="backlinks"><h2 id="backlinks">Linked from</h2>
    <${Read} of=${found} what="the links">${(/** @type {NoteList} */ data) =>
      data.notes.length === 0
        ? html`<p class="quiet">No other token's note leads here. Links are collected once an hour.</p>`
        : html`<ul class="list">${data.notes.map((one) => html`<li><a href=${link("notes", one.token)}>${one.token}</a></li>`)}</ul>`}<//></section>`;
}
