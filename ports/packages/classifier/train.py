"""train.py HEED_CALIBRATE FOLDER [STEPS]: trains the model of classifier.h in floats, has heed_calibrate turn its layers into
integers, and writes FOLDER/classifier_model.h. It wants numpy, and takes seconds. SPDX-License-Identifier: MIT

Another model of yours: other words, or other data in batch(); the sizes stand below."""
import re
import struct
import subprocess
import sys

import numpy as np

WORDS = ["on", "off", "left", "right", "up", "down", "stop", "go"]
DIM, HEADS, HIDDEN, LAYERS, ROWS = 16, 2, 32, 2, 8
random = np.random.default_rng(3)


# ---------------------------------------------------------------------- data: words, at most one letter of which is wrong
def tokens(word):
    letters = [ord(c) - 96 for c in word[: ROWS - 1]]
    return [0] + letters + [0] * (ROWS - 1 - len(letters))  # row 0 is the class token


def damaged(word):
    w, kind = list(word), random.integers(5)
    i, letter = random.integers(len(w)), chr(97 + random.integers(26))
    if kind == 1 and len(w) > 2:
        del w[i]
    elif kind == 2:
        w.insert(i, letter)
    elif kind == 3 and len(w) > 3:
        w[i] = letter
    elif kind == 4 and 3 < len(w) > i + 1:
        w[i], w[i + 1] = w[i + 1], w[i]
    return "".join(w)


def batch(n):
    y = random.integers(len(WORDS), size=n)
    return np.array([tokens(damaged(WORDS[i])) for i in y]), y


# ----------------------------------------------------------- a tensor that knows how its gradient goes on to what made it
class Tensor:
    def __init__(self, x, *parents):
        self.x, self.parents = x, parents  # pairs of a tensor and a function of the gradient

    def backward(self, gradient):
        order, seen = [], set()

        def visit(t):
            if id(t) not in seen:
                seen.add(id(t))
                for parent, _ in t.parents:
                    visit(parent)
                order.append(t)

        visit(self)
        for t in order:
            t.gradient = np.zeros_like(t.x)
        self.gradient = gradient
        for t in reversed(order):
            for parent, of in t.parents:
                parent.gradient += of(t.gradient)


def flat(x):
    return x.reshape(-1, x.shape[-1])


def add(a, b):
    return Tensor(a.x + b.x, (a, lambda g: g), (b, lambda g: g))


def relu(a):
    return Tensor(np.maximum(a.x, 0), (a, lambda g: g * (a.x > 0)))


def linear(a, w, b):  # w (n_out, n_in)
    return Tensor(a.x @ w.x.T + b.x, (a, lambda g: g @ w.x), (w, lambda g: flat(g).T @ flat(a.x)), (b, lambda g: flat(g).sum(0)))


def layer_norm(a, w, b):
    centred = a.x - a.x.mean(-1, keepdims=True)
    factor = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    n = centred * factor

    def of_a(g):
        h = g * w.x
        return factor * (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True))

    return Tensor(n * w.x + b.x, (a, of_a), (w, lambda g: flat(g * n).sum(0)), (b, lambda g: flat(g).sum(0)))


