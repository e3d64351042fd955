// Terminal output: colours of ANSI sequences as classes, everything else as text.

import { AnsiUp } from "../vendor/ansi_up.js";
import { h } from "./dom.js";

const LONGEST = 200_000;

// The library writes HTML with inline styles. Its parser is used, its writer is not.
class Pieces extends AnsiUp {
  pieces = [];

  transform_to_html(piece) {
    if (piece.text) this.pieces.push({ ...piece });
    return "";
  }
}

/** Nodes for `text`. Only the end of a very long one. */
export function terminalText(text) {
  const parser = new Pieces();
  parser.url_allowlist = {}; // links of the output stay text
  const cut = text.length > LONGEST;
  parser.ansi_to_html(cut ? text.slice(-LONGEST) : text);
  const nodes = parser.pieces.map(node);
  return cut ? ["… what came before is left out\n", ...nodes] : nodes; // how much is not known: who calls has cut it, too
}

function node(piece) {
  const classes = ["bold", "faint", "italic", "underline"].filter((name) => piece[name]).map((name) => `ansi-${name}`);
  const style = {};
  paint(piece.fg, "fg", "color", classes, style);
  paint(piece.bg, "bg", "background-color", classes, style);
  if (!classes.length && !Object.keys(style).length) return piece.text;
  return h("span", { class: classes.join(" ") || undefined, style }, piece.text);
}

function paint(colour, end, property, classes, style) {
  if (!colour) return;
  if (colour.class_name === "truecolor") style[property] = `rgb(${colour.rgb.map(Number).join(", ")})`;
  else classes.push(`${colour.class_name}-${end}`);
}
