// What a page uses: promises in front of the engine's messages.

/** @typedef {{postMessage: (message: any) => void, onmessage: ((event: any) => void) | null,
 *   onerror?: ((event: any) => void) | null, terminate?: () => void}} Port  a worker, or what
 *   answers like one */
/** @typedef {{resolve: (value: any) => void, reject: (error: Error) => void,
 *   onProgress?: (share: number) => void, onToken?: (id: number) => void}} Pending */

export class Engine {
  /** @param {Port} port */
  constructor(port) {
    this.port = port;
    this.last = 0;
    /** @type {Map<number, Pending>} */
    this.pending = new Map();
    port.onmessage = ({ data }) => this.hear(data);
    port.onerror = (event) => this.fail(event?.message ?? "it stopped");
  }

  /**
   * Load a model under a name. `weights` is a File, a Blob or an ArrayBuffer; `stored` is its name in the
   * storage, where its weights may be rounded already (the answer says so) or will be. Without `weights`
   * they must be.
   * @param {string} model
   * @param {{config: string, weights?: Blob | ArrayBuffer, backend?: string, stored?: string}} files
   * @param {(share: number) => void} [onProgress]  of the tensors that were read, 0 to 1
   */
  load(model, files, onProgress) {
    return this.ask({ call: "load", model, ...files }, { onProgress }).answer;
  }

  /**
   * Fetch published weights into the browser's storage (hub.mjs); storage.mjs opens and removes
   * them. An engine answers one request after the other, so ask one of a second worker for this:
   * the first stays free for the reader. Returns the answer and a way to stop.
   * @param {string} name
   * @param {(bytes: number) => void} [onProgress]  of the weights, that are there
   * @param {{published?: import("./hub.mjs").Published, pauses?: number[]}} [settings]  other
   *   weights than PUBLISHED[name], other pauses between tries (milliseconds)
   */
  download(name, onProgress, settings) {
    navigator.storage?.persist?.().catch(() => {}); // asks that they are not cleared away
    return this.ask({ call: "download", name, ...settings }, { onProgress });
  }

  /**
   * One forward pass. A request with a `key` replaces an older one with that key.
   * @param {string} model
   * @param {{ids: number[], key?: string, record?: boolean | string[], edits?: object,
   *   switches?: object, lastOnly?: boolean}} request
   */
  run(model, request) {
    return this.ask({ call: "run", model, ...request }).answer;
  }

  /**
   * Write `n` tokens; `onToken` is called with each id. Returns the answer and a way to stop.
   * @param {string} model
   * @param {{ids: number[], n: number, key?: string, settings?: object}} request
   * @param {(id: number) => void} [onToken]
   */
  stream(model, request, onToken) {
    return this.ask({ call: "stream", model, ...request }, { onToken });
  }

  /**
   * Write `n` tokens, some of them drafted by another model (speculative.mjs).
   * @param {string} model
   * @param {{draft: string, ids: number[], n: number, key?: string, settings?: object}} request
   * @returns {Promise<{rounds: import("./speculative.mjs").Round[]}>}
   */
  speculate(model, request) {
    return this.ask({ call: "speculate", model, ...request }).answer;
  }

  /**
   * Tokens a second with a draft and without (race.mjs). Returns the answer and a way to stop.
   * @param {string} model
   * @param {{draft: string, ids: number[], n: number, settings?: object}} request
   * @param {(share: number) => void} [onProgress]
   */
  race(model, request, onProgress) {
    return this.ask({ call: "race", model, ...request }, { onProgress });
  }

  /**
   * A part of a module's weights, by rows and columns: [first, end]; at most `most` of either.
   * @param {string} model
   * @param {{module: string, rows: number[], columns: number[], most?: number}} request
   * @returns {Promise<{weight: Float32Array, bias: Float32Array | null}>}
   */
  part(model, request) {
    return this.ask({ call: "part", model, ...request }).answer;
  }

  /**
   * A model beside another, with an adapter in its weights (adapter.mjs).
   * @param {string} model
   * @param {string} as  its name
   * @param {{config: string, weights: Blob | ArrayBuffer}} files
   * @returns {Promise<{config: import("./config.mjs").Config, rank: number, scale: number}>}
   */
  adapt(model, as, files) {
    return this.ask({ call: "adapt", model, as, ...files }).answer;
  }

  /**
   * More or less of an adapter: 1 as it was trained, 0 none of it.
   * @param {string} model
   * @param {number} strength
   */
  strengthen(model, strength) {
    return this.ask({ call: "strengthen", model, strength }).answer;
  }

  /**
   * @param {object} request
   * @param {{onProgress?: (share: number) => void, onToken?: (id: number) => void}} [listeners]
   */
  ask(request, listeners = {}) {
    const id = ++this.last;
    const answer = new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, ...listeners });
    });
    this.port.postMessage({ id, ...request });
    return { answer, cancel: () => this.port.postMessage({ id: 0, call: "cancel", target: id }) };
  }

  /** @param {{id: number, progress?: number, token?: number, result?: any, error?: string}} message */
  hear({ id, progress, token, result, error }) {
    const pending = this.pending.get(id);
    if (!pending) return;
    if (progress !== undefined) pending.onProgress?.(progress);
    else if (token !== undefined) pending.onToken?.(token);
    else {
      this.pending.delete(id);
      if (error !== undefined) pending.reject(new Error(error));
      else pending.resolve(result);
    }
  }

  /** @param {string} why */
  fail(why) {
    for (const { reject } of this.pending.values()) reject(new Error(`the engine failed: ${why}`));
    this.pending.clear();
  }
}
