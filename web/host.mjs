// The engine behind messages: it holds models by name and answers requests one after the other.
// In a page it runs in a worker (worker.mjs), so that the page never waits; client.mjs talks to it.
//
// A request is {id, call, …}; answers are {id, progress}, {id, token}, and at the end {id, result}
// or {id, error}. A request with a `key` takes the place of an older one with that key: of what a
// reader drags, only the latest matters.

import { Adapted, readAdapter, strengthen } from "./adapter.mjs";
import { pickBackend } from "./backend.mjs";
import { stream } from "./generation.mjs";
import { inPlace } from "./edits.mjs";
import { download, PUBLISHED } from "./hub.mjs";
import { loadModel } from "./load.mjs";
import { CANCELLED, isList, shown, SUPERSEDED } from "./messages.mjs";
import { partOf } from "./parts.mjs";
import { race } from "./race.mjs";
import { toFile } from "./rounded.mjs";
import { speculate } from "./speculative.mjs";
import { readRounded, storeRounded } from "./storage.mjs";
import { Tape } from "./tape.mjs";
import { nextTask } from "./tasks.mjs";

/** @import { Source } from "./load.mjs" */
/** @import { GPT2 } from "./model.mjs" */
/** @typedef {{id: number, call: string, key?: string, [more: string]: any}} Request */

const NO_MEMORY = "this browser has no memory left: use fewer tokens, or a smaller model";

const WARM = 16; // tokens of a first pass, that compiles all code: no reader waits for it

export class Host {
  /** @param {(answer: any, transfer?: Transferable[]) => void} post */
  constructor(post) {
    this.post = post;
    /** @type {Map<string, GPT2>} */
    this.models = new Map();
    /** @type {Request[]} */
    this.waiting = [];
    /** @type {Request | null} */
    this.running = null;
    this.working = false;
    this.stop = new AbortController(); // of what is running
  }

  /** @param {Request} request */
  receive(request) {
    if (typeof request?.call !== "string") {
      this.post({ id: request?.id, error: "a request must be an object with an id and a call" });
      return;
    }
    if (request.call === "cancel") {
      this.drop((other) => other.id === request.target, CANCELLED);
      if (this.running?.id === request.target) this.cancel();
      return;
    }
    if (request.key !== undefined) {
      this.drop((other) => other.key === request.key, SUPERSEDED);
      if (this.running?.key === request.key) this.cancel();
    }
    this.waiting.push(request);
    if (!this.working) this.work();
  }

  cancel() {
    this.stop.abort(new Error(CANCELLED));
  }

  /**
   * @param {(request: Request) => boolean} which
   * @param {string} error
   */
  drop(which, error) {
    const dropped = this.waiting.filter(which);
    this.waiting = this.waiting.filter((request) => !which(request));
    for (const { id } of dropped) this.post({ id, error });
  }

  async work() {
    this.working = true;
    for (;;) {
      await nextTask(); // newer requests that have come meanwhile may take this one's place
      const next = this.waiting.shift();
      if (!next) break;
      this.running = next;
      this.stop = new AbortController();
      const { id } = next;
      try {
        const result = await this.answer(next);
        this.post({ id, result });
      } catch (error) {
        this.post({ id, error: inWords(error) });
      }
      this.running = null;
    }
    this.working = false;
  }

  /** @param {Request} request */
  async answer(request) {
    if (request.call === "load") return this.load(request);
    if (request.call === "unload") return this.close(request.model);
    if (request.call === "download") return this.download(request);
    const model = this.named(request.model);
    if (request.call === "run") return this.run(model, request);
    if (request.call === "stream") return this.stream(model, request);
    if (request.call === "speculate") return this.speculate(model, request);
    if (request.call === "race") return this.race(model, request);
    if (request.call === "part") return partOf(model, request);
    if (request.call === "adapt") return this.adapt(model, request);
    if (request.call === "strengthen") return strengthen(model, request.strength);
    throw new Error(`unknown call ${shown(request.call)}`);
  }

  /** @param {string} name */
  named(name) {
    const model = this.models.get(name);
    if (!model) throw new Error(`there is no model ${shown(name)}: load it first`);
    return model;
  }

  /**
   * If the new model cannot be loaded, an older one of the same name is still there. The weights of a
   * stored model are stored once more when they have been rounded, and the next time these are read;
   * where they came rounded, there are no others.
   * @param {Request} request  {model, config, weights?: Source, backend?, stored?}
   */
  async load({ id, model, config, weights, backend, stored }) {
    const whole = Boolean(weights?.read);
    if (!whole && !stored) throw new Error("there are no weights: choose a file");
    const load = (/** @type {Source} */ source, rounded = false) =>
      loadModel(
        config,
        source,
        (sizes) => pickBackend(backend, sizes),
        (share) => {
          this.stop.signal.throwIfAborted();
          this.post({ id, progress: share });
        },
        rounded,
      );
    const again =
      stored &&
      (await readRounded(stored, backend, (own) => load(own, true)).catch((error) => {
        if (!whole) throw error;
      }));
    const loaded = again || (await load(weights));
    const warm = Math.min(WARM, loaded.config.blockSize);
    try {
      await loaded.forward(Array(warm).fill(0), { tape: new Tape(), lastOnly: true });
    } catch (error) {
      loaded.backend.close();
      throw error;
    }
    this.close(model);
    this.models.set(model, loaded);
    if (stored && !again && "bytesOf" in loaded.backend) {
      await storeRounded(stored, backend, toFile(loaded)).catch(() => {}); // it runs without
    }
    return { config: loaded.config, backend: loaded.backend.name, rounded: Boolean(again) };
  }

