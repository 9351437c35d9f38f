// The keyboard: `/` goes to the filter, `g` and a letter to a page, `?` lists the keys.

import { link } from "./router.js";
import { html, useEffect, useRef, useState } from "./ui.js";

const PAGES = /** @type {Readonly<Record<string, string>>} */ ({
  m: "mandates",
  n: "new",
  a: "agents",
  g: "gallery",
  e: "earn",
  t: "tasks",
  o: "rooms",
  v: "reserve",
  l: "alerts",
  s: "statements",
  r: "rules",
  h: "status",
});
const PAUSE_MS = 1_200;

export function Keys() {
  const dialog = useRef(/** @type {any} */ (null));
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let isGoing = 0;
    /** @param {KeyboardEvent} event */
    const press = (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        target.closest("input, textarea, select, dialog")
      )
        return;
      const page = PAGES[event.key];
      if (Date.now() - isGoing < PAUSE_MS && page) {
        isGoing = 0;
        location.hash = link(page);
      } else if (event.key === "g") isGoing = Date.now();
      else if (event.key === "/") toSearch(event);
      else if (event.key === "?") setOpen(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  if (!isOpen) return null;
  return html`<dialog ref=${dialog} onClose=${() => setOpen(false)} aria-labelledby="keys"><div class="stack">
    <h2 id="keys">Keys</h2>
    <dl class="pairs"><dt><kbd>/</kbd></dt><dd>Go to the filter</dd>
      ${Object.entries(PAGES).map(([key, page]) => html`<dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>Go to ${page === "new" ? "a new mandate" : page}</dd>`)}
      <dt><kbd>?</kbd></dt><dd>Show this list</dd></dl>
    <form method="dialog" class="row"><button>Close</button></form>
  </div></dialog>`;
}

/** @param {KeyboardEvent} event */
function toSearch(event) {
  const search = /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"));
  if (search === null) return;
  event.preventDefault();
  search.focus();
}
