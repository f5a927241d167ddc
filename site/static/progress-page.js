// "My progress": marks in the list what is done; keeps it in a file, takes a file in, prints it.

"use strict";

{
  const progress = globalThis.gpt2Progress;
  const LARGEST = 5e6; // bytes; a record of every exercise has a hundredth of it
  /**
   * @param {ParentNode} where
   * @param {string} selector
   * @returns {HTMLElement}
   */
  const one = (where, selector) => /** @type {any} */ (where.querySelector(selector));
  /**
   * @param {ParentNode} where
   * @param {string} selector
   * @returns {HTMLElement[]}
   */
  const all = (where, selector) => [.../** @type {any} */ (where.querySelectorAll(selector))];

  const desk = one(document, ".desk");
  /**
   * @param {string} name
   * @returns {HTMLElement}
   */
  const find = (name) => one(desk, `.${name}`);
  /** @param {string} text */
  const say = (text) => {
    find("said").textContent = text;
  };
  const stages = all(document, ".stage");

  /** @param {Element} item */
  const marked = (item) => {
    const mark = document.createElement("span");
    mark.className = "mark";
    item.prepend(mark);
    return mark;
  };
  /** @type {Map<Element, HTMLElement>} */
  const marks = new Map(
    stages.flatMap((stage) => all(stage, "li")).map((item) => [item, marked(item)]),
  );

  /**
   * @param {Element} item
   * @param {string} text
   */
  function write(item, text) {
    /** @type {HTMLElement} */ (marks.get(item)).textContent = text;
  }

  function show() {
    const { passed, questions } = progress.read();
    let [done, exercises, right, asked] = [0, 0, 0, 0];
    for (const stage of stages) {
      const tasks = all(stage, "li[data-exercise]");
      const open = all(stage, "li[data-question]");
      for (const item of tasks) {
        const entry = passed[String(item.dataset.exercise)];
        write(item, entry ? `✓ ${entry.on.slice(0, 10)} ` : "");
        item.classList.toggle("done", Boolean(entry));
      }
      for (const item of open) {
        const entry = questions[String(item.dataset.question)];
        const words = entry?.first ? "✓ right at once: " : "✓ right: ";
        write(item, entry ? (entry.right ? words : "not yet right: ") : "");
        item.classList.toggle("done", Boolean(entry?.right));
      }
      /** @param {Element[]} items */
      const count = (items) => items.filter((item) => item.matches(".done")).length;
      const [tasksDone, openDone] = [count(tasks), count(open)];
      one(stage, ".sum").textContent =
        `${tasksDone} of ${tasks.length} exercises, ${openDone} of ${open.length} questions`;
      [done, exercises, right, asked] = [
        done + tasksDone,
        exercises + tasks.length,
        right + openDone,
        asked + open.length,
      ];
    }
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
    const rows = [];
    for (const stage of stages) {
      const title = one(stage, "h3 a").textContent;
      for (const item of all(stage, "li.done[data-exercise]")) {
        const on = progress.read().passed[String(item.dataset.exercise)].on.slice(0, 10);
        rows.push([title, one(item, "a").textContent, on]);
      }
      const right = stage.querySelectorAll("li.done[data-question]").length;
      const asked = stage.querySelectorAll("li[data-question]").length;
      if (right) rows.push([title, `${right} of ${asked} questions right`, ""]);
    }
    const body = one(document, ".record tbody");
    body.replaceChildren(
      ...rows.map((cells) => {
        const row = document.createElement("tr");
        row.append(
          ...cells.map((text) =>
            Object.assign(document.createElement("td"), { textContent: text }),
          ),
        );
        return row;
      }),
    );
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
