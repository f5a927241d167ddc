// Where the text has a word that the model has never met: this is said before its numbers, which stand
// behind, and beside it GPT-2 is offered, which knows all words.

import { make } from "../exhibits/dom.mjs";

export class Unread {
  /**
   * @param {HTMLElement} stage
   * @param {HTMLElement} gpt2  the button that offers it, and where it else stands
   * @param {HTMLElement} who
   */
  constructor(stage, gpt2, who) {
    this.stage = stage;
    this.gpt2 = gpt2;
    this.who = who;
    this.says = make("b");
    this.element = make("p", { class: "flow-unread" }, this.says, " What it answers means little.");
    this.element.hidden = true;
    stage.append(this.element);
    gpt2.addEventListener("focus", () => this.element.classList.remove("asks"));
    gpt2.addEventListener("click", () => this.element.classList.add("asks")); // beside it there is room
  }

  /**
   * After a pass is shown.
   * @param {string} sentence  what the model has never met; empty: it knows all words
   * @param {{x: number, y: number, width: number}} [at]  px, where the answer begins
   */
  set(sentence, at) {
    const { element, gpt2, stage } = this;
    const here = Boolean(sentence && at);
    this.says.textContent = sentence;
    element.hidden = !here;
    stage.classList.toggle("unread", here);
    gpt2.classList.toggle("wanted", here);
    if (at) {
      const right = stage.clientWidth - at.x - at.width;
      const [top, end, width] = [at.y, right, at.width].map((px) => `${px}px`);
      Object.assign(element.style, { top, right: end, width });
    }
    const beside = here && !stage.classList.contains("turned") ? element : this.who; // on a phone it is seen there
    if (gpt2.parentElement === beside) return;
    const had = document.activeElement === gpt2;
    beside.append(gpt2);
    if (had) gpt2.focus({ preventScroll: true });
  }
}
