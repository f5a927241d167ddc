// A practice page: which exercises are done, and the fields for answers by hand. judge.js says what is
// right, progress.js keeps it, cards.js has the questions.

"use strict";

{
  const progress = globalThis.gpt2Progress;
  const article = /** @type {HTMLElement} */ (document.querySelector("article"));

  /** @type {(tag: string, name: string, text?: string) => HTMLElement} */
  const made = (tag, name, text = "") => {
    const element = document.createElement(tag);
    element.className = name;
    element.textContent = text;
    return element;
  };

  // ---- Exercises

  /** @type {(runs: Runs, element: Element) => void} */
  function paint(runs, element) {
    for (const [tag, text] of runs) {
      element.append(
        tag ? Object.assign(document.createElement(tag), { textContent: text }) : text,
      );
    }
  }

  /** @param {Element} form */
  const hinted = (form) =>
    [...(form.closest("section")?.querySelectorAll("summary") ?? [])].some(({ textContent }) =>
      textContent.startsWith("Hint"),
    );

  /** @type {(form: Element) => HTMLElement} */
  const verdictOf = (form) => /** @type {any} */ (form.querySelector(".verdict"));

  /** @type {(form: HTMLFormElement, task: Task) => void} */
  function check(form, task) {
    const fields = [...form.querySelectorAll("input")];
    const found = globalThis.gpt2Judge(
      task,
      fields.map((field) => field.value),
    );
    const line = verdictOf(form);
    line.className = `verdict ${found.verdict}`;
    line.textContent = "";
    line.append(made("strong", "", found.says));
    if (found.why) {
      line.append(" ");
      paint(found.why, line);
    }
    for (const field of fields) field.removeAttribute("aria-invalid");
    if (found.verdict === "ask") {
      const field = fields[Math.min(found.field ?? 0, fields.length - 1)];
      field.setAttribute("aria-invalid", "true");
      field.focus();
    }
    if (found.verdict === "wrong" && !found.why && hinted(form))
      line.append(" A hint below may help.");
    const right = found.verdict === "right";
    const card = /** @type {HTMLElement | null} */ (form.closest(".question")); // in a review
    if (right && task.after) line.append(` ${task.after}`);
    if (!card) {
      if (right) progress.pass(String(form.dataset.exercise));
    } else if (found.verdict !== "ask") {
      const typed = fields.map((field) => field.value).join(", ");
      progress.answer(String(card.dataset.question), right, typed);
    }
  }

  /** @param {string} code  in base64 */
  const bytes = (code) => Uint8Array.from(atob(code), (sign) => sign.charCodeAt(0));
  /** @type {NodeListOf<HTMLFormElement>} */
  const forms = article.querySelectorAll("form.answer");
  for (const form of forms) {
    const task = JSON.parse(new TextDecoder().decode(bytes(String(form.dataset.task))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      check(form, task);
    });
    form.addEventListener("input", () => {
      verdictOf(form).textContent = ""; // it was about another answer
      for (const field of form.querySelectorAll("[aria-invalid]"))
        field.removeAttribute("aria-invalid");
    });
  }

  // ---- What is done

  /** @type {Map<string, HTMLElement>} */
  const sections = new Map();
  for (const mark of article.querySelectorAll("[id^='exercise-']")) {
    const done = made("span", "state");
    mark.closest("section")?.querySelector("p")?.append(" ", done);
    sections.set(mark.id.slice("exercise-".length), done);
  }

  function show() {
    const { passed } = progress.read();
    for (const [name, done] of sections) {
      done.textContent = passed[name] ? `✓ done ${passed[name].on.slice(0, 10)}` : "";
    }
  }
  progress.changed(show);
  show();
}
