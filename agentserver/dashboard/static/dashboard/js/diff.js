// Two versions of a file as a table of added and removed lines.

import { h } from "./dom.js";

const MOST_LINES = 2000;
const SECONDS = 1;

/** The difference as an element. `name`: the file's, for its head. */
export function difference(name, before, after) {
  const head = name ? [h("div", { class: "file" }, name)] : [];
  const patch = globalThis.Diff.structuredPatch("", "", before ?? "", after ?? "", "", "", {
    context: 3,
    timeout: SECONDS * 1000,
  });
  if (!patch) return h("div", { class: "diff" }, head, h("div", { class: "file" }, "Too different to be shown."));
  const rows = [];
  for (const hunk of patch.hunks) {
    if (rows.length > MOST_LINES) break;
    rows.push(line("hunk", "", `@@ ${hunk.oldStart} → ${hunk.newStart}`), ...lines(hunk));
  }
  const cut = rows.length > MOST_LINES ? [h("div", { class: "file" }, "The rest is left out.")] : [];
  const table = rows.length ? h("table", {}, h("tbody", {}, rows.slice(0, MOST_LINES))) : h("div", { class: "file" }, "No difference.");
  return h("div", { class: "diff", tabindex: 0, role: "region", "aria-label": `Changes of ${name || "a file"}` }, head, table, cut);
}

function lines(hunk) {
  let place = hunk.newStart;
  return hunk.lines.map((text) => {
    const kind = text[0] === "+" ? "added" : text[0] === "-" ? "removed" : "";
    const number = kind === "removed" ? "" : String(place++);
    return line(kind, number, text);
  });
}

const line = (kind, number, text) => h("tr", { class: kind || undefined }, h("td", {}, number), h("td", {}, text));