  /**
   * A model is not needed any more, nor those beside it that use its weights.
   * @param {string} name
   */
  close(name) {
    const model = this.models.get(name);
    if (!model || model instanceof Adapted) return this.models.delete(name);
    for (const [other, { backend }] of this.models) {
      if (backend === model.backend) this.models.delete(other);
    }
    model.backend.close();
    return true;
  }

  /**
   * A model beside another under the name `as`, with an adapter at strength 1.
   * @param {GPT2} model
   * @param {Request} request  {model, as, config, weights: Source}
   */
  async adapt(model, { model: name, as, config, weights }) {
    if (!weights?.read) throw new Error("there are no weights: choose a file");
    if (typeof as !== "string" || as === name) {
      throw new Error(`an adapted model needs a name of its own, not ${shown(as)}`);
    }
    if (model instanceof Adapted) throw new Error(`${shown(name)} has an adapter already`);
    const adapter = await readAdapter(config, weights, model.config);
    const adapted = await Adapted.of(model, adapter);
    this.close(as);
    this.models.set(as, adapted);
    return { config: adapted.config, rank: adapter.rank, scale: adapter.scale };
  }

  /**
   * Fetch published weights into the browser's storage. Progress is in bytes.
   * @param {Request} request  {name, published?, pauses?}
   */
  download({ id, name, published = PUBLISHED[name], pauses }) {
    const progress = (/** @type {number} */ bytes) => this.post({ id, progress: bytes });
    return download(name, { published, pauses, signal: this.stop.signal, progress });
  }

  /**
   * One pass: the logits, and every tensor that `record` names (true: all of them).
   * @param {GPT2} model
   * @param {Request} request  {ids, record?, edits?, switches?, lastOnly?}
   */
  async run(model, { ids, record = false, edits = {}, switches, lastOnly }) {
    const names = isList(record) ? Array.from(record) : [];
    if (record && record !== true && !isList(record)) {
      throw new Error(`record must be true or a list of paths, not ${shown(record)}`);
    }
    const keep = (/** @type {string} */ path) => record === true || names.includes(path);
    const given = inPlace(edits ?? {});
    const tape = record || Object.keys(given).length ? new Tape(given, keep) : undefined;
    const logits = await model.forward(ids, { tape, switches, lastOnly });
    const missed = [...(tape?.missed ?? []), ...names.filter((path) => !tape?.noted.has(path))];
    if (missed.length) throw new Error(`no tensor was noted as ${shown(missed[0])}`);
    return { logits, noted: tape ? [...tape.noted.values()] : [] };
  }

  /**
   * @param {GPT2} model
   * @param {Request} request  {ids, n, settings}
   */
  async stream(model, { id, ids, n, settings }) {
    const written = [];
    const own = { ...settings, tape: undefined }; // a tape cannot be sent
    for await (const { id: token } of stream(model, ids, n, own)) {
      written.push(token);
      this.post({ id, token });
      await nextTask();
      if (this.stop.signal.aborted) break;
    }
    return { ids: written };
  }

  /**
   * @param {GPT2} model
   * @param {Request} request  {draft, ids, n, settings}
   */
  async speculate(model, { draft, ids, n, settings }) {
    const rounds = [];
    for await (const round of speculate(model, this.named(draft), ids, n, settings)) {
      rounds.push(round);
      await nextTask();
      this.stop.signal.throwIfAborted();
    }
    return { rounds };
  }

  /**
   * @param {GPT2} model
   * @param {Request} request  {draft, ids, n, settings}
   */
  race(model, { id, draft, ids, n, settings }) {
    return race(model, this.named(draft), ids, n, settings, async (progress) => {
      this.post({ id, progress });
      await nextTask();
      this.stop.signal.throwIfAborted();
    });
  }
}

/**
 * An error as a reader should read it. What the browser throws is of other classes than ours: a
 * RangeError where memory ends, a TypeError where we made a mistake.
 * @param {unknown} error
 * @returns {string}
 */
function inWords(error) {
  if (error instanceof RangeError) return NO_MEMORY;
  if (error instanceof TypeError || error instanceof ReferenceError) {
    console.error(error);
    return "the model met an error that it does not know: change the text, or choose another model";
  }
  return error instanceof Error ? error.message : String(error);
}