def attention(q, k, v):
    n, rows, dim = q.x.shape
    scale = (dim // HEADS) ** -0.5

    def split(x):
        return x.reshape(n, rows, HEADS, dim // HEADS).transpose(0, 2, 1, 3)

    def join(x):
        return x.transpose(0, 2, 1, 3).reshape(n, rows, dim)

    def turned(x):
        return x.transpose(0, 1, 3, 2)

    scores = split(q.x) @ turned(split(k.x)) * scale
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)

    def of_scores(g):
        g = split(g) @ turned(split(v.x))
        return p * (g - (g * p).sum(-1, keepdims=True)) * scale

    return Tensor(join(p @ split(v.x)), (q, lambda g: join(of_scores(g) @ split(k.x))),
                  (k, lambda g: join(turned(of_scores(g)) @ split(q.x))), (v, lambda g: join(turned(p) @ split(g))))


# ------------------------------------------------------------------------------------------------------------ the model
def some(scale, *shape):
    return Tensor(random.normal(0, scale, shape))


def zeros(n):
    return Tensor(np.zeros(n))


def ones(n):
    return Tensor(np.ones(n))


letters, places = some(0.5, 27, DIM), some(0.5, ROWS, DIM)
layers = [  # in the order that heed_calibrate's weights have (ports/calibrate/description.hpp)
    [ones(DIM), zeros(DIM)] + [t for _ in "qkvo" for t in (some(0.25, DIM, DIM), zeros(DIM))]
    + [ones(DIM), zeros(DIM), some(0.25, HIDDEN, DIM), zeros(HIDDEN), some(0.18, DIM, HIDDEN), zeros(DIM)]
    for _ in range(LAYERS)]
norm, head = [ones(DIM), zeros(DIM)], [some(0.25, len(WORDS), DIM), zeros(len(WORDS))]
parameters = [letters, places] + norm + head + [t for layer in layers for t in layer]


def embed(t):
    def of_letters(g):
        out = np.zeros_like(letters.x)
        np.add.at(out, t, g)
        return out

    return Tensor(letters.x[t] + places.x, (letters, of_letters), (places, lambda g: g.sum(0)))


def forward(t):  # all that is quantised later: embedded rows, rows behind the layers, normed row, scores
    embedded = x = embed(t)
    for n1, c1, wq, bq, wk, bk, wv, bv, wo, bo, n2, c2, up, bup, down, bdown in layers:
        h = layer_norm(x, n1, c1)
        x = add(x, linear(attention(linear(h, wq, bq), linear(h, wk, bk), linear(h, wv, bv)), wo, bo))
        x = add(x, linear(relu(linear(layer_norm(x, n2, c2), up, bup)), down, bdown))
    after = x

    def of_first(g):
        out = np.zeros_like(after.x)
        out[:, 0] = g
        return out

    normed = layer_norm(Tensor(after.x[:, 0], (after, of_first)), *norm)
    return embedded, after, normed, linear(normed, *head)


def train(steps):
    moments = [[np.zeros_like(p.x), np.zeros_like(p.x)] for p in parameters]
    for step in range(1, steps + 1):  # Adam
        t, y = batch(64)
        scores = forward(t)[-1]
        p = np.exp(scores.x - scores.x.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        scores.backward(p / len(y))
        rate = 5e-3 * (1 - step / steps) + 1e-4
        for q, m in zip(parameters, moments):
            m[0] = 0.9 * m[0] + 0.1 * q.gradient
            m[1] = 0.99 * m[1] + 0.01 * q.gradient**2
            q.x = q.x - rate * (m[0] / (1 - 0.9**step) / (np.sqrt(m[1] / (1 - 0.99**step)) + 1e-8) + 1e-3 * q.x)


# ------------------------------------------------------------------------------------------------------------- integers
def calibrate(heed_calibrate, folder, rows):
    np.concatenate([t.x.ravel() for layer in layers for t in layer]).astype("<f4").tofile(folder + "/weights.f32")
    rows.astype("<f4").tofile(folder + "/rows.f32")
    with open(folder + "/model.txt", "w") as file:
        file.write(f"layers {LAYERS}   model_dim {DIM}   ffn_dim {HIDDEN}   heads {HEADS}\n"
                   "norm layer   norm_first 1   eps 1e-5   activation relu   causal 0   layout out_in\n"
                   "biases wq wk wv wo w_up w_down norm1 norm2\n"
                   f"weights weights.f32   rows rows.f32   sequence {ROWS}\n")
    subprocess.run([heed_calibrate, "--array=layers", folder + "/model.txt", folder + "/layers.h"], check=True)
    with open(folder + "/layers.h") as file:
        text = file.read()
    return text[text.index("const uint32_t layers"):]


def multiplier(factor):  # heed_multiplier_of
    m, e = np.frexp(factor)
    m = round(m * 2**31)
    return f"{{{m // 2}, {e + 1}}}" if m == 2**31 else f"{{{m}, {e}}}"


def numbers(x):
    return ", ".join(str(round(v)) for v in x)


def table(x):
    return ",\n".join("    {" + numbers(row) + "}" for row in x)


def header(array, after, normed, scores):
    words = struct.unpack("<4i", struct.pack("<4I", *(int(w, 16) for w in re.findall("0x[0-9a-f]{8}", array)[16:20])))
    x_scale, y_scale = (m * 2.0 ** (e - 31) for m, e in (words[:2], words[2:]))  # of int_model_header
    embedding = max(abs(letters.x).max(), abs(places.x).max()) / 127
    of_norm, of_scores, of_head = abs(normed).max() / 127, abs(scores).max() / 127, abs(head[0].x).max(1) / 127
    shift = 16
    listed = ", ".join(f'"{word}"' for word in WORDS)
    multipliers = ", ".join(multiplier(of_norm * s / of_scores) for s in of_head)
    return f"""/* The model of classifier.h, as train.py made it. SPDX-License-Identifier: MIT */
/* clang-format off */
#ifndef CLASSIFIER_MODEL_H
#define CLASSIFIER_MODEL_H

#include "int_model.h"

enum {{ n_rows = {ROWS}, dim = {DIM}, hidden = {HIDDEN}, n_heads = {HEADS}, n_words = {len(WORDS)} }};
static const char *const words[n_words] = {{{listed}}};

/* Letter 0 begins every sequence, and fills it; 1 to 26 are a to z. Letters and places have one scale. */
static const int8_t letters[27][dim] = {{
{table(letters.x / embedding)}}};
static const int8_t places[n_rows][dim] = {{
{table(places.x / embedding)}}};
static const heed_multiplier of_embedding = {multiplier(embedding / x_scale)}; /* their scale / x_scale of the layers */

/* Behind the layers: a norm from int16 to int8, and a projection. */
static const int32_t norm_weight[dim] = {{
    {numbers(norm[0].x / of_norm * 2**shift)}}};
static const int32_t norm_bias[dim] = {{
    {numbers(norm[1].x / of_norm * 2**shift)}}};
enum {{ norm_shift = {shift} }};
static const uint32_t norm_eps = {round(1e-5 / y_scale**2 * 65536)}u;
static const int8_t head[n_words][dim] = {{
{table(head[0].x / of_head[:, None])}}};
static const int32_t head_bias[n_words] = {{{numbers(head[1].x / (of_norm * of_head))}}};
static const heed_multiplier head_multipliers[n_words] = {{
    {multipliers}}};

/* The layers, a file of int_model.h: heed_calibrate --array=layers. */
HEED_ALIGNED static {array.rstrip()}

#endif
"""


def main(heed_calibrate, folder, steps="800"):
    train(int(steps))
    t, y = batch(2000)
    embedded, after, normed, scores = (tensor.x for tensor in forward(t))
    print(f"in floats {(scores.argmax(-1) == y).mean():.2%} of damaged words are recognised")
    array = calibrate(heed_calibrate, folder, embedded[:200])
    with open(folder + "/classifier_model.h", "w") as file:
        file.write(header(array, after, normed, scores))


if __name__ == "__main__":
    main(*sys.argv[1:])
