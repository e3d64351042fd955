// The timeline: all events by sequence, in chunks of which only those near the screen have elements.

import { h } from "./dom.js";
import { roleOf } from "./events.js";
import { item } from "./items.js";

const CHUNK = 100; // events, as the server cuts them
const GUESS = 4000; // pixels of a chunk that was never shown
const NEAR = "1200px 0px"; // how far from the screen elements are made
const KEPT = 200; // chunks whose events stay in memory
const BOTTOM = 90; // pixels from the end within which it counts as being there

class Chunk {
  constructor(index) {
    this.index = index;
    this.element = h("div", { class: "chunk", data: { index }, style: { "min-height": `${GUESS}px` } });
    this.near = this.shown = this.complete = this.loading = false;
  }
}

export class Timeline {
  /** `load(first)` gives `{items: [{seq, event}]}`; `context` is handed to every item. */
  constructor({ scroller, place, load, context, moved, loaded }) {
    Object.assign(this, { scroller, place, load, context, moved, loaded });
    this.events = new Map(); // sequence -> event
    this.actions = new Map(); // event id -> sequence of an action
    this.results = new Map(); // event id of an action -> sequence of its result
    this.chunks = [];
    this.last = -1; // the highest sequence there is
    this.stuck = true; // whether the end is followed
    this.top = 0;
    this.observer = new IntersectionObserver((seen) => seen.forEach((one) => this.see(one)), { root: scroller, rootMargin: NEAR });
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    const grown = new ResizeObserver(() => this.stuck && this.toEnd());
    for (const part of [scroller, ...scroller.children]) grown.observe(part);
  }

  /** That events up to `last` exist; those not given yet are loaded when they come near. */
  extend(last) {
    this.last = Math.max(this.last, last);
    while (this.chunks.length * CHUNK <= this.last) {
      const chunk = new Chunk(this.chunks.length);
      this.chunks.push(chunk);
      this.place.append(chunk.element);
      this.observer.observe(chunk.element);
    }
  }

  /** One event; true if it is new. Safe to call again with the same. */
  add(seq, event) {
    if (this.events.has(seq)) return false;
    const fresh = seq > this.last;
    const chunk = this.chunks[Math.floor(seq / CHUNK)];
    // What is appended to a complete chunk keeps it complete, and so does the first of a new one.
    const whole = fresh && (chunk ? chunk.complete : seq % CHUNK === 0);
    this.extend(seq);
    this.remember(seq, event);
    const home = this.chunkOf(seq);
    if (whole) home.complete = true;
    if (home.near && home.complete && !home.shown) this.show(home);
    else if (home.shown) this.place_(seq);
    this.pair(event);
    return true;
  }

  chunkOf(seq) {
    return this.chunks[Math.floor(seq / CHUNK)];
  }

  remember(seq, event) {
    this.events.set(seq, event);
    const role = roleOf(event);
    if (role === "action") this.actions.set(event.id, seq);
    if (role === "result" && event.action_id) this.results.set(event.action_id, seq);
    if (event.kind === "AgentErrorEvent" && event.tool_call_id) this.results.set(`call ${event.tool_call_id}`, seq);
  }

  resultOf(event) {
    const seq = this.results.get(event.id) ?? this.results.get(`call ${event.tool_call_id}`);
    return seq === undefined ? null : this.events.get(seq) ?? null;
  }

  actionOf(event) {
    const direct = this.actions.get(event.action_id);
    if (direct !== undefined || event.kind !== "AgentErrorEvent") return direct;
    for (const [, seq] of [...this.actions].reverse()) if (this.events.get(seq)?.tool_call_id === event.tool_call_id) return seq;
    return undefined;
  }

  /** Show anew what an event changes elsewhere: its action, or the result that stood alone. */
  pair(event) {
    const role = roleOf(event);
    const other = role === "result" ? this.actionOf(event) : role === "action" ? this.results.get(event.id) : undefined;
    if (other !== undefined && this.chunkOf(other)?.shown) this.place_(other);
  }

  // Chunks that come near and go far

  see({ target, isIntersecting }) {
    const chunk = this.chunks[Number(target.dataset.index)];
    chunk.near = isIntersecting;
    if (!isIntersecting) this.hide(chunk);
    else if (chunk.complete) this.show(chunk);
    else this.fetch(chunk);
  }

