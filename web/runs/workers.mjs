// The one or two workers of a run, as a page talks to them.

import { Engine } from "../client.mjs";

/** @import { Plan } from "./run.mjs" */

/** A worker that also sends events. */
class Thread extends Engine {
  /**
   * @param {(message: any) => void} onEvent
   * @param {(why: string) => void} onDeath
   */
  constructor(onEvent, onDeath) {
    const worker = startWorker();
    super(worker);
    this.worker = worker;
    this.onEvent = onEvent;
    worker.addEventListener("error", ({ message }) => onDeath(message));
  }

  /** @param {any} message */
  hear(message) {
    if (message.event) this.onEvent(message);
    else super.hear(message);
  }
}

/** A worker, as page.mjs starts one. */
function startWorker() {
  if (typeof packed !== "function") {
    const worker = new URL(/* @vite-ignore */ "./worker.mjs", import.meta.url);
    return new Worker(worker, { type: "module" });
  }
  const code = new Blob([`(${packed})()`], { type: "text/javascript" });
  return new Worker(URL.createObjectURL(code));
}

export class Workers {
  /**
   * @param {(message: any) => void} onEvent
   * @param {(why: string) => void} onDeath  of any of them
   */
  constructor(onEvent, onDeath) {
    /** @type {Thread[]} */
    this.threads = [];
    this.ended = false;
    this.start = () => {
      const thread = new Thread(onEvent, (why) => this.ended || onDeath(why));
      this.threads.push(thread);
      return thread;
    };
  }

  /**
   * @param {Plan} plan
   * @param {object} from  what loop.mjs opens a run with
   * @param {(share: number) => void} [onProgress]
   * @returns {Promise<any>}  how loop.mjs describes it
   */
  async open(plan, from, onProgress) {
    const lead = this.start();
    const merges = await lead.ask({ call: "open", plan, ...from }, { onProgress }).answer;
    const description = lead.ask({ call: "describe" }).answer;
    if (plan.workers === 2) {
      const second = this.start();
      await second.ask({ call: "open", plan, ...from, merges }).answer;
      const { port1, port2 } = new MessageChannel();
      lead.worker.postMessage({ id: 0, call: "share", port: port1, place: 0 }, [port1]);
      second.worker.postMessage({ id: 0, call: "share", port: port2, place: 1 }, [port2]);
    }
    return description;
  }

  /**
   * Ask the first, which leads.
   * @param {string} call
   * @param {object} [request]
   * @returns {Promise<any>}
   */
  async ask(call, request) {
    if (this.ended) throw new Error("this run has ended: start another");
    return this.threads[0].ask({ call, ...request }).answer;
  }

  /** @param {string} why */
  end(why) {
    this.ended = true;
    for (const thread of this.threads) {
      thread.worker.terminate();
      thread.fail(why);
    }
  }
}
