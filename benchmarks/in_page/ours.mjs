// Our engine as one that trains: alone, or as one of two workers that share each batch.

import { readConfig } from "../../web/config.mjs";
import { Partner } from "../../web/runs/share.mjs";
import { randomNumbers } from "../../web/sampling.mjs";
import { simdArithmetic } from "../../web/train/simd.mjs";
import { Trainer } from "../../web/train/trainer.mjs";
import { serve } from "./trainee.mjs";

/** @type {Trainer} */
let trainer;
let partner;
let batch;

serve({
  async begin({ sizes, ids, targets, lr, port, place }) {
    const { V, N, H, C, T } = sizes;
    const names = { vocab_size: V, n_positions: T, n_layer: N, n_head: H, n_embd: C };
    const config = readConfig(JSON.stringify({ model_type: "gpt2", ...names }));
    const settings = { lr, minLr: lr, warmupSteps: 0, steps: 1e6 };
    trainer = await Trainer.start(config, simdArithmetic, { settings });
    trainer.initialise(randomNumbers(0), 0.1);
    if (port) partner = new Partner(port, place);
    const [first, end] = partner?.rows(ids.length / T) ?? [0, ids.length / T];
    const own = [ids, targets].map((all) => Int32Array.from(all.slice(first * T, end * T)));
    batch = { ids: own[0], targets: own[1], count: ids.length };
  },

  async steps({ n }) {
    const { ids, targets, count } = batch;
    let loss = 0;
    for (let i = 0; i < n; i++) {
      loss = trainer.backward(ids, targets, { count });
      if (partner) loss = await partner.add(trainer, loss);
      trainer.update();
    }
    return loss;
  },
});
