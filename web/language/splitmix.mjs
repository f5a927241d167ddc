// The random numbers of Crane World's stories, the same as those of gpt2_edu/crane/sampling.py.

/**
 * Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators". Its numbers
 * have 64 bits, so they are BigInts here.
 */
export class SplitMix64 {
  /** @param {number | bigint} seed  from 0 to 2⁶⁴ - 1 */
  constructor(seed) {
    this.state = BigInt(seed);
  }

  /**
   * A random integer from 0 to n - 1.
   * @param {number} n
   */
  below(n) {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let z = this.state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number(((z ^ (z >> 31n)) * BigInt(n)) >> 64n);
  }
}
