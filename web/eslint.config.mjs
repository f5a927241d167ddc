import js from "@eslint/js";
import globals from "globals";

// Text becomes text: nothing that is read or typed can be taken for markup or for code.
const asMarkup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "createContextualFragment"];
const restricted = asMarkup.map((property) => ({
  property,
  message: "Make elements; set textContent.",
}));

export default [
  js.configs.recommended,
  {
    languageOptions: {
      globals: {
        ...globals.browser,
        ...globals.worker,
        packed: false,
        gpt2Base: false,
        gpt2Picture: false,
      },
    },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-restricted-properties": ["error", ...restricted],
    },
  },
  {
    files: ["**/{dev,test,tests}/**", "**/build*.mjs"],
    languageOptions: { globals: globals.node },
  },
];
