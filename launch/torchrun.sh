#!/usr/bin/env bash
# Train on every GPU of this machine:
#
#     launch/torchrun.sh --data data/books --out runs/large --model gpt2-xl --fsdp
#
# or of several. Then the same line is given on each, HOST being the address of one of them:
#
#     NODES=4 HOST=10.0.0.1 launch/torchrun.sh --data /shared/books --out /shared/runs/large …
#
# GPUS: how many of a machine's devices take part, else all. PORT: where they meet, else 29500.
# RUN: a name that they share, else gpt2-edu. PYTHON: else python. All machines read --data and
# --out, so both lie on a disk that all see. What follows goes to `gpt2-edu train`.
set -euo pipefail

python=${PYTHON:-python}
gpus=${GPUS:-$("$python" -c 'import torch; print(max(torch.cuda.device_count(), 1))')}
if [ "${NODES:-1}" -eq 1 ]; then
    meet=(--standalone)
else
    : "${HOST:?says where the machines meet: the address of one of them, the same on all}"
    meet=(--nnodes "$NODES" --rdzv-backend c10d --rdzv-id "${RUN:-gpt2-edu}"
        --rdzv-endpoint "$HOST:${PORT:-29500}")
fi
exec "$python" -m torch.distributed.run "${meet[@]}" --nproc-per-node "$gpus" \
    -m gpt2_edu train "$@"
