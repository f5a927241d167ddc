// Questions and guesses: what was chosen is kept by progress.js, and told again above the exhibit that
// stands in the same section below a guess.

"use strict";

{
  const progress = globalThis.gpt2Progress;
  const article = /** @type {HTMLElement} */ (document.querySelector("article"));

  /** @type {(tag: string, name: string) => HTMLElement} */
  const said = (tag, name) => {
    const element = document.createElement(tag);
    element.className = name;
    element.setAttribute("role", "status");
    return element;
  };
  const trouble = said("p", "progress-note");
  article.querySelector("h1")?.after(trouble);

  /** @param {{first: boolean, right: boolean} | undefined} entry */
  function stateOf(entry) {
    if (!entry) return "";
    if (entry.first) return "✓ Right at once";
    return entry.right ? "✓ Right, not at once" : "Not yet right";
  }

  /** @param {Element | null | undefined} option */
  const textOf = (option) => String(option?.querySelector("summary")?.textContent).trim();

  /** @type {{id: string, state: HTMLElement, right: string, guess?: HTMLElement}[]} */
  const cards = [];
  /** @type {NodeListOf<HTMLElement>} */
  const questions = article.querySelectorAll(".question");
  for (const card of questions) {
    const id = String(card.dataset.question);
    const state = said("span", "state");
    card.querySelector(".count")?.append(state);
    cards.push({ id, state, right: textOf(card.querySelector(".right")) });
    card.addEventListener("click", (event) => {
      const summary = /** @type {Element} */ (event.target).closest("summary");
      const option = /** @type {HTMLDetailsElement | null | undefined} */ (summary?.parentElement);
      if (!option?.matches(".guess") || option.open) return; // it is being closed
      progress.answer(id, option.matches(".right"), textOf(option));
    });
  }

  for (const exhibit of article.querySelectorAll(".cell:has(.g2-live)")) {
    let above = exhibit.previousElementSibling;
    while (above && !above.matches(".question, .cell:has(.g2-live)"))
      above = above.previousElementSibling;
    const asked = cards.find(({ id }) => id === above?.getAttribute("data-question"));
    if (!asked) continue;
    asked.guess = said("p", "guessed");
    exhibit.before(asked.guess);
  }

  function show() {
    const { questions } = progress.read();
    for (const { id, state, right, guess } of cards) {
      const entry = questions[id];
      state.textContent = stateOf(entry);
      if (!guess) continue;
      const chosen = entry?.chosen;
      guess.textContent = !chosen
        ? ""
        : entry.first
          ? `✓ You said “${chosen}”, and so it is.`
          : `You said “${chosen}”. The answer is “${right}”.`;
    }
    trouble.textContent = progress.problem();
  }
  progress.changed(show);
  show();
}
