// What the picture can show: a scene for each kind of place.

import { block } from "./block.mjs";
import { head } from "./head.mjs";
import { matrix } from "./matrix.mjs";
import { mlp } from "./mlp.mjs";
import { norm } from "./norm.mjs";
import { product } from "./product.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { Box } from "./layout.mjs" */
/** @import { Parts } from "./parts.mjs" */

/**
 * What a scene is given.
 * @typedef {object} View
 * @property {Pass} pass
 * @property {Pass | null} was  what was shown before, so that it changes rather than appears
 * @property {Pass | null} other  that it is compared with
 * @property {import("./versus.mjs").Gaps | null} gaps  how far the two are apart
 * @property {import("./pass.mjs").Next[]} next  the bars, of one pass or of both
 * @property {Parts} parts  of the weights, as far as the place wants them
 * @property {number} width  px
 * @property {number} [height]  px that every level has
 * @property {number} at  the token that is followed: the query
 * @property {Place} place
 * @property {string[]} cut  heads, block.head
 * @property {import("./by_hand.mjs").Cell[]} cells  that are set by hand
 * @property {(layout: import("./layout.mjs").Layout) => unknown} [byHand]  them, in the whole
 * @property {import("./source.mjs").Widths & {nLayer: number}} sizes
 * @property {(id: number) => string} [name]  of a token
 * @property {(tiles: import("./tiles.mjs").Tile[], view: View) => unknown} [weights]  what is in
 *   them, once somebody is near
 * @property {import("./solids.mjs").Solids} [solids]  a block to scale
 * @property {import("./deep.mjs").Deep["folded"]} [folded]  what many blocks have
 * @property {string[]} [boxes]  the weights in few pixels, until they come
 * @property {number} step  of a head: score, scale, mask, share, mix
 * @property {number} hover  an output of a matrix; -1: none
 * @property {(step: number) => void} setStep
 * @property {(depth: number) => void} upTo  show the pass as far as that
 * @property {(output: number, filled?: boolean) => void} setHover  `filled`: those behind it are still to come
 * @property {boolean} filling
 * @property {number} nth  product that is added now; -1: all are
 * @property {(nth: number) => void} setNth
 * @property {(place: Place) => void} go
 * @property {(at: number) => void} pick  another token
 * @property {(at: number) => void} exchange  that token for another
 * @property {(head: string) => void} toggle  cut a head, or put it back
 * @property {(id: number, rest?: string) => void} append  a token to the text, and the rest of its word
 * @property {(name: string) => string} colour  of the theme, for a canvas
 * @property {import("./patch.mjs").Patch | null} patch  where another text can give a vector
 */
/**
 * What a scene makes of it: a picture, `height` px high.
 * @typedef {object} Scene
 * @property {number} height
 * @property {import("lit/html.js").TemplateResult} body
 * @property {(place: Place) => Box | null} boxes  where a deeper place lies in it
 * @property {string} [says]  in a sentence
 * @property {string} [tells]  what stands at the edge of a phone's screen in place of the answer
 * @property {string} [path]  the tensor that it shows
 * @property {string} [code]  the part of that tensor's line that it shows, if not all of it
 * @property {((depth: number) => number)} [along]  px along the way; without it nothing is played
 * @property {number[]} [range]  depths between which it is played, of a part of the whole
 * @property {number} [below]  px at its end that a pass does not cover
 * @property {import("./pulses.mjs").Bead[]} [beads]
 * @property {number} [nLayer]  blocks that the beads run through
 * @property {Box} [home]  what a camera that comes from around it begins with; else all of it
 * @property {() => Map<string, import("./camera.mjs").Square>} [squares]  weights, by block, head,
 *   query and key
 * @property {{x: number, y: number, width: number}} [knob]  where the temperature is set
 * @property {boolean} [vertical]
 * @property {import("lit/html.js").TemplateResult} [ahead]  what a pass that plays has not reached
 * @property {{count: number, show: (nth: number) => void, ends?: number[], each?: number}} [fills]
 *   what is played instead, one after the other; `ends`: when each does, milliseconds; `each`: how
 *   long one takes
 */
/** @typedef {(view: View) => Scene} Kind */

/**
 * A place within the whole.
 * @param {Place} place
 * @returns {Kind}
 */
export function sceneOf(place) {
  if (place.query !== undefined || place.number !== undefined) return product;
  if (place.norm) return norm;
  if (place.weight) return matrix;
  if (place.mlp) return mlp;
  return place.head === undefined ? block : head;
}
