// A graphics device (WebGPU) and the work it is given.
//
// Kernels and copies are only recorded; submit() sends them off. What goes wrong the device tells
// later: settle() waits for it.

import { kernel } from "./shaders.mjs";

/** @typedef {any} Device  a GPUDevice: TypeScript's libraries do not know WebGPU yet */
/** @typedef {any} Buffer  a GPUBuffer */

export const { GPUBufferUsage, GPUMapMode } = /** @type {any} */ (globalThis);

const SLOT = 64; // words from one kernel's sizes to the next, as far as devices want them apart
const SLOTS = 1024; // kernels that are recorded before they are submitted
const MOST = 65535; // groups of threads along an axis

const LOST = "the graphics device was lost: load the model again, or choose WebAssembly";
const FULL = "the graphics device has no memory left: choose WebAssembly, or a smaller model";

export class Recorder {
  /** @param {Device} device */
  constructor(device) {
    this.device = device;
    this.lost = false;
    device.lost.then(() => (this.lost = true));
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    this.largest = Math.min(maxStorageBufferBindingSize, maxBufferSize); // bytes of a tensor
    /** @type {Record<string, any>} */
    this.pipelines = {};
    this.sizes = new Uint32Array(SLOT * SLOTS);
    this.sizesBuffer = device.createBuffer({
      size: this.sizes.byteLength,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    this.recorded = 0; // kernels
    /** @type {any} */
    this.encoder = null; // open from the first that is recorded until submit()
    /** @type {any} */
    this.pass = null; // of kernels, open until a copy
    this.watch();
  }

  /**
   * A kernel, compiled when it is first needed.
   * @param {string} name
   */
  pipeline(name) {
    return (this.pipelines[name] ??= this.device.createComputePipeline({
      layout: "auto",
      compute: { module: this.device.createShaderModule({ label: name, code: kernel(name) }) },
    }));
  }

  /** Give everything back to the device. */
  close() {
    this.device.destroy();
  }

  /** From now on take note of what the device refuses. */
  watch() {
    this.device.pushErrorScope("validation");
    this.device.pushErrorScope("out-of-memory");
  }

  /**
   * Wait for some work of the device; an Error says in a sentence what went wrong since the last.
   * @param {Promise<unknown>} work
   */
  async settle(work) {
    const scopes = [this.device.popErrorScope(), this.device.popErrorScope()];
    this.watch();
    const [full, invalid, done] = /** @type {any[]} */ (
      await Promise.allSettled([...scopes, work])
    );
    if (this.lost) throw new Error(LOST);
    if (full.value) throw new Error(FULL);
    if (invalid.value) throw new Error(`the graphics device refused: ${invalid.value.message}`);
    if (done.status === "rejected") throw new Error(LOST);
  }

  /** Where copies are recorded. */
  copies() {
    this.pass?.end();
    this.pass = null;
    return (this.encoder ??= this.device.createCommandEncoder());
  }

  /**
   * Record a kernel.
   * @param {string} name
   * @param {number[]} groups  of threads, along up to three axes
   * @param {number[]} sizes
   * @param {object[]} tensors  each with its buffer
   */
  run(name, groups, sizes, tensors) {
    if (this.recorded === SLOTS) this.submit();
    const pipeline = this.pipeline(name);
    const slot = SLOT * this.recorded++;
    this.sizes.set(sizes, slot);
    const bound = [
      { buffer: this.sizesBuffer, offset: 4 * slot, size: 4 * SLOT },
      .../** @type {{buffer: Buffer}[]} */ (tensors).map(({ buffer }) => ({ buffer })),
    ];
    this.pass ??= this.copies().beginComputePass();
    this.pass.setPipeline(pipeline);
    this.pass.setBindGroup(
      0,
      this.device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: bound.map((resource, binding) => ({ binding, resource })),
      }),
    );
    this.pass.dispatchWorkgroups(...groups.map((n) => Math.min(n, MOST)));
  }

  /**
   * Record a kernel that takes numbers one by one.
   * @param {string} name
   * @param {number} count
   * @param {number[]} sizes
   * @param {object[]} tensors  each with its buffer
   */
  each(name, count, sizes, tensors) {
    this.run(name, [Math.ceil(count / 256)], [count, ...sizes], tensors);
  }

  submit() {
    if (!this.encoder) return;
    const commands = this.copies().finish();
    this.device.queue.writeBuffer(this.sizesBuffer, 0, this.sizes, 0, SLOT * this.recorded);
    this.device.queue.submit([commands]);
    this.encoder = null;
    this.recorded = 0;
  }

  /**
   * @param {number} bytes
   * @returns {Buffer}  all zeros
   */
  buffer(bytes) {
    if (bytes > this.largest) {
      const [asked, most] = [bytes, this.largest].map((n) => Number((n / 1e6).toPrecision(3)));
      throw new Error(
        `a tensor of ${asked} MB is more than the ${most} MB that this graphics device ` +
          "takes at once: choose WebAssembly, or fewer tokens",
      );
    }
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    return this.device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC | COPY_DST });
  }
}
