// @genai-fi/nanogpt on its CPU backend, through its own model, data set and trainer. Its model has
// RMSNorm and no biases; positions are learned here, as GPT-2's are. Gradients are not clipped: that
// needs an operation which only its WebGPU backend has.

import { selectBackend } from "./node_modules/@genai-fi/nanogpt/dist/backend.js";
import { default as NanoGPT } from "./node_modules/@genai-fi/nanogpt/dist/models/NanoGPTV1.js";
import { default as BasicTrainer } from "./node_modules/@genai-fi/nanogpt/dist/training/BasicTrainer.js";
import { DatasetBuilder } from "./node_modules/@genai-fi/nanogpt/dist/training/DatasetBuilder.js";
import "./node_modules/@genai-fi/nanogpt/dist/main.js"; // which registers its operations
import { serve } from "./trainee.mjs";

/** @type {BasicTrainer} */
let trainer;
let batch;

serve({
  async begin({ sizes: { V, N, H, C, T, B }, ids, lr }) {
    await selectBackend("cpu");
    const sizes = { vocabSize: V, blockSize: T, nLayer: N, nHead: H, nEmbed: C, mlpFactor: 4 };
    const model = new NanoGPT({ ...sizes, modelType: "GenAI_NanoGPT_v1", useRope: false });
    const rate = { learningRate: lr, minLearningRate: lr, warmupSteps: 0 };
    trainer = new BasicTrainer(model, null, rate);
    const store = {
      ...{ shardSize: ids.length + 1, getTokenCount: () => ids.length + 1, getShardCount: () => 1 },
      ...{ getShardLength: () => ids.length + 1, hasMask: () => false },
      getShard: async () => Uint16Array.from([...ids, ids[0]]),
    };
    const builder = new DatasetBuilder(null, T);
    const { dataset } = await builder.createTextDataset(store, { batchSize: B });
    batch = (await (await dataset.iterator()).next()).value;
  },

  async steps({ n }) {
    let loss;
    for (let i = 0; i < n; i++) {
      loss?.dispose();
      loss = trainer.trainStep({}, batch);
    }
    return (await loss.data())[0];
  },
});
