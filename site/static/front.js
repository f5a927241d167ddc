// The first page: the crane writes on. The place is switched without a script; the model and its
// weights come when "write on" is pressed for the first time, and not before.

{
  /** @type {(where: ParentNode, selector: string) => HTMLElement} */
  const one = (where, selector) => /** @type {any} */ (where.querySelector(selector));

  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  const figure = one(document, ".living");
  const button = one(figure, ".write");
  const written = one(figure, ".written");
  const now = one(figure, ".of-now");
  /** @type {{link: HTMLAnchorElement, href: string}[]} */
  const links = Array.from(figure.querySelectorAll("a.inside"), (found) => {
    const link = /** @type {HTMLAnchorElement} */ (found);
    return { link, href: link.href };
  });
  const LONG = 36; // tokens
  const PACE = 160; // milliseconds a token, so that the bars can be followed

  /** @param {number} milliseconds */
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  let round = 0; // a newer one ends those before it
  /** @type {Promise<{engine: any, tokenizer: any}> | null} */
  let coming = null;

  function model() {
    coming ??= load().catch((error) => {
      coming = null; // what failed is tried again
      throw error;
    });
    return coming;
  }

  async function load() {
    if (!globalThis.gpt2) {
      const script = document.createElement("script");
      script.src = new URL("gpt2.js", here).href;
      await new Promise((done, failed) => {
        script.onload = done;
        script.onerror = () => failed(new Error("the engine did not come"));
        document.head.append(script);
      });
    }
    const { bundledModel, loadTokenizer, startEngine } = globalThis.gpt2;
    const [files, tokenizer] = await Promise.all([bundledModel("crane"), loadTokenizer("crane")]);
    const engine = startEngine();
    await engine.load("crane", files);
    return { engine, tokenizer };
  }

  // The likeliest tokens, in the room of those that were printed.
  /** @type {(probabilities: Float64Array, tokenizer: any) => void} */
  function paint(probabilities, tokenizer) {
    const bars = now.querySelectorAll("li");
    const best = Array.from(probabilities.keys())
      .sort((a, b) => probabilities[b] - probabilities[a])
      .slice(0, bars.length);
    best.forEach((id, i) => {
      const [name, share] = bars[i].children;
      name.textContent = id === tokenizer.eot ? "⟨end⟩" : tokenizer.decode([id]).trim();
      share.textContent = probabilities[id].toFixed(2);
      bars[i].style.setProperty("--p", `${probabilities[id]}`);
    });
  }

  /** @param {Float64Array} probabilities */
  function draw(probabilities) {
    let left = Math.random() * (1 - 1e-9); // the sum may fall short of 1 by rounding
    return probabilities.findIndex((p) => (left -= p) < 0);
  }

  /** @param {number} mine  this round */
  async function write(mine) {
    const place = /** @type {HTMLInputElement} */ (one(figure, "input:checked")).value;
    const text = `In the ${place}, the crane`;
    const { engine, tokenizer } = await model();
    const begin = document.createElement("span");
    begin.textContent = text;
    const more = document.createElement("mark");
    const ids = [tokenizer.eot, ...tokenizer.encode(text)];
    const first = ids.length;
    for (let n = 0; n < LONG; n++) {
      const { logits } = await engine.run("crane", { ids, lastOnly: true });
      if (mine !== round) return;
      const probabilities = globalThis.gpt2.nextProbabilities(logits, {});
      if (!n) written.replaceChildren(begin, more);
      now.hidden = false;
      paint(probabilities, tokenizer);
      await pause(PACE);
      if (mine !== round) return;
      const id = draw(probabilities);
      if (id === tokenizer.eot) break;
      ids.push(id);
      more.textContent = tokenizer.decode(ids.slice(first));
      for (const { link } of links) {
        link.search = new URLSearchParams({ text: text + more.textContent }).toString();
      }
    }
  }

  function rest() {
    round++;
    button.textContent = "write on";
    written.ariaBusy = "false"; // now it may be read aloud
  }

  /** As it was printed. */
  function reset() {
    rest();
    now.hidden = true;
    for (const { link, href } of links) link.href = href;
  }

  button.addEventListener("click", async () => {
    if (button.textContent === "stop") {
      rest();
      return;
    }
    const mine = ++round;
    button.textContent = "stop";
    written.ariaBusy = "true";
    try {
      await write(mine);
    } catch (error) {
      if (mine !== round) return;
      written.textContent = `The model does not answer: ${/** @type {Error} */ (error).message}.`;
      now.hidden = false;
    }
    if (mine === round) rest();
  });
  figure.addEventListener("change", reset);
}