  async fetch(chunk) {
    if (chunk.loading) return;
    chunk.loading = true;
    try {
      const { items } = await this.load(chunk.index * CHUNK);
      const fresh = items.filter(({ seq }) => !this.events.has(seq));
      for (const { seq, event } of fresh) this.remember(seq, event);
      chunk.complete = true;
      if (chunk.near) this.show(chunk);
      for (const { event } of fresh) this.pair(event);
      this.complement(chunk);
      this.forget();
      this.loaded();
    } catch {
      setTimeout(() => chunk.near && this.fetch(chunk), 2000); // the server is away; it is asked again
    } finally {
      chunk.loading = false;
    }
  }

  /** The result of a chunk's last action may be the first event of the next chunk. */
  complement(chunk) {
    const next = this.chunks[chunk.index + 1];
    if (!next || next.complete) return;
    for (let seq = next.index * CHUNK - 1; seq >= chunk.index * CHUNK; seq--) {
      const event = this.events.get(seq);
      if (event && roleOf(event) === "action") {
        if (!this.resultOf(event)) this.fetch(next);
        return;
      }
    }
  }

  show(chunk) {
    if (chunk.shown) return;
    chunk.shown = true;
    const first = chunk.index * CHUNK;
    const made = [];
    for (let seq = first; seq < first + CHUNK; seq++) {
      const element = this.events.has(seq) ? this.make(seq) : null;
      if (element) made.push(element);
    }
    chunk.element.replaceChildren(...made);
    chunk.element.style.minHeight = "";
  }

  hide(chunk) {
    if (!chunk.shown || chunk.element.contains(document.activeElement)) return;
    chunk.element.style.minHeight = `${chunk.element.offsetHeight}px`;
    chunk.element.replaceChildren();
    chunk.shown = false;
  }

  /** Leave the events of chunks far from the screen to the server. */
  forget() {
    const whole = this.chunks.filter((chunk) => chunk.complete && !chunk.shown && chunk.index < this.chunks.length - 1);
    const here = this.chunks.find((chunk) => chunk.near)?.index ?? 0;
    whole.sort((a, b) => Math.abs(b.index - here) - Math.abs(a.index - here));
    for (const chunk of whole.slice(0, Math.max(whole.length - KEPT, 0))) {
      for (let seq = chunk.index * CHUNK; seq < (chunk.index + 1) * CHUNK; seq++) this.events.delete(seq);
      chunk.complete = false;
    }
  }

  make(seq) {
    const event = this.events.get(seq);
    if (roleOf(event) === "result" && this.actionOf(event) !== undefined && !this.context.everything) return null;
    const result = roleOf(event) === "action" ? this.resultOf(event) : null;
    const element = item(event, { ...this.context, result, busy: this.context.running() && this.last - seq < CHUNK });
    if (element) element.dataset.seq = seq;
    return element;
  }

  /** Put the element of `seq` where it belongs in its chunk, in place of an older one. */
  place_(seq) {
    const parent = this.chunkOf(seq).element;
    const old = parent.querySelector(`:scope > [data-seq="${seq}"]`);
    const focused = old?.contains(document.activeElement);
    const made = this.make(seq);
    if (old && made) old.replaceWith(made);
    else if (old) old.remove();
    else if (made) parent.insertBefore(made, [...parent.children].find((one) => Number(one.dataset.seq) > seq) ?? null);
    if (focused) made?.focus();
  }

  /** Make every element that is there anew: something changed that all of them show. */
  refresh() {
    for (const chunk of this.chunks.filter((one) => one.shown)) {
      chunk.shown = false;
      this.show(chunk);
    }
  }

  /** Make those anew that show whether the conversation runs; the rest keeps its focus and its scrolling. */
  refreshOpen() {
    for (const event of this.open()) {
      const seq = this.actions.get(event.id);
      if (this.chunkOf(seq)?.shown) this.place_(seq);
    }
  }

  /** Actions that have no result yet, oldest first. */
  open() {
    const open = [];
    for (const [id, seq] of this.actions) {
      const event = this.events.get(seq);
      if (event && !this.results.has(id) && !this.resultOf(event)) open.push(event);
    }
    return open;
  }

  // Following the end

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (scrollHeight - scrollTop - clientHeight < BOTTOM) this.stuck = true;
    else if (scrollTop < this.top - 2) this.stuck = false; // only a person scrolls up
    this.top = scrollTop;
    this.moved(this.stuck);
  }

  toEnd() {
    this.stuck = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.top = this.scroller.scrollTop;
  }

  toStart() {
    this.stuck = false;
    this.scroller.scrollTop = 0;
  }
}
