// Where the rest of the picture comes from: a module here, on a page a script (packed_deeper.mjs).

export const deeper = () => import("./deep.mjs");
