// What all exhibits stand on: the page's state and model, elements, the frame around an exhibit. Packed
// into base.js, which pages load once, whichever exhibits they have.

export * from "./acts.mjs";
export * from "./as_table.mjs";
export * from "./crane_world.mjs";
export * from "./dom.mjs";
export * from "./exhibit.mjs";
export * from "./hand.mjs";
export * from "./keys.mjs";
export * from "./model_choice.mjs";
export * from "./motion.mjs";
export * from "./own.mjs";
export * from "./page_model.mjs";
export * from "./published.mjs";
export * from "./state.mjs";
export * from "./strip.mjs";
