// The reports and samples of a run, in few enough points to store and to draw.

/** @import { Mark, Report } from "./run.mjs" */

const POINTS = 600; // a longer list loses every second point

export class History {
  /** @param {{reports: Report[], marks: Mark[]}} [from] */
  constructor({ reports, marks } = { reports: [], marks: [] }) {
    this.reports = reports.slice();
    this.marks = marks.slice();
  }

  /** @param {{report?: Report, mark?: Mark}} what */
  add({ report, mark }) {
    if (report) this.reports = thinned([...this.reports, report]);
    if (mark) this.marks = thinned([...this.marks, mark]);
  }

  /**
   * Those up to a step.
   * @param {number} last
   */
  until(last) {
    const reports = this.reports.filter(({ step }) => step <= last);
    const marks = this.marks.filter(({ step }) => step <= last);
    return { reports, marks };
  }
}

/**
 * Every second point of a list that has become too long, with the last.
 * @template T
 * @param {T[]} points
 */
function thinned(points) {
  if (points.length <= POINTS) return points;
  return points.filter((_, i) => (points.length - 1 - i) % 2 === 0);
}
