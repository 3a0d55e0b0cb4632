# page_files.py: writes the files that the pages of ports/import, ports/tokenizer and ports/integers.md take as given into this folder: small models of
# random numbers in each format, and a model for heed_calibrate. Nothing but Python's own library. SPDX-License-Identifier: MIT
import json
import random
import struct

random.seed(1)


def floats(count, scale=0.1):
    return struct.pack(f"<{count}f", *(random.gauss(0, scale) for _ in range(count)))


def halves(count):
    return struct.pack(f"<{count}e", *(random.gauss(0, 0.1) for _ in range(count)))


def write(name, *parts):
    with open(name, "wb") as file:
        file.write(b"".join(parts))


def safetensors():
    tensors = {
        "model.layers.0.norm.weight": ("F32", [48], floats(48)),
        "model.layers.0.self_attn.k_proj.weight": ("F16", [48, 64], halves(48 * 64)),
        "model.layers.0.self_attn.q_proj.weight": ("F32", [48, 64], floats(48 * 64)),
    }
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write("model.safetensors", struct.pack("<Q", len(text)), text, *(data for _, _, data in tensors.values()))


def gguf():
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    blocks = b"".join(struct.pack("<e32b", 0.01, *(random.randint(-127, 127) for _ in range(32))) for _ in range(48 * 2))
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    head += text("blk.0.attn_q.weight") + struct.pack("<I2QIQ", 2, 64, 48, 8, 0)
    write("model.gguf", head, b"\0" * (-len(head) % 32), blocks)


def onnx():
    def varint(value):
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])

    def field(number, value):
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        value = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(value)) + value

    def tensor(name, shape):
        count = 1
        for n in shape:
            count *= n
        return b"".join(field(1, n) for n in shape) + field(2, 1) + field(8, name) + field(9, floats(count))

    def node(op, name, inputs, output):
        return b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op)

    graph = field(1, node("MatMul", "/layers.0/q_proj/MatMul", ["x", "onnx::MatMul_7"], "t")) + field(1, node("Add", "/layers.0/q_proj/Add", ["b", "t"], "y"))
    graph += field(2, "graph") + field(5, tensor("onnx::MatMul_7", [64, 48])) + field(5, tensor("b", [48]))
    write("model.onnx", field(1, 8) + field(7, graph) + field(8, field(2, 17)))


def npy():
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 32), }"
    text = text.ljust(117) + "\n"
    write("w.npy", b"\x93NUMPY\x01\x00", struct.pack("<H", len(text)), text.encode(), floats(8 * 32))


def tokenizer():
    """Bytes in the letters of GPT-2, and two words with its numbers; a number without a token has no text."""
    letters, spare = [], 256
    for byte in range(256):
        shown = 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174
        letters.append(chr(byte if shown else spare))
        spare += not shown
    vocab = {letter: at for at, letter in enumerate(letters)}
    merges = []
    for word, last in (("Hello", 15496), ("\u0120world", 995)):
        for n in range(2, len(word) + 1):
            vocab[word[:n]] = last if n == len(word) else len(vocab)
            merges.append(f"{word[:n - 1]} {word[n - 1]}")
    text = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "model": {"type": "BPE", "vocab": vocab, "merges": merges}}
    write("tokenizer.json", json.dumps(text).encode().ljust(70000))


def calibrated():
    dim, hidden = 128, 512
    layer = 4 * (dim * dim + dim) + 2 * dim * hidden + hidden + dim + 4 * dim
    write("weights.f32", floats(4 * layer, 0.05))
    write("rows.f32", floats(50 * dim, 1.0))
    write("model.txt", b"""layers 4   model_dim 128   ffn_dim 512   heads 4
norm layer   norm_first 1   eps 1e-5   activation gelu   causal 0   layout out_in
biases wq wk wv wo w_up w_down norm1 norm2
weights weights.f32   rows rows.f32   sequence 50
""")


for make in (safetensors, gguf, onnx, npy, tokenizer, calibrated):
    make()
