// A practice page: which questions and exercises are done, and the fields for answers by hand.
// judge.js says what is right, progress.js keeps it.

"use strict";

{
  const progress = globalThis.gpt2Progress;
  const article = document.querySelector("article");

  const made = (tag, name, text = "") => {
    const element = document.createElement(tag);
    element.className = name;
    element.textContent = text;
    return element;
  };
  const tell = made("p", "progress-note");
  tell.setAttribute("role", "status");
  article.querySelector("h1").after(tell);

  // ---- Questions

  function stateOf(entry) {
    if (!entry) return "";
    if (entry.first) return "✓ Right at once";
    return entry.right ? "✓ Right, not at once" : "Not yet right";
  }

  const cards = [...article.querySelectorAll(".question")];
  for (const card of cards) {
    const state = made("span", "state");
    state.setAttribute("role", "status");
    card.querySelector(".count").append(state);
    card.addEventListener("click", (event) => {
      const option = event.target.closest("summary")?.parentElement;
      if (!option?.matches(".guess") || option.open) return; // it is being closed
      progress.answer(card.dataset.question, option.matches(".right"));
    });
  }

  // ---- Exercises

  function paint(runs, element) {
    for (const [tag, text] of runs) {
      element.append(
        tag ? Object.assign(document.createElement(tag), { textContent: text }) : text,
      );
    }
  }

  const hinted = (form) =>
    [...form.closest("section").querySelectorAll("summary")].some(({ textContent }) =>
      textContent.startsWith("Hint"),
    );

  function check(form, task) {
    const fields = [...form.querySelectorAll("input")];
    const found = globalThis.gpt2Judge(
      task,
      fields.map((field) => field.value),
    );
    const line = form.querySelector(".verdict");
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
    if (found.verdict !== "right") return;
    if (task.after) line.append(` ${task.after}`);
    progress.pass(form.dataset.exercise);
  }

  const bytes = (code) => Uint8Array.from(atob(code), (sign) => sign.charCodeAt(0));
  for (const form of article.querySelectorAll("form.answer")) {
    const task = JSON.parse(new TextDecoder().decode(bytes(form.dataset.task)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      check(form, task);
    });
    form.addEventListener("input", () => {
      form.querySelector(".verdict").textContent = ""; // it was about another answer
      for (const field of form.querySelectorAll("[aria-invalid]"))
        field.removeAttribute("aria-invalid");
    });
  }

  // ---- What is done

  const sections = [...article.querySelectorAll("[id^='exercise-']")].map((mark) => {
    const section = mark.closest("section");
    const done = made("span", "state");
    section.querySelector("p").append(" ", done);
    return [mark.id.slice("exercise-".length), done];
  });

  function show() {
    const { passed, questions } = progress.read();
    for (const card of cards) {
      const entry = questions[card.dataset.question];
      card.querySelector(".state").textContent = stateOf(entry);
    }
    for (const [name, done] of sections) {
      done.textContent = passed[name] ? `✓ done ${passed[name].on.slice(0, 10)}` : "";
    }
    tell.textContent = progress.problem();
  }
  progress.changed(show);
  show();
}
