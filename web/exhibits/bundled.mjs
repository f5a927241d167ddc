// Models that come with the site, in the present engine when somebody asks for them.

import { bundledModel } from "../page.mjs";

/** @import { Engine } from "../client.mjs" */

export class Bundled {
  /**
   * @param {() => Engine} started  the present engine
   * @param {Record<string, string>} places  the name of each model in the engine, and of its files
   */
  constructor(started, places) {
    this.started = started;
    this.places = Object.entries(places);
    /** @type {Engine | null} */
    this.engine = null;
    /** @type {Promise<Engine> | null} */
    this.loaded = null;
    this.room = 0; // tokens that fit into the window of each
  }

  /**
   * The engine that has them. After a failure, and where it was replaced, they are loaded again.
   * @returns {Promise<Engine>}
   */
  load() {
    if (!this.loaded || (this.engine && this.engine !== this.started())) {
      this.engine = null;
      const loaded = this.fetch();
      loaded.catch(() => this.loaded === loaded && (this.loaded = null));
      this.loaded = loaded;
    }
    return this.loaded;
  }

  async fetch() {
    const files = await Promise.all(this.places.map(([, name]) => bundledModel(name)));
    const engine = this.started(); // only now: while one waits for files, it may be replaced
    this.engine = engine;
    const all = await Promise.all(this.places.map(([at], i) => engine.load(at, files[i])));
    this.room = Math.min(...all.map(({ config }) => config.blockSize));
    return engine;
  }
}
