// One bash command as a box that folds, with its output in order.

import { terminalText } from "./ansi.js";
import { attempt, call } from "./api.js";
import { h } from "./dom.js";

const KEPT = 400_000; // characters of output shown of one command: its end
const PAGES = 20; // pages of a hundred outputs fetched for one command

export class Command {
  /** `item`: id, timestamp, command, cwd, running, exit_code. `live`: it began under our eyes. */
  constructor(item, live = false) {
    Object.assign(this, { id: item.id, timestamp: item.timestamp });
    this.outputs = new Map(); // order -> text
    this.size = 0; // characters of them
    this.complete = live;
    this.closed = false; // its last output is here
    this.drawing = false;
    this.word = h("span", { class: "result" });
    this.stop = h("button", { class: "button danger small", type: "button", on: { click: () => this.end() } }, "Stop");
    this.screen = h("div", { class: "terminal", tabindex: 0, role: "region", "aria-label": "Output" });
    const head = h("summary", {}, h("span", { class: "brief" }, item.command.trim().split("\n", 1)[0]), h("time", { class: "result", datetime: item.timestamp }, item.timestamp.slice(0, 19).replace("T", " ")), this.word);
    const typed = h("div", { class: "terminal", tabindex: 0, role: "region", "aria-label": "Command" }, h("span", { class: "prompt" }, item.command));
    this.box = h("details", { class: "action" }, head, item.cwd && h("div", { class: "fields" }, `in ${item.cwd}`), typed, this.screen);
    this.box.addEventListener("toggle", () => this.box.open && this.fetch());
    this.element = h("article", { class: "command", "aria-label": "Bash command", data: { command: item.id } }, this.box, this.stop);
    this.update(item);
  }

  open() {
    this.box.open = true; // its toggle fetches
  }

  update({ running, exit_code: code }) {
    if (this.ended) return;
    this.ended = !running;
    this.stop.hidden = !running;
    this.word.className = running ? "result busy" : code === 0 ? "result good" : "result bad";
    this.word.textContent = running ? "running" : code === 0 ? "done" : code === null || code === undefined ? "ended" : `exit ${code}`;
    this.box.classList.toggle("bad", !running && code !== 0);
  }

  output(event) {
    if (event.kind !== "BashOutput") return;
    const text = (event.stdout ?? "") + (event.stderr ?? "");
    this.size += text.length - (this.outputs.get(event.order) ?? "").length;
    this.outputs.set(event.order, text);
    if (this.size > 2 * KEPT) this.trim();
    if (event.exit_code !== null) {
      this.closed = true;
      this.update({ running: false, exit_code: event.exit_code });
    }
    this.draw();
  }

  /** Drop the oldest output, down to what is shown: a command may print for days. */
  trim() {
    for (const order of [...this.outputs.keys()].sort((a, b) => a - b)) {
      const { length } = this.outputs.get(order);
      if (this.size - length < KEPT) return;
      this.outputs.delete(order);
      this.size -= length;
    }
  }

  /** After a break: what was missed is fetched. */
  again() {
    if (this.closed) return;
    this.complete = false;
    if (this.box.open) this.fetch();
  }

  /** The newest output first, until there is as much as is shown. */
  async fetch() {
    if (this.complete) return;
    this.complete = true;
    const query = `/api/bash/bash_events/search?command_id__eq=${this.id}&sort_order=TIMESTAMP_DESC&limit=100`;
    try {
      for (let page = 0, next = null, got = 0; page === 0 || (next && page < PAGES && got < KEPT); page++) {
        const found = await call("GET", next ? `${query}&page_id=${encodeURIComponent(next)}` : query);
        for (const event of found.items) {
          this.output(event);
          got += (event.stdout ?? "").length + (event.stderr ?? "").length;
        }
        next = found.next_page_id;
      }
    } catch {
      this.complete = false; // asked again when it is opened again
    }
    this.draw();
  }

  draw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const ends = this.screen.scrollHeight - this.screen.scrollTop - this.screen.clientHeight < 40;
      let text = [...this.outputs].sort(([a], [b]) => a - b).map(([, piece]) => piece).join("");
      if (text.length > KEPT) text = text.slice(-KEPT);
      this.screen.replaceChildren(...terminalText(text));
      this.screen.hidden = text === "";
      if (ends) this.screen.scrollTop = this.screen.scrollHeight;
    });
  }

  end() {
    attempt("POST", `/api/bash/bash_commands/${this.id}/stop`);
  }
}
