// The arithmetic of webgpu.mjs as WGSL, one text for each kernel.
//
// A kernel has its sizes at binding 0, then what it reads, then what it writes. However many groups
// of threads there are, each goes on to the next piece of work until all is done.

/** How many tokens a product takes at a time, where there is more than one. */
export const TOKENS = 4;

/**
 * The declarations of a kernel; numbers among the sizes that are not whole come as their bits.
 * @param {string} sizes  their names
 * @param {string[]} reads  name: type
 * @param {string[]} writes
 */
function declare(sizes, reads, writes) {
  const fields = sizes.split(" ").map((name) => `${name}: u32`);
  const buffers = [...reads, ...writes].map((buffer, i) => {
    const [name, type] = buffer.split(": ");
    const mode = i < reads.length ? "read" : "read_write";
    return `@group(0) @binding(${i + 1}) var<storage, ${mode}> ${name}: array<${type}>;`;
  });
  return [
    `struct Sizes { ${fields.join(", ")} }`,
    "@group(0) @binding(0) var<uniform> p: Sizes;",
    ...buffers,
  ].join("\n");
}

// Number i by itself; p.count of them.
const EACH = `
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < p.count; i += 256 * groups.x) { step(i); }
}`;

// A row by 32 threads; p.rows of them. total() and largest() are over what the threads bring.
const ROWS = `
var<workgroup> brought: array<f32, 32>;
fn bring(lane: u32, value: f32) {
  workgroupBarrier();
  brought[lane] = value;
  workgroupBarrier();
}
fn total(lane: u32, value: f32) -> f32 {
  bring(lane, value);
  var sum = 0.0;
  for (var n = 0u; n < 32; n++) { sum += brought[n]; }
  return sum;
}
fn largest(lane: u32, value: f32) -> f32 {
  bring(lane, value);
  var most = value;
  for (var n = 0u; n < 32; n++) { most = max(most, brought[n]); }
  return most;
}
@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  for (var row = group.x; row < p.rows; row += groups.x) { step(row, lane); }
}`;

// Number k of a row of weights: float32, or float16 of which a word holds two.
const WEIGHT = {
  float32: `fn weight(row: u32, k: u32) -> f32 { return bitcast<f32>(w[row + k]); }`,
  float16: `fn weight(row: u32, k: u32) -> f32 {
  let two = unpack2x16float(w[row + k / 2]);
  return select(two.x, two.y, k % 2 == 1);
}`,
};

/** @param {"float32" | "float16"} format */
const lookUp = (format) => `
${declare("count C stride", ["ids: u32", "w: u32"], ["result: f32"])}
${WEIGHT[format]}
fn step(i: u32) { result[i] = weight(ids[i / p.C] * p.stride, i % p.C); }
${EACH}`;

/**
 * The one product: x (H, T, K) times rows of w, each p.stride words long, p.step words from head
 * to head. 32 threads share the sums over K of 4 rows and some tokens; then each adds up one.
 * @param {"float32" | "float16"} format  of w
 * @param {number} tokens  at a time, up to 8
 */
const product = (format, tokens) => `
${declare(
  "T K R stride step scale hasBias first",
  ["x: f32", "w: u32", "bias: f32"],
  ["result: f32"],
)}
${WEIGHT[format]}
const TOKENS = ${tokens}u;
var<workgroup> sums: array<f32, 4 * TOKENS * 32>;
@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let head = group.z;
  let t = group.y * TOKENS;
  for (var r = 4 * group.x; r < p.R; r += 4 * groups.x) {
    let rows = head * p.step + min(vec4u(r, r + 1, r + 2, r + 3), vec4u(p.R - 1)) * p.stride;
    var own: array<vec4f, TOKENS>;
    for (var k = lane; k < p.K; k += 32) {
      let ws = vec4f(weight(rows.x, k), weight(rows.y, k), weight(rows.z, k), weight(rows.w, k));
      for (var i = 0u; i < TOKENS; i++) {
        own[i] += x[p.first + (head * p.T + min(t + i, p.T - 1)) * p.K + k] * ws;
      }
    }
    for (var i = 0u; i < 4 * TOKENS; i++) { sums[32 * i + lane] = own[i / 4][i % 4]; }
    workgroupBarrier();
    let row = r + lane % 4;
    let token = t + lane / 4;
    if (lane < 4 * TOKENS && row < p.R && token < p.T) {
      var sum = 0.0;
      // Each thread begins elsewhere, so that no two ask the same bank of memory at once.
      for (var n = lane; n < lane + 32; n++) { sum += sums[32 * lane + n % 32]; }
      let b = select(0, bias[row], p.hasBias == 1);
      result[(head * p.T + token) * p.R + row] = bitcast<f32>(p.scale) * sum + b;
    }
    workgroupBarrier();
  }
}`;

