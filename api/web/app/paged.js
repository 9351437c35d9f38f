// A list that grows when asked: its newest page follows the service, older pages are read one at a time.

import { useRef, useState } from "../vendor/hooks.js";
import { useResource } from "./resource.js";
import { html } from "./ui.js";
import { useWork } from "./work.js";

/**
 * `next`: the cursor behind these rows; null where they are all.
 * @template Row
 * @typedef {{rows: readonly Row[], next: string | null}} PageOf
 */

/**
 * What was read, with the newest page read again. Rows behind it stay where the pages meet; where they do not, more
 * happened than a page holds, and the list begins again.
 * @template Row
 * @param {PageOf<Row> | null} held
 * @param {PageOf<Row>} page
 * @param {(row: Row) => number} idOf
 * @returns {PageOf<Row>}
 */
function joined(held, page, idOf) {
  const last = page.rows.at(-1);
  if (held === null || last === undefined || page.next === null) return page;
  const place = held.rows.findIndex((row) => idOf(row) === idOf(last));
  if (place < 0) return page;
  const ids = new Set(page.rows.map(idOf));
  const older = held.rows.slice(place + 1).filter((row) => !ids.has(idOf(row)));
  return older.length === 0 ? page : { rows: [...page.rows, ...older], next: held.next };
}

/**
 * For a component that is made anew, by its key, for another list.
 * @template Row
 * @param {(cursor: string | null, stop?: AbortSignal) => Promise<PageOf<Row>>} read
 * @param {{idOf: (row: Row) => number, everyS?: number}} options
 */
export function usePaged(read, { idOf, everyS = 0 }) {
  const held = useRef(/** @type {PageOf<Row> | null} */ (null));
  const [, setVersion] = useState(0);
  const newest = useResource(
    async (stop) => {
      held.current = joined(held.current, await read(null, stop), idOf);
      return held.current;
    },
    [],
    { everyS },
  );
  const { isBusy, error, run } = useWork();
  const older = () =>
    run(async () => {
      const before = held.current;
      if (before === null || before.next === null) return;
      const page = await read(before.next);
      const now = held.current ?? before;
      const ids = new Set(now.rows.map(idOf));
      const more = page.rows.filter((row) => !ids.has(idOf(row)));
      // the newest page was begun again meanwhile: what was read here is not behind it
      if (now.next === before.next)
        held.current = { rows: [...now.rows, ...more], next: page.next };
      setVersion((version) => version + 1);
    });
  return {
    found: { ...newest, data: newest.data === null ? null : held.current },
    older: { isBusy, error, run: older },
  };
}

/** @param {{next: string | null, isBusy: boolean, onMore: () => void}} props */
export function Older({ next, isBusy, onMore }) {
  if (next === null) return null;
  return html`<div class="row"><button type="button" disabled=${isBusy} onClick=${onMore}>${isBusy ? "Reading …" : "Show older"}</button></div>`;
}
