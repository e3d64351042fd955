// The client's sockets look for `ws` with a global `require`, which modules do not have.
import { createRequire } from 'node:module';

globalThis.require = createRequire(import.meta.url);