const add = () => `
${declare("count", ["x: f32", "y: f32"], ["result: f32"])}
fn step(i: u32) { result[i] = x[i] + y[i]; }
${EACH}`;

const layerNorm = () => `
${declare("rows C epsilon", ["x: f32", "weight: f32", "bias: f32"], ["result: f32"])}
fn step(row: u32, lane: u32) {
  let first = row * p.C;
  var sum = 0.0;
  for (var c = lane; c < p.C; c += 32) { sum += x[first + c]; }
  let mean = total(lane, sum) / f32(p.C);
  var squares = 0.0;
  for (var c = lane; c < p.C; c += 32) {
    let apart = x[first + c] - mean;
    squares += apart * apart;
  }
  let scale = 1 / sqrt(total(lane, squares) / f32(p.C) + bitcast<f32>(p.epsilon));
  for (var c = lane; c < p.C; c += 32) {
    result[first + c] = (x[first + c] - mean) * scale * weight[c] + bias[c];
  }
}
${ROWS}`;

// Numbers (H, T, D) to other places: steps from head to head and so on, where they stand and go.
const move = () => `
${declare("count T D first head token to toHead toToken toNext", ["x: f32"], ["result: f32"])}
fn step(i: u32) {
  let h = i / (p.T * p.D);
  let t = i / p.D % p.T;
  let d = i % p.D;
  result[p.to + h * p.toHead + t * p.toToken + d * p.toNext] =
    x[p.first + h * p.head + t * p.token + d];
}
${EACH}`;

// -Infinity is written and known by its bits: a graphics device may compute as if there were none.
const HIDDEN = "const HIDDEN = 0xff800000u;";

const mask = () => `
${declare("count T S start", [], ["scores: u32"])}
${HIDDEN}
fn step(i: u32) {
  if (i % p.S > p.start + i / p.S % p.T) { scores[i] = HIDDEN; }
}
${EACH}`;

const softmax = () => `
${declare("rows S", [], ["scores: u32"])}
${HIDDEN}
fn step(row: u32, lane: u32) {
  let first = row * p.S;
  let end = first + p.S;
  var most = -3.4e38;
  for (var i = first + lane; i < end; i += 32) {
    if (scores[i] != HIDDEN) { most = max(most, bitcast<f32>(scores[i])); }
  }
  most = largest(lane, most);
  var sum = 0.0;
  for (var i = first + lane; i < end; i += 32) {
    if (scores[i] != HIDDEN) { sum += exp(bitcast<f32>(scores[i]) - most); }
  }
  sum = total(lane, sum);
  for (var i = first + lane; i < end; i += 32) {
    if (scores[i] == HIDDEN) { scores[i] = 0; }
    else { scores[i] = bitcast<u32>(exp(bitcast<f32>(scores[i]) - most) / sum); }
  }
}
${ROWS}`;

// 0.5 (1 + tanh u) is 1 / (1 + exp(-2u)). erf: Abramowitz and Stegun 7.1.26, to 1.5e-7.
const gelu = () => `
${declare("count exact", [], ["x: f32"])}
fn erf(v: f32) -> f32 {
  let t = 1 / (1 + 0.3275911 * abs(v));
  let sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027
    + t * 1.061405429))));
  return sign(v) * (1 - sum * exp(-v * v));
}
fn step(i: u32) {
  let v = x[i];
  let u = 0.7978845608 * (v + 0.044715 * v * v * v);
  if (p.exact == 1) { x[i] = 0.5 * v * (1 + erf(0.7071067812 * v)); }
  else { x[i] = v / (1 + exp(min(-2 * u, 80))); }
}
${EACH}`;

/** @type {Record<string, (format: any, tokens: any) => string>} */
const KERNELS = { lookUp, product, add, layerNorm, move, mask, softmax, gelu };

/**
 * The text of a kernel: its name, for those that read weights also the format of these, and for
 * products how many tokens they take at a time; "product float16 4".
 * @param {string} name
 */
export function kernel(name) {
  const [kind, format, tokens] = name.split(" ");
  return KERNELS[kind](format, tokens);
}
