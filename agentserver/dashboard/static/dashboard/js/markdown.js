// Markdown of messages: no raw HTML, and what comes out is sanitised once more before it is shown.

import MarkdownIt from "../vendor/markdown-it.js";
import DOMPurify from "../vendor/purify.js";
import { h } from "./dom.js";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
const LONGEST = 100_000;
const ALLOWED = {
  ALLOWED_TAGS: ["p", "br", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "hr",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
  ALLOWED_ATTR: ["href", "title", "start"],
  RETURN_DOM_FRAGMENT: true,
};

// An image would call out to whoever the agent's text names: its text is shown instead.
markdown.renderer.rules.image = (tokens, index) => markdown.utils.escapeHtml(`[image: ${tokens[index].content}]`);

/** An element with `text` rendered. Very long texts stay plain. */
export function rendered(text) {
  if (text.length > LONGEST) return h("div", { class: "prose reasoning" }, text);
  const shown = h("div", { class: "prose" }, DOMPurify.sanitize(markdown.render(text), ALLOWED));
  for (const link of shown.querySelectorAll("a")) {
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
  }
  for (const block of shown.querySelectorAll("pre")) block.tabIndex = 0; // so that keys can scroll it
  return shown;
}
