// Which model answers an exhibit: the reader's, GPT-2, or the book's again. And what is said where
// it cannot.

import { make } from "./dom.mjs";
import { modelFromFiles } from "./files.mjs";
import { gpt2Button } from "./published.mjs";

/** @import { Exhibit } from "./exhibit.mjs" */

const UNEXPECTED =
  "something went wrong. Press “reset”, reload the page, or go back to the book's model.";

/**
 * The buttons below an exhibit.
 * @param {Exhibit} exhibit
 */
export function choices(exhibit) {
  const input = make("input", {
    type: "file",
    multiple: true,
    hidden: true,
    onchange: () => input.files?.length && exhibit.bring(modelFromFiles(input.files)),
  });
  const choose = () => {
    input.value = "";
    input.click();
  };
  const yours = make("button", { onclick: choose }, "use your model");
  const gpt2 = gpt2Button(
    (files) => exhibit.bring(files),
    (said) => exhibit.complain(said),
  );
  const book = bookButton(exhibit);
  book.hidden = !exhibit.model.loaded?.own;
  return [input, yours, gpt2, book];
}

/**
 * A button that gives up the reader's own model.
 * @param {Exhibit} exhibit
 * @param {string} [name]
 */
export function bookButton(exhibit, name = "the book's model") {
  const onclick = async () => {
    await exhibit.model.back().catch((error) => exhibit.complain(error));
    await exhibit.wake(); // if it sleeps because it could not answer with the other
  };
  return make("button", { type: "button", onclick }, name);
}

/**
 * Throws an Error if an exhibit shows what the model does not have.
 * @param {{needsModel: boolean, takesLlama: boolean}} kind
 * @param {Exhibit["model"]} model
 */
export function checkFamily({ needsModel, takesLlama }, { loaded }) {
  if (!needsModel || takesLlama || !loaded?.config.llama) return;
  throw new Error(
    `${loaded.name} is a Llama, and this shows what only GPT-2 has. A Llama can be seen on the ` +
      "page “Open the model”.",
  );
}

/**
 * An error as a reader should read it: our own messages as they are. What the browser throws is of
 * other classes, and is for developers.
 * @param {unknown} error
 */
export function inWords(error) {
  if (error instanceof Error && error.constructor === Error) return error.message;
  console.error(error);
  return UNEXPECTED;
}
