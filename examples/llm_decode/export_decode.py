#!/usr/bin/env python3
"""Exports the decode step of a small llama-like model with custom operators that write.

    python3 export_decode.py OUT_DIR        # torch 2.13

Writes decode.pt2 (training form: torch.export.export without decompositions) and expected.txt: per
step the token, position, slot and length that went in, and the logits that eager PyTorch gave.
"""
import math
import pathlib
import sys

import torch
from torch import nn

lib = torch.library.Library("llm", "DEF")
lib.define("store_kv(Tensor k, Tensor v, Tensor(a!) k_pages, Tensor(b!) v_pages, Tensor slots) -> ()")
lib.define("add_rms_norm_(Tensor(a!) hidden, Tensor(b!) residual, Tensor weight, float eps=1e-6) -> ()")
lib.define("rotate_(Tensor positions, Tensor(a!) q, Tensor(b!) k, Tensor table) -> ()")
lib.define("paged_attention(Tensor q, Tensor k_pages, Tensor v_pages, Tensor page_table, "
           "Tensor length, float scale) -> Tensor")


def store_kv(k, v, k_pages, v_pages, slots):
    k_pages.view(-1, *k_pages.shape[2:])[slots] = k
    v_pages.view(-1, *v_pages.shape[2:])[slots] = v


def add_rms_norm_(hidden, residual, weight, eps=1e-6):
    residual += hidden
    hidden.copy_(residual * torch.rsqrt(residual.pow(2).mean(-1, keepdim=True) + eps) * weight)


def rotate_(positions, q, k, table):
    cos, sin = table[positions].unsqueeze(1).chunk(2, dim=-1)
    for m in (q, k):
        x, y = m.chunk(2, dim=-1)
        m.copy_(torch.cat([x * cos - y * sin, y * cos + x * sin], dim=-1))


def paged_attention(q, k_pages, v_pages, page_table, length, scale):
    n = int(length)
    group = q.shape[1] // k_pages.shape[2]
    k = k_pages[page_table].flatten(0, 1)[:n].repeat_interleave(group, dim=1)
    v = v_pages[page_table].flatten(0, 1)[:n].repeat_interleave(group, dim=1)
    weights = torch.softmax(torch.einsum("qhd,khd->hqk", q, k) * scale, dim=-1)
    return torch.einsum("hqk,khd->qhd", weights, v).contiguous()


for f in (store_kv, add_rms_norm_, rotate_, paged_attention):
    lib.impl(f.__name__, f, "CPU")
for name in ("store_kv", "add_rms_norm_", "rotate_"):
    torch.library.register_fake("llm::" + name, lambda *args, **kwargs: None)
torch.library.register_fake("llm::paged_attention", lambda q, *rest: torch.empty_like(q))
ops = torch.ops.llm

WIDTH, HEADS, KV_HEADS, HIDDEN, VOCAB, LAYERS = 48, 4, 2, 96, 64, 2
DIM = WIDTH // HEADS
PAGES, PAGE = 6, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * DIM, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_up = nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.norm1 = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.norm2 = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.register_buffer("k_pages", torch.zeros(PAGES, PAGE, KV_HEADS, DIM))
        self.register_buffer("v_pages", torch.zeros(PAGES, PAGE, KV_HEADS, DIM))

    def forward(self, hidden, residual, table, positions, slots, page_table, length):
        ops.add_rms_norm_(hidden, residual, self.norm1)
        # q, k and v are views of one fused projection; rotate_ writes two of them in place.
        q, k, v = self.qkv(hidden).split([HEADS * DIM, KV_HEADS * DIM, KV_HEADS * DIM], dim=-1)
        q, k, v = q.view(-1, HEADS, DIM), k.view(-1, KV_HEADS, DIM), v.view(-1, KV_HEADS, DIM)
        ops.rotate_(positions, q, k, table)
        ops.store_kv(k, v, self.k_pages, self.v_pages, slots)
        attention = ops.paged_attention(q, self.k_pages, self.v_pages, page_table, length,
                                        1 / math.sqrt(DIM))
        hidden = self.out(attention.view(-1, WIDTH))
        ops.add_rms_norm_(hidden, residual, self.norm2)
        gate, up = self.gate_up(hidden).chunk(2, dim=-1)
        return self.down(nn.functional.silu(gate) * up)


class Decode(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        angle = torch.outer(torch.arange(PAGES * PAGE).float(),
                            10000.0 ** (-torch.arange(0, DIM, 2).float() / DIM))
        self.register_buffer("table", torch.cat([angle.cos(), angle.sin()], dim=-1))

    def forward(self, token, position, slot, page_table, length):
        hidden = self.embed(token)
        residual = torch.zeros_like(hidden)
        for layer in self.layers:
            hidden = layer(hidden, residual, self.table, position, slot, page_table, length)
        ops.add_rms_norm_(hidden, residual, self.norm)
        return self.head(hidden)


def steps():
    """token, position, slot, page table, length of 8 decode steps; pages come in no order."""
    page_table = torch.tensor([4, 1, 3])
    for i in range(8):
        slot = int(page_table[i // PAGE]) * PAGE + i % PAGE
        yield (torch.tensor([(7 * i + 3) % VOCAB]), torch.tensor([i]), torch.tensor([slot]),
               page_table, torch.tensor([i + 1]))


def shorten_paths(program):
    """Keeps source lines, and drops where they lay on the machine that exported."""
    here = str(pathlib.Path(__file__).resolve().parent) + "/"
    packages = str(pathlib.Path(torch.__file__).resolve().parent.parent) + "/"
    for node in program.graph.nodes:
        for key, text in node.meta.items():
            if isinstance(text, str):
                node.meta[key] = text.replace(here, "").replace(packages, "")


def main():
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(20)
    model = Decode().eval()
    with torch.no_grad():
        program = torch.export.export(model, next(steps()), strict=False)
        shorten_paths(program)
        torch.export.save(program, out / "decode.pt2")
        lines = []
        for args in steps():
            logits = model(*args)
            row = [int(args[0]), int(args[1]), int(args[2]), int(args[4])]
            lines.append(" ".join(map(str, row)) + " | " +
                         " ".join("%.9g" % x for x in logits.flatten().tolist()))
    (out / "expected.txt").write_text(
        "# token position slot length | logits, as eager PyTorch %s gave them\n" % torch.__version__
        + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
