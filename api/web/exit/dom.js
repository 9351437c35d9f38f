// Elements without HTML: every text is a text node, every listener is added by code.

/**
 * @typedef {Node | string | null | false} Child
 * @typedef {Child | readonly Child[]} Children
 * @typedef {Record<string, string | boolean | ((event: any) => void)>} Attributes
 */

/**
 * An element. Attributes that are functions are listeners (`click`), true ones are empty, false
 * ones are left out.
 * @param {string} tag
 * @param {Attributes} attributes
 * @param {...Children} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flat(children));
  return element;
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * Replace what a place shows. What had the focus, was open or was typed stays so, by its id.
 * @param {HTMLElement} place
 * @param {...Children} children
 */
export function show(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement?.id : "";
  const open = [...place.querySelectorAll("details[open]")].map((one) => one.id);
  const typed = [...place.querySelectorAll("input")]
    .filter(({ value, defaultValue }) => value !== defaultValue)
    .map(({ id, value }) => ({ id, value }));
  place.replaceChildren(...flat(children));
  for (const { id, value } of typed) {
    const input = document.getElementById(id);
    if (input instanceof HTMLInputElement) input.value = value;
  }
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * @param {string} id
 * @param {string} label
 * @param {() => void} click
 * @param {{isPrimary?: boolean, isDisabled?: boolean}} [more]
 */
export function button(id, label, click, { isPrimary = false, isDisabled = false } = {}) {
  const kind = isPrimary ? "button primary" : "button";
  return el("button", { id, type: "button", class: kind, disabled: isDisabled, click }, label);
}

/**
 * @param {readonly Children[]} children
 * @returns {(Node | string)[]}
 */
function flat(children) {
  return children.flat().filter((child) => child !== null && child !== false);
}
