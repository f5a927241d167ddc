// Where the camera goes: to see all of it, into a block, and along with a pass.

import { still } from "../exhibits/motion.mjs";
import { between, Camera } from "./camera.mjs";

/** @import { Stand } from "./camera.mjs" */
/** @import { Plan, Room } from "./plan.mjs" */

export const FRONT = { side: 0, down: 0.05 }; // radians: as in the flat picture
const HOME = { side: -0.5, down: 0.32 };
const STEEP = { side: -1.2, down: 0.62 }; // where there is more height than width
const INTO = { side: -0.2, down: 0.15 };
const FLIGHT = 1300; // milliseconds
const DEGREE = Math.PI / 180;
export const NEARER = 0.8;
const ALONG = { side: -0.62, turns: 0.5, down: 0.3, distance: 0.6, part: 0.62 }; // with a pass
const LAG = 350; // milliseconds until it is there
const FREE = { wide: [24, 64, 30, 30], narrow: [10, 66, 50, 30] }; // px around all of it

export class Moves {
  /** @param {() => void} draw */
  constructor(draw) {
    this.draw = draw;
    this.camera = new Camera();
    this.plan = /** @type {Plan} */ (/** @type {unknown} */ (null)); // of what is seen
    this.goes = /** @type {((dt: number) => boolean) | null} */ (null); // until it is true
    this.follows = false; // a pass that plays
  }

  /** @param {Plan} plan */
  set(plan) {
    this.plan = plan;
    this.camera.farthest = 4 * plan.length;
  }

  get narrow() {
    return this.camera.size.width < this.camera.size.height;
  }

  get home() {
    return this.fitted(this.narrow ? STEEP : HOME);
  }

  /** @param {{side: number, down: number}} from @param {Room} [room] */
  fitted(from, room = this.plan.all) {
    return this.camera.fitted(room, from, FREE[this.narrow ? "narrow" : "wide"]);
  }

  /** Before a block. @param {number} block */
  before(block) {
    return this.fitted(INTO, this.plan.around(Math.min(block, this.plan.nLayer - 1)));
  }

  /** @param {Stand} stand @returns {Promise<void>} */
  fly(stand) {
    const from = this.camera.stand;
    let gone = 0; // milliseconds
    const length = still() ? 0 : FLIGHT;
    return new Promise((done) => {
      this.goes = (/** @type {number} */ dt) => {
        const t = length ? Math.min(1, (gone += dt) / length) : 1;
        this.camera.put(between(from, stand, t * t * t * (t * (6 * t - 15) + 10)));
        if (t === 1) done();
        return t === 1;
      };
      this.draw();
    });
  }

  /** @param {number} factor */
  nearer(factor) {
    const { camera } = this;
    const { stand, size } = camera;
    camera.scale(factor, { x: size.width / 2, y: size.height / 2 });
    const to = camera.stand;
    camera.put(stand);
    this.fly(to);
  }

  /** @param {number} across @param {number} down  degrees */
  turn(across, down) {
    const { stand } = this.camera;
    const turned = { side: stand.side + across * DEGREE, down: stand.down + down * DEGREE };
    this.camera.put({ ...stand, ...turned });
    this.draw();
  }

  /** A reader takes over. */
  rest() {
    this.goes = null;
    this.follows = false;
  }

  /**
   * Before a frame.
   * @param {number} depth  that a pass has come to
   * @param {number} dt  milliseconds since the last frame
   */
  step(depth, dt) {
    if (this.goes?.(dt)) this.goes = null;
    else if (!this.goes && this.follows) this.along(depth, dt);
    return Boolean(this.goes || this.follows);
  }

  /** @param {number} depth @param {number} dt  milliseconds */
  along(depth, dt) {
    const { plan, camera, home } = this;
    const [from, to] = [plan.x(0.9), plan.x(plan.nLayer + 1.1)];
    const x = Math.max(from, Math.min(to, plan.x(depth)));
    const side = ALONG.side + (ALONG.turns * (x - from)) / (to - from);
    const target = home.target.clone();
    target.x += (x - home.target.x) * ALONG.part;
    const goal = { target, side, down: ALONG.down, distance: ALONG.distance * home.distance };
    camera.put(between(camera.stand, goal, 1 - Math.exp(-dt / LAG)));
  }
}
