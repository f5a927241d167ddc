// "My progress": marks in the list what is done; keeps it in a file, takes a file in, prints it.

"use strict";

{
  const progress = globalThis.gpt2Progress;
  const LARGEST = 5e6; // bytes; a record of every exercise has a hundredth of it
  /** @type {(where: ParentNode, selector: string) => HTMLElement} */
  const one = (where, selector) => /** @type {any} */ (where.querySelector(selector));
  /** @type {(where: ParentNode, selector: string) => HTMLElement[]} */
  const all = (where, selector) => [.../** @type {any} */ (where.querySelectorAll(selector))];

  const desk = one(document, ".desk");
  /** @type {(name: string) => HTMLElement} */
  const find = (name) => one(desk, `.${name}`);
  /** @param {string} text */
  const say = (text) => {
    find("said").textContent = text;
  };
  const stages = all(document, ".stage");

  for (const item of all(document, ".stage li")) {
    item.prepend(Object.assign(document.createElement("span"), { className: "mark" }));
  }
  /** @type {(item: HTMLElement, done: boolean, text: string) => void} */
  function mark(item, done, text) {
    one(item, ".mark").textContent = text;
    item.classList.toggle("done", done);
  }

  // How many exercises and questions are done, and how many there are.
  /** @param {ParentNode} where */
  function count(where) {
    const [done, exercises, right, asked] = [
      "li.done[data-exercise]",
      "li[data-exercise]",
      "li.done[data-question]",
      "li[data-question]",
    ].map((items) => where.querySelectorAll(items).length);
    return { done, exercises, right, asked };
  }

  function show() {
    const { passed, questions } = progress.read();
    for (const item of all(document, ".stage li[data-exercise]")) {
      const entry = passed[String(item.dataset.exercise)];
      mark(item, Boolean(entry), entry ? `✓ ${entry.on.slice(0, 10)} ` : "");
    }
    for (const item of all(document, ".stage li[data-question]")) {
      const entry = questions[String(item.dataset.question)];
      const words = entry?.first ? "✓ right at once: " : "✓ right: ";
      mark(item, Boolean(entry?.right), entry ? (entry.right ? words : "not yet right: ") : "");
    }
    for (const stage of stages) {
      const { done, exercises, right, asked } = count(stage);
      const answered = `${right} of ${asked} questions`; // a review has no exercises
      one(stage, ".sum").textContent =
        (exercises ? `${done} of ${exercises} exercises, ` : "") + answered;
    }
    const { done, exercises, right, asked } = count(document);
    find("total").textContent =
      `${done} of ${exercises} exercises done, ${right} of ${asked} questions right.`;
    find("trouble").textContent = progress.problem();
  }

  // ---- Files

  /** @param {File | undefined} file */
  async function take(file) {
    if (!file) return;
    if (file.size > LARGEST) {
      say(`${file.name} cannot be used: a progress file is much smaller. Nothing was changed.`);
      return;
    }
    try {
      const added = progress.merge(await file.text());
      const things = added === 1 ? "One entry" : `${added} entries`;
      say(
        added
          ? `${things} came from ${file.name}.`
          : `Everything in ${file.name} was here already, as late or later.`,
      );
    } catch (error) {
      say(
        `${file.name} cannot be used: ${/** @type {Error} */ (error).message}. Nothing was changed.`,
      );
    }
  }

  const field = /** @type {HTMLInputElement} */ (find("file"));
  field.addEventListener("change", async () => {
    await take(field.files?.[0]);
    field.value = ""; // the same file may come again
  });
  /** @param {DragEvent} event */
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    desk.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) desk.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    desk.classList.remove("over");
    take(event.dataTransfer?.files[0]);
  });

  find("export").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([progress.text()], { type: "application/json" }));
    link.download = "progress.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say("Saved as progress.json.");
  });

  // ---- On paper

  function record() {
    const body = /** @type {HTMLTableSectionElement} */ (one(document, ".record tbody"));
    body.replaceChildren();
    /** @param {(string | null)[]} cells */
    const add = (...cells) => {
      const row = body.insertRow();
      for (const text of cells) row.insertCell().textContent = text;
    };
    for (const stage of stages) {
      const title = one(stage, "h3 a").textContent;
      for (const item of all(stage, "li.done[data-exercise]")) {
        const { on } = progress.read().passed[String(item.dataset.exercise)];
        add(title, one(item, "a").textContent, on.slice(0, 10));
      }
      const { right, asked } = count(stage);
      if (right) add(title, `${right} of ${asked} questions right`, "");
    }
    one(document, ".record .day").textContent = new Date().toISOString().slice(0, 10);
    one(document, ".record .sum").textContent = find("total").textContent;
  }
  addEventListener("beforeprint", record);
  find("print").addEventListener("click", () => print());

  // ---- Forgetting

  const sure = find("sure");
  /** @param {boolean} open */
  const ask = (open) => {
    sure.hidden = !open;
    find("forget").setAttribute("aria-expanded", `${open}`);
    (open ? find("keep") : find("forget")).focus();
  };
  find("forget").addEventListener("click", () => ask(sure.hidden));
  find("keep").addEventListener("click", () => ask(false));
  sure.addEventListener("keydown", (event) => event.key === "Escape" && ask(false));
  find("yes").addEventListener("click", () => {
    progress.forget();
    ask(false);
    say("This browser has forgotten what you did.");
  });

  progress.changed(show);
  show();
}
