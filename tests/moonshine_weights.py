"""moonshine_weights.py DATA FOLDER: the weights of Moonshine Tiny as Hugging Face's MoonshineForConditionalGeneration is published, from
the files that DATA/weights.tsv describes: FOLDER/model.safetensors, f32, under transformers' names. It needs no package.
SPDX-License-Identifier: MIT"""
import array
import json
import os
import struct
import sys

data, folder = sys.argv[1:]


def f32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def numbers_of(row, raw):
    """Bytes of f32 for the numbers of a tensor."""
    if row["type"] == "f32":
        return raw
    scale, zero = f32(float(row["scale"])), float(row["zero_point"])
    if row["type"] == "u8":
        table = [(q - zero) * scale for q in range(256)]
    else:  # a number of 8 bits with a sign, and a zero point that is added: two roundings
        table = [f32(f32((q - 256 if q > 127 else q) * scale) + f32(zero)) for q in range(256)]
    packed = array.array("f", table)
    return array.array("f", map(packed.__getitem__, raw)).tobytes()


def transposed(raw, n_in, n_out, size):
    """(in, out) becomes (out, in)."""
    if size == 1:
        return b"".join(raw[o::n_out] for o in range(n_out))
    raise SystemExit("a matrix of floats")


def name_of(weight):
    name = "model." + weight
    for old, new in ((".dense", ".o_proj"), (".up_proj", ".fc1"), (".down_proj", ".fc2")):
        name = name.replace(old, new)
    return name if name.endswith((".weight", ".bias")) else name + ".weight"


files, header, parts, at = {}, {}, [], 0
with open(os.path.join(data, "weights.tsv"), encoding="utf-8") as table:
    columns = table.readline().rstrip("\n").split("\t")
    rows = [dict(zip(columns, line.rstrip("\n").split("\t"))) for line in table]
for row in rows:
    if "inverse_frequencies" in row["weight"]:
        continue
    if row["file"] not in files:
        with open(os.path.join(data, row["file"]), "rb") as opened:
            files[row["file"]] = opened.read()
    first = int(row["offset"])
    raw = files[row["file"]][first : first + int(row["bytes"])]
    shape = [int(n) for n in row["shape"].split("x")]
    name = name_of(row["weight"])
    is_convolution = ".conv" in name
    if len(shape) == 2 and shape[1] > 1 and "embed_tokens" not in name:
        raw, shape = transposed(raw, shape[0], shape[1], len(raw) // (shape[0] * shape[1])), shape[::-1]
    if len(shape) > 1 and not is_convolution and shape[-1] == 1:
        shape = shape[:1]
    numbers = numbers_of(row, raw)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(numbers)]}
    parts.append(numbers)
    at += len(numbers)
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "model.safetensors"), "wb") as out:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    out.write(struct.pack("<Q", len(text)) + text)
    for part in parts:
        out.write(part)
