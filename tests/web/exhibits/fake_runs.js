// Runs that learn nothing, and tell of it as those of runs.js do: for tests of what the page shows.
// `globalThis.fake` says how they go, and remembers what was asked of them.

globalThis.fake = {
  pace: 50,
  every: 40,
  asked: [],
  kept: null,
  denied: "",
  wild: [],
  refuse: "",
  ...JSON.parse(window.name || "{}"), // what a test has left for the next page
};
if (globalThis.fake.kept) indexedDB.databases = async () => [{ name: "gpt2-edu-runs" }];

const TOKENS = ["<|endoftext|>", "In", " the", " marsh", ",", " the", " crane"];
const STORY =
  "One evening, Ada lost her key near the pond. She asked the crane, and the crane lifted its head and ate fish. “It lies below the reeds,” said the crane.";

/** One after another, as if by a head that finds its place. */
function maps(plan, share) {
  const T = TOKENS.length;
  const { nLayer, nHead } = plan.model;
  return Array.from({ length: nLayer * nHead }, (_, head) => {
    const map = new Float32Array(T * T);
    for (let row = 0; row < T; row++) {
      const at = Math.max(0, row - 1 - (head % 4));
      for (let column = 0; column <= row; column++) {
        const even = 1 / (row + 1);
        map[row * T + column] = even * (1 - share) + (column === at ? share : 0);
      }
    }
    return map;
  });
}

function layers(plan, share) {
  const names = [
    "wte",
    "wpe",
    ...Array.from({ length: plan.model.nLayer }, (_, n) => `h.${n}`),
    "ln_f",
  ];
  return names.map((name, i) => ({ name, largest: 0.3 * 10 ** (-2 * share - 0.2 * i) }));
}

globalThis.gpt2Runs = {
  DEFAULTS: {},
  refuse: () => globalThis.fake.refuse,
  readText: (file) => file.text(),
  checkText: (text) =>
    text.includes("\0") ? "This is not text." : text.trim() ? "" : "There is no text yet.",
  available: async () => globalThis.fake.denied,
  stored: async (slot) => (slot ? null : globalThis.fake.kept),
  drop: async (slot) => {
    globalThis.fake.asked.push(["drop", slot]);
    globalThis.fake.kept = null;
  },
  openFile: async (file) => {
    const { wrong, model = { nLayer: 1, nHead: 2, nEmbd: 32, blockSize: 48 } } = globalThis.fake;
    if (wrong) throw new Error(wrong);
    const config = { ...model, vocabSize: 300 };
    const name = file.name.replace(".safetensors", "");
    return { name, config, weights: new Float32Array(3), merges: new Uint8Array(256) };
  },
  filesOf: async ({ plan, step }) => ({ name: `${plan.name}, ${step} steps` }),
  download: ({ name }) => new File(["x"], `${name}.safetensors`),
  folderOf: async ({ name }) => new File(["x"], `${name}.zip`),
  start: async (plan, slot, on, options) => {
    const { fake } = globalThis;
    const nth = fake.asked.filter(([what]) => what === "start").length; // of the runs
    fake.asked.push(["start", slot, plan, options.saved?.step ?? 0]);
    if (options.weights) fake.asked.push(["weights", options.weights.length]);
    if (fake.refuse) throw new Error(fake.refuse);
    on.making({ share: 0.5, what: "the stories are written" });
    let step = options.saved?.step ?? 0;
    let [ms, timer, tick, lr] = [step * 15, 0, 0, plan.settings.lr];
    const end = plan.settings.steps;
    const share = () => 1 - 1 / (1 + step / 300);
    const run = () => {
      step = Math.min(end, step + fake.every);
      ms += 15 * fake.every;
      tick++;
      const loss = 0.5 + 6.4 / (1 + (step / 60) ** (nth ? 0.9 : 1.2)) + 0.04 * Math.sin(step);
      on.report({ step, loss, norm: 1, lr, tokens: step * 800, ms });
      if (fake.wild.includes(nth) && tick === 6) {
        stop();
        const says = `At step ${step} the loss rose to 41: with a learning rate of ${lr}, each step moves every weight too far.`;
        return on.diverged({ step, loss: 41, good: 80, says });
      }
      if (tick % 4 === 0) {
        const read = Math.min(1, 0.05 + share());
        const right = read > 0.93;
        const failsAt = right ? null : Math.floor(read * STORY.length);
        const expected = [" pigeons", " geese"];
        const judged =
          plan.data.kind === "text"
            ? { read: null, right: null, failsAt: null }
            : { read, right, failsAt };
        const held = loss + 0.03 + (fake.overfits ? step / 4000 : 0);
        on.mark({ step, story: fake.story ?? STORY, expected, held, ...judged });
      }
      on.look({ step, heads: maps(plan, share() * 0.9), layers: layers(plan, share()) });
      if (step === end) {
        stop();
        on.done({ step });
      }
    };
    const stop = () => clearInterval(timer);
    const handle = {
      plan,
      slot,
      last: options.saved ?? null,
      opened: {
        parameters: 175_488,
        bytes: 5e6,
        vocabSize: 1024,
        floors: { unigram: 5.31, bigram: 2.64, truth: plan.data.kind === "text" ? null : 0.49 },
        merges: new Uint8Array(256),
        note: "",
        tokens: TOKENS,
      },
      go: async () => {
        stop();
        timer = setInterval(run, fake.pace);
      },
      pause: async () => stop(),
      save: async () => {
        const [report, state] = [
          { step, loss: 0.6, lr, tokens: 1, ms, norm: 1 },
          { settings: { ...plan.settings, lr } },
        ];
        handle.last = { plan, step, state, at: Date.now(), reports: [report], marks: [] };
      },
      leave: () => fake.asked.push(["leave", nth]),
      stop: async () => stop(),
      close: () => stop(),
      set: async (settings) => {
        fake.asked.push(["set", nth, settings]);
        lr = settings.lr ?? lr;
      },
      back: async () => {
        fake.wild = [];
        step = 80;
        lr /= 3;
        return { step, settings: { ...plan.settings, lr } };
      },
      weights: async () => ({ plan, step, weights: new Float32Array(8) }),
      write: async (prompt, seed) => {
        fake.asked.push(["write", seed]);
        const forgot = plan.data.kind === "text";
        return { forgot, text: `${prompt}${STORY}`, failsAt: 30, read: 0.3, right: false };
      },
      judge20: async () => {
        fake.asked.push(["judge", nth]);
        await new Promise((done) => setTimeout(done, 4 * fake.pace));
        return { right: 11, of: 20, step };
      },
    };
    return handle;
  },
};
