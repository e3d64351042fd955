// Elements from code: text is always a text node, so nothing an agent wrote becomes markup.

/** An element. `props`: attributes; `class`, `data`, `on` (listeners), `style` (through the CSSOM). */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export const $ = (selector, root = document) => root.querySelector(selector);

const MOST_TOASTS = 4;

/** Says something in the corner for some seconds. */
export function toast(text) {
  const place = $("#toasts");
  while (place.children.length >= MOST_TOASTS) place.firstChild.remove();
  const shown = h("p", {}, String(text));
  place.append(shown);
  setTimeout(() => shown.remove(), 7000);
}
