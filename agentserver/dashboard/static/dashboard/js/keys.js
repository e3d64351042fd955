// Single keys as shortcuts, which can be switched off; never while somebody writes.

import { $ } from "./dom.js";

const STORE = "dashboard.keys";

/** `commands`: key to function. */
export function shortcuts(commands, box) {
  box.checked = localStorage.getItem(STORE) !== "off";
  box.addEventListener("change", () => localStorage.setItem(STORE, box.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    const writing = event.target.closest?.("input, textarea, select, dialog");
    if (!box.checked || writing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in commands)) return;
    event.preventDefault();
    commands[event.key]();
  });
}

/** Move the focus to the event after (1) or before (-1) the present one. */
export function step(direction) {
  const items = [...document.querySelectorAll(".timeline .item")];
  const here = items.indexOf(document.activeElement?.closest?.(".item"));
  const scroller = $("#scroller").getBoundingClientRect();
  const start = here >= 0 ? here + direction : items.findIndex((one) => one.getBoundingClientRect().bottom > scroller.top + 20);
  const next = items[Math.min(Math.max(start, 0), items.length - 1)];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}
