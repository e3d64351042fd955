// A socket that comes back: after a break it asks for what follows the last thing it was given.

const FIRST_WAIT = 400;
const LONGEST_WAIT = 8000;
const GONE = 4004;

/**
 * `address()` is asked for every connection, so that it can name the place to resume at.
 * `state` is called with "open", "lost" or "gone". `check` runs before a reconnection; it may end it
 * by returning false (the session has ended).
 */
export class ResumingSocket {
  constructor({ address, heard, state, check = async () => true }) {
    Object.assign(this, { address, heard, state, check });
    this.wait = FIRST_WAIT;
    this.timer = null;
    window.addEventListener("online", () => this.hurry());
    window.addEventListener("offline", () => this.socket?.close());
    this.connect();
  }

  connect() {
    this.timer = null;
    const socket = new WebSocket(this.address());
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.state("open");
    });
    socket.addEventListener("message", (message) => {
      if (socket === this.socket) this.heard(JSON.parse(message.data));
    });
    socket.addEventListener("close", ({ code }) => {
      if (socket === this.socket) this.closed(code);
    });
  }

  closed(code) {
    this.socket = null;
    if (code === GONE) return this.state("gone");
    this.state("lost");
    this.timer = setTimeout(() => this.again(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    return undefined;
  }

  async again() {
    if (await this.check()) this.connect();
  }

  hurry() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.again();
  }
}
