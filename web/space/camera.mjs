// A camera that looks at a point from a side: where it stands for all to be seen, and its way from one
// stand to another.

import { PerspectiveCamera, Vector3 } from "three";

/** @import { Room } from "./plan.mjs" */
/** @typedef {{target: Vector3, side: number, down: number, distance: number}} Stand  side, down: radians
 *   from the front, and from the horizon */

const FIELD = 24; // degrees
const STEEPEST = 1.5; // radians
const ROUNDS = 14; // until it fits
const NEAREST = 30;

export class Camera {
  constructor() {
    this.own = new PerspectiveCamera(FIELD, 2, 5, 60000);
    /** @type {Stand} */
    this.stand = { target: new Vector3(), side: 0, down: 0, distance: 1000 };
    this.farthest = 20000;
    this.size = { width: 2, height: 1 };
  }

  /** @param {{width: number, height: number}} size  px */
  resize(size) {
    this.size = size;
    this.own.aspect = size.width / size.height;
    this.own.updateProjectionMatrix();
  }

  /** @param {Stand} stand */
  put({ target, side, down, distance }) {
    const steep = Math.max(-STEEPEST, Math.min(STEEPEST, down));
    const far = Math.max(NEAREST, Math.min(this.farthest, distance));
    this.stand = { target, side, down: steep, distance: far };
    const [a, b] = [Math.sin(side), Math.cos(side)];
    const away = new Vector3(a * Math.cos(steep), Math.sin(steep), b * Math.cos(steep));
    this.own.position.copy(target).addScaledVector(away, far);
    this.own.lookAt(target);
    this.own.updateMatrixWorld();
  }

  /** Of a px at the target. */
  get unit() {
    return (2 * this.stand.distance * Math.tan((FIELD * Math.PI) / 360)) / this.size.height;
  }

  /** px between two points. @param {Vector3} from @param {Vector3} by  to the other */
  apart(from, by) {
    const [a, b] = [from.clone(), from.clone().add(by)].map((one) => one.project(this.own));
    const { width, height } = this.size;
    return Math.hypot(((b.x - a.x) * width) / 2, ((b.y - a.y) * height) / 2);
  }

  /** How large something is, in px. @param {Vector3} point @param {number} size */
  px(point, size) {
    const far = Math.max(1, this.own.position.distanceTo(point));
    return (size * this.stand.distance) / (this.unit * far);
  }

  /**
   * Nearer or further, to where a pointer is.
   * @param {number} factor
   * @param {{x: number, y: number}} at  px
   * @param {Vector3} [point]  that is seen there
   * @returns {boolean}  whether it could go there
   */
  scale(factor, { x, y }, point) {
    const { stand, size } = this;
    const before = this.unit;
    if (point) {
      this.put({ ...stand, distance: stand.distance * factor });
      const k = this.stand.distance / stand.distance;
      this.put({
        ...this.stand,
        target: stand.target.clone().sub(point).multiplyScalar(k).add(point),
      });
      return k !== 1;
    }
    this.put({ ...stand, distance: stand.distance * factor });
    const gone = before - this.unit;
    this.shift((x - size.width / 2) * gone, -(y - size.height / 2) * gone);
    return gone !== 0;
  }

  /** Across the picture. @param {number} right @param {number} up */
  shift(right, up) {
    const [x, y] = [0, 1].map((i) => new Vector3().setFromMatrixColumn(this.own.matrixWorld, i));
    const target = this.stand.target.clone().addScaledVector(x, right).addScaledVector(y, up);
    this.put({ ...this.stand, target });
  }

  /**
   * Where a room fills the picture.
   * @param {Room} room
   * @param {{side: number, down: number}} from
   * @param {number[]} free  px to be left free: left, right, top, bottom
   * @returns {Stand}
   */
  fitted({ low, high }, { side, down }, [left, right, top, bottom]) {
    const { width, height } = this.size;
    const before = this.stand;
    const corners = Array.from({ length: 8 }, (_, i) =>
      low.map((a, axis) => (i & (1 << axis) ? high[axis] : a)),
    );
    const middle = new Vector3(...low.map((a, axis) => (a + high[axis]) / 2));
    this.put({ target: middle, side, down, distance: 2 * (high[0] - low[0]) });
    for (let round = 0; round < ROUNDS; round++) {
      const points = corners.map((one) => new Vector3(...one).project(this.own));
      const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
      const [l, r, b, t] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const [L, R, B, T] = [
        (2 * left) / width - 1,
        1 - (2 * right) / width,
        (2 * bottom) / height - 1,
        1 - (2 * top) / height,
      ];
      const half = this.unit * 0.5;
      this.shift(((l + r - L - R) / 2) * half * width, ((b + t - B - T) / 2) * half * height);
      const { stand } = this;
      this.put({
        ...stand,
        distance: stand.distance * Math.max((r - l) / (R - L), (t - b) / (T - B)),
      });
    }
    const found = this.stand;
    this.put(before);
    return found;
  }
}

/**
 * Between two stands: evenly for the eye.
 * @param {Stand} a
 * @param {Stand} b
 * @param {number} t  0 to 1
 * @returns {Stand}
 */
export function between(a, b, t) {
  const mix = (/** @type {number} */ from, /** @type {number} */ to) => from + t * (to - from);
  return {
    target: a.target.clone().lerp(b.target, t),
    side: mix(a.side, b.side),
    down: mix(a.down, b.down),
    distance: Math.exp(mix(Math.log(a.distance), Math.log(b.distance))),
  };
}
