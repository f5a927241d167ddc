// What a reader needs who goes into the picture or changes it. Packed into deep.js, which a page asks
// for when somebody is near.

export { sceneOf } from "./scenes.mjs";
export { Tools } from "./tools.mjs";
