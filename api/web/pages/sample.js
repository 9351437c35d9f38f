// What does a mandate look like? The sample of a simulated world, read-only and without signing in.

import { get } from "../app/api.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Empty, html } from "../app/ui.js";
import Mandate from "./mandate.js";

/** @typedef {import("../app/answers.js").Answer<"/overview">} Overview */

export default function Sample() {
  const found = useResource((stop) => get("/overview", undefined, stop), []);
  return html`<${Read} of=${found} what="the sample">${(/** @type {Overview} */ data) =>
    data.sample_mandate_id === null
      ? html`<${Empty} title="There is no sample here"><p class="quiet">A stack of your own has one after <code>make seed-world</code>.</p>
        <div class="row"><a class="button" href=${link("mandates")}>Go to the first page</a></div><//>`
      : html`<${Mandate} id=${data.sample_mandate_id} part="" />`}<//>`;
}
