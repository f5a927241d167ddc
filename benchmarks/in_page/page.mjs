// What benchmarks/in_page.py calls in the page. Every contender is a worker that answers the
// messages of host.mjs, so all are asked in the same words. Times are milliseconds.

import { Engine } from "../../web/client.mjs";
import { lossOf } from "../../web/exhibits/loading.mjs";
import { list, open } from "../../web/storage.mjs";
import { training } from "./train.mjs";

/** @type {Engine} */
let engine;
const observed = []; // tasks and frames of more than 50 ms
const observers = ["longtask", "long-animation-frame"].map((type) => {
  const observer = new PerformanceObserver((list) => observed.push(...list.getEntries()));
  observer.observe({ type });
  return observer;
});

globalThis.bench = {
  ...training,

  /** From the start of the worker to a model that answers. Without `from`, files are the chosen. */
  async load(worker, backend, from) {
    const started = performance.now();
    engine?.port.terminate();
    engine = new Engine(new Worker(worker, { type: "module" }));
    const { config, ...files } = from ? await fetched(from) : await chosen();
    await engine.load("model", { config: await config.text(), ...files, backend });
    return performance.now() - started;
  },

  /** What a first visit leaves in the browser's storage: the chosen model, rounded. */
  async store(worker, backend) {
    const root = await navigator.storage.getDirectory();
    const home = await root.getDirectoryHandle("gpt2-edu", { create: true });
    const folder = await home.getDirectoryHandle("model", { create: true });
    const { config, weights } = await chosen();
    await folder.getFileHandle("model.safetensors", { create: true }); // stays empty: it is not read
    const file = await folder.getFileHandle("config.json", { create: true });
    const writable = await file.createWritable();
    await writable.write(config);
    await writable.close();
    engine = new Engine(new Worker(worker, { type: "module" }));
    const files = { config: await config.text(), weights, backend, stored: "model" };
    await engine.load("model", files);
  },

  /** A second visit: milliseconds to a model that answers, and the bytes that are read. */
  async again(worker, backend) {
    const started = performance.now();
    engine.port.terminate();
    engine = new Engine(new Worker(worker, { type: "module" }));
    const files = { ...(await open("model")), backend, stored: "model" };
    const { rounded } = await engine.load("model", files);
    if (!rounded) throw new Error("the rounded weights were not read");
    const ready = performance.now() - started;
    const [stored] = await list();
    return [ready, stored.rounded[backend]];
  },

  /** Crane as the site brings it, from the first script to a model that answers. */
  async published(backend) {
    const started = performance.now();
    const script = document.createElement("script");
    script.src = "/gpt2_edu/exhibits/static/gpt2.js";
    await new Promise((loaded) => {
      script.onload = loaded;
      document.head.append(script);
    });
    const { bundledModel, loadTokenizer, startEngine } = globalThis.gpt2;
    engine = startEngine();
    const [files] = await Promise.all([bundledModel("crane"), loadTokenizer("crane")]);
    await engine.load("model", { ...files, backend });
    return performance.now() - started;
  },

  /** One answer: the logits behind the last token. */
  async answer(ids) {
    const started = performance.now();
    await engine.run("model", { ids, lastOnly: true });
    return performance.now() - started;
  },

  /** n greedy tokens behind the first one, which waits for the prompt. */
  async write(ids, n) {
    const times = [];
    const heard = () => {
      times.push(performance.now());
      if (times.length === 1) globalThis.mark?.(); // the benchmark reads the processor's clock
    };
    const settings = { temperature: 0 };
    const { answer } = engine.stream("model", { ids, n: n + 1, settings }, heard);
    const result = await answer;
    await globalThis.mark?.();
    return { ...result, taken: times.at(-1) - times[0] };
  },

  /** A request with all tensors for each of n frames, as a reader drags; how many were answered. */
  async drag(n) {
    const requests = [];
    for (let i = 0; i < n; i++) {
      const ids = Array.from({ length: 16 }, (_, t) => i + t);
      const request = engine.run("model", { ids, key: "drag", record: true });
      requests.push(request.then(() => 1).catch(() => 0));
      await nextFrame();
    }
    return (await Promise.all(requests)).reduce((a, b) => a + b);
  },

  /** Numbers to compare: the logits, and the tensors of these names. */
  async numbers(ids, record = []) {
    const { logits, noted } = await engine.run("model", { ids, record, lastOnly: !record.length });
    return [logits, ...record.map((path) => noted.find((n) => n.path === path).values)].map(
      (values) => Array.from(values),
    );
  },

  /** Nats a token of texts, given as ids. */
  async loss(texts) {
    let [sum, tokens] = [0, 0];
    for (const ids of texts) {
      const { logits } = await engine.run("model", { ids: ids.slice(0, -1) });
      sum += (ids.length - 1) * lossOf(logits, ids.slice(1));
      tokens += ids.length - 1;
    }
    return sum / tokens;
  },

  /** What took long since the last call; with `busy`, the page itself is kept busy before. */
  async long(busy = 0) {
    await nextFrame();
    document.body.append(".");
    for (const until = performance.now() + busy; performance.now() < until;);
    for (let i = 0; i < 3; i++) await nextFrame();
    for (const observer of observers) observed.push(...observer.takeRecords());
    return observed.splice(0).map(({ entryType, duration, scripts = [] }) => {
      const inScripts = scripts.reduce((sum, script) => sum + script.duration, 0);
      return [entryType, duration, inScripts];
    });
  },
};

async function fetched(folder) {
  const get = (name) => fetch(folder + name).then((response) => response.blob());
  const [config, weights] = await Promise.all(["config.json", "model.safetensors"].map(get));
  return { config, weights };
}

async function chosen() {
  const files = [...document.querySelector("input").files];
  const [config, weights, graph] = ["config.json", "model.safetensors", "graph.onnx"].map((name) =>
    files.find((file) => file.name === name),
  );
  return { config, weights, graph };
}

function nextFrame() {
  return new Promise((resolve) => requestAnimationFrame(resolve));
}
