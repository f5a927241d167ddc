// What benchmarks/page_training.py calls in the page. Every contender is a worker that answers `begin`
// and `steps`; two of ours may share a batch.

/** @type {Worker[]} */
let workers = [];

function ask(worker, request, transfer = []) {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data: { result, error } }) => (error ? reject(error) : resolve(result));
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage(request, transfer);
  });
}

export const training = {
  /** A model that trains on one batch, in one worker or in two. */
  async begin(script, request, count) {
    workers.forEach((worker) => worker.terminate());
    workers = Array.from({ length: count }, () => new Worker(script, { type: "module" }));
    const { port1, port2 } = new MessageChannel();
    const ports = count > 1 ? [port1, port2] : [];
    const begun = workers.map((worker, place) => {
      const port = ports[place];
      return ask(worker, { call: "begin", ...request, port, place }, port ? [port] : []);
    });
    await Promise.all(begun);
  },

  /** Milliseconds of n steps, and the loss of the last. */
  async steps(n) {
    const started = performance.now();
    const [loss] = await Promise.all(workers.map((worker) => ask(worker, { call: "steps", n })));
    return { ms: performance.now() - started, loss };
  },

  /**
   * A run of the page's first model, as a press of the button starts it: seconds to the first right
   * story, to half of 20, to 32 sentences learned; then how fast it was, and how good.
   */
  async learn(seed, limit) {
    const { gpt2Runs, gpt2 } = await scripts("gpt2", "runs");
    const { planOf, rateOf, sizesOf } = await import("../../web/learn/settings.mjs");
    const plan = (data) => {
      const sizes = sizesOf(data, "first");
      const choice = { data, size: "first", seed, lr: rateOf(data), sizes, switches: {} };
      return planOf(choice, navigator.hardwareConcurrency);
    };
    const began = performance.now();
    const seconds = () => Math.min((performance.now() - began) / 1000, limit);
    const found = { "first right story": limit, "10 of 20 right": limit };
    const reach = (name) => (found[name] = Math.min(found[name], seconds()));
    let [report, held, ended] = [null, Infinity, false];
    const on = {
      report: (one) => (report = one),
      mark: (one) => {
        held = one.held;
        if (one.right) reach("first right story");
      },
      done: () => (ended = true),
      diverged: ({ says }) => (ended = says),
      said: (sentence) => console.warn(sentence),
    };
    const run = await gpt2Runs.start(plan("crane"), null, on, {
      grammar: await gpt2.bundle("crane_grammar"),
    });
    await run.go();
    while (!ended && seconds() < limit) {
      await new Promise((resolve) => setTimeout(resolve, 5000));
      const { right } = await run.judge20();
      if (right >= 1) reach("first right story");
      if (right >= 10) reach("10 of 20 right");
    }
    const { tokens, ms } = report;
    found["tokens/s, steps alone"] = tokens / (ms / 1000);
    found["tokens/s, with stories and judging"] = tokens / seconds();
    found["loss above the truth at the end"] = held - run.opened.floors.truth;
    await run.stop();
    return { ...found, ...(await sentences(gpt2Runs, plan("sentences"), limit)) };
  },
};

/** Seconds until the loss of chapter 6's 32 sentences is near its floor of 0.52. */
async function sentences(gpt2Runs, plan, limit) {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const end = (seconds) => resolve({ "32 sentences at a loss of 0.55": seconds });
    const report = ({ loss }) => loss <= 0.55 && end((performance.now() - began) / 1000);
    const on = { report, done: () => end(limit), diverged: () => end(limit) };
    gpt2Runs.start(plan, null, on, {}).then((run) => run.go(), reject);
  });
}

/** What the site's own scripts define, once they are there. */
async function scripts(...names) {
  for (const name of names) {
    const script = document.createElement("script");
    script.src = `/gpt2_edu/exhibits/static/${name}.js`;
    await new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${script.src} is missing`));
      document.head.append(script);
    });
  }
  return globalThis;
}
