// What the model says while it says it: shown below the timeline until the event itself is there.

import { h } from "./dom.js";

const MOST = 20; // streams at once
const LONGEST = 200_000;

export class Streams {
  constructor(place) {
    this.place = place;
    this.streams = new Map();
  }

  begin({ item_id: id }) {
    this.end(id);
    if (this.streams.size >= MOST) this.end(this.streams.keys().next().value);
    const reasoning = h("div", { class: "reasoning", hidden: true });
    const said = h("div", { class: "reasoning cursor" });
    said.style.borderLeft = said.style.paddingLeft = "0";
    said.style.color = "inherit";
    const element = h("article", { class: "item message", "aria-label": "The agent is speaking" },
      h("div", { class: "meta" }, h("span", { class: "who-said" }, "Agent")), reasoning, said);
    this.streams.set(id, { element, said, reasoning, length: 0 });
    this.place.append(element);
  }

  go(frame) {
    if (!this.streams.has(frame.item_id)) this.begin(frame);
    const stream = this.streams.get(frame.item_id);
    const target = frame.kind === "text" ? stream.said : frame.kind === "reasoning" ? stream.reasoning : null;
    if (!target || stream.length > LONGEST) return;
    target.hidden = false;
    const text = String(frame.content ?? "");
    stream.length += text.length;
    target.append(text);
  }

  /** The event has come, or it never will. */
  end(id) {
    this.streams.get(id)?.element.remove();
    this.streams.delete(id);
  }

  clear() {
    for (const id of [...this.streams.keys()]) this.end(id);
  }
}
