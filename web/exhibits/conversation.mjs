// A question about a story as tokens, by the template of gpt2_edu/tuning/messages.py:
// <|endoftext|> <|user|> story question <|assistant|> answer <|endoftext|>

import { visible } from "./dom.mjs";
import { END, START } from "./page_model.mjs";

/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @typedef {"mark" | "story" | "question" | "answer"} Role  mark: special tokens */
/** @typedef {{role: Role, names: string[]}} Part  tokens in a row, as a reader sees them */

export const [USER, ASSISTANT] = ["⟨user⟩", "⟨assistant⟩"];
const BETWEEN = " "; // a story and its question

export class Conversation {
  /**
   * @param {Tokenizer} tokenizer  whose vocabulary ends before the two roles
   * @param {{story: string, question: string}} asked
   * @param {number} most  tokens of story and question; what is too many is cut at the beginning
   */
  constructor(tokenizer, { story, question }, most) {
    this.tokenizer = tokenizer;
    const { eot, size } = tokenizer;
    this.user = size;
    this.assistant = size + 1;
    const text = [story, question].filter(Boolean).join(BETWEEN);
    const all = tokenizer.encode(text);
    this.cut = Math.max(0, all.length - most);
    this.content = all.slice(this.cut);
    const inStory = new TextEncoder().encode(story).length;
    let [bytes, tokens] = [0, 0];
    while (bytes < inStory) bytes += tokenizer.bytes(all[tokens++]).length;
    const names = this.content.map((id) => this.show(id));
    const end = Math.max(0, tokens - this.cut); // of the story
    this.ids = [eot, this.user, ...this.content, this.assistant]; // what is read
    /** @type {Part[]} */
    this.read = [
      { role: "mark", names: [START, USER] },
      { role: "story", names: names.slice(0, end) },
      { role: "question", names: names.slice(end) },
      { role: "mark", names: [ASSISTANT] },
    ];
  }

  /**
   * An answer as training has it, with the token that ends it.
   * @param {string} answer
   */
  answerIds(answer) {
    return [...this.tokenizer.encode(` ${answer}`), this.tokenizer.eot];
  }

  /** @param {number} id  within a text or behind it */
  show(id) {
    if (id === this.tokenizer.eot) return END;
    if (id === this.user) return USER;
    return id === this.assistant ? ASSISTANT : visible(this.tokenizer.show(id));
  }

  /** @param {number[]} ids  what was written, without its end and without roles */
  text(ids) {
    return this.tokenizer.decode(ids.filter((id) => id < this.tokenizer.eot)).trim();
  }
}
