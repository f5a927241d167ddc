"""GPT-2 as an ONNX graph with a cache, for onnxruntime-web; the weights stay where they are.

The graph names places in the safetensors file as its "external data", so that both contenders read
the same file. Like ours it takes one text at a time and gives the logits of the last token only:

    ids (T), past_key.n and past_value.n (H, S, D) → logits (1, V), key.n and value.n (H, S + T, D)
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from gpt2_edu import GPT2Config


def make_graph(config: GPT2Config, weights: Path) -> bytes:
    """The graph's file, a few kilobytes, for the weights that ``save_pretrained`` wrote."""
    N, H, D = config.n_layer, config.n_head, config.head_size
    graph = Graph(weights)
    op, weight = graph.op, graph.weight

    tokens = op("Shape", "ids")
    seen = op("Shape", "past_key.0", start=1, end=2)
    all_tokens = op("Add", seen, tokens)
    zero, one = graph.constant(np.array(0)), graph.constant(np.array(1))
    first, last = op("Squeeze", seen), op("Squeeze", all_tokens)
    positions = op("Range", first, last, one)
    # A query at position p sees the keys 0 … p.
    keys = op("Range", zero, last, one)
    visible = op("LessOrEqual", keys, op("Unsqueeze", positions, graph.constant(np.array([1]))))
    hidden = graph.constant(np.array(np.finfo(np.float32).min))
    mask = op("Where", visible, graph.constant(np.array(0, np.float32)), hidden)
    by_head = graph.constant(np.array([-1, H, D]))
    merged = graph.constant(np.array([-1, H * D]))
    root = graph.constant(np.array(1 / D**0.5, np.float32))

    def norm(x: str, name: str) -> str:
        epsilon = config.layer_norm_epsilon
        scale, bias = weight(f"{name}.weight"), weight(f"{name}.bias")
        return op("LayerNormalization", x, scale, bias, epsilon=epsilon)

    def linear(x: str, name: str) -> str:
        return op("Gemm", x, weight(f"{name}.weight"), weight(f"{name}.bias"))

    wte = weight("wte.weight")
    x = op("Add", op("Gather", wte, "ids"), op("Gather", weight("wpe.weight"), positions))
    for n in range(N):
        qkv = linear(norm(x, f"h.{n}.ln_1"), f"h.{n}.attn.c_attn")
        q, k, v = (
            op("Transpose", op("Reshape", part, by_head), perm=[1, 0, 2])
            for part in op("Split", qkv, outputs=3, axis=1, num_outputs=3)
        )
        k = op("Concat", f"past_key.{n}", k, axis=1, name=f"key.{n}")
        v = op("Concat", f"past_value.{n}", v, axis=1, name=f"value.{n}")
        scores = op("MatMul", op("Mul", q, root), op("Transpose", k, perm=[0, 2, 1]))
        heads = op("MatMul", op("Softmax", op("Add", scores, mask)), v)
        heads = op("Reshape", op("Transpose", heads, perm=[1, 0, 2]), merged)
        x = op("Add", x, linear(heads, f"h.{n}.attn.c_proj"))
        act = linear(norm(x, f"h.{n}.ln_2"), f"h.{n}.mlp.c_fc")
        x = op("Add", x, linear(op("Gelu", act, approximate="tanh"), f"h.{n}.mlp.c_proj"))
    x = op("Gather", norm(x, "ln_f"), graph.constant(np.array([-1])))
    op("Gemm", x, wte, transB=1, name="logits")
    return graph.model(config)


class Graph:
    """A graph that grows by one operation at a time; values go by their names."""

    def __init__(self, weights: Path) -> None:
        self.file = weights.name
        with weights.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            self.header = json.loads(file.read(length))
        self.start = 8 + length
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, TensorProto] = {}

    def op(self, kind: str, *inputs: str, outputs: int = 1, name: str = "", **attributes):
        """Append an operation; the name of its result, or the names of several."""
        name = name or f"{kind}.{len(self.nodes)}"
        names = [name] if outputs == 1 else [f"{name}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name, **attributes))
        return name if outputs == 1 else names

    def constant(self, value: np.ndarray) -> str:
        name = f"constant.{len(self.tensors)}"
        self.tensors[name] = numpy_helper.from_array(value, name)
        return name

    def weight(self, name: str) -> str:
        """A float32 tensor of the file, by its place there."""
        entry = self.header[f"transformer.{name}"]
        first, last = entry["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": self.file, "offset": self.start + first, "length": last - first}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.tensors[name] = tensor
        return name

    def model(self, config: GPT2Config) -> bytes:
        H, D = config.n_head, config.head_size

        def cache(prefix: str, length: str) -> list[onnx.ValueInfoProto]:
            return [
                helper.make_tensor_value_info(
                    f"{prefix}{kind}.{n}", TensorProto.FLOAT, [H, length, D]
                )
                for n in range(config.n_layer)
                for kind in ("key", "value")
            ]

        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["T"])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, config.vocab_size])
        graph = helper.make_graph(
            self.nodes,
            "gpt2",
            [ids, *cache("past_", "S")],
            [logits, *cache("", "S + T")],
            list(self.tensors.values()),
        )
        opset = helper.make_opsetid("", 20)
        made = helper.make_model(graph, opset_imports=[opset], ir_version=10)
        return made.SerializeToString()
