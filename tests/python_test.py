"""python_test.py LIBRARY: ports/python/heed.py against float64 numpy. SPDX-License-Identifier: MIT"""
import ctypes.util
import math
import os
import sys
import unittest

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ports", "python"))
sys.dont_write_bytecode = True
import heed

LIBRARY = sys.argv.pop(1)
random = numpy.random.default_rng(1)


def array(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def exact_softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def exact_attention(q, k, v, causal=False, mask=None, scale=None, position=0):
    q, k, v = [numpy.asarray(a, numpy.float64) for a in (q, k, v)]
    group = q.shape[-3] // k.shape[-3]
    k, v = numpy.repeat(k, group, -3), numpy.repeat(v, group, -3)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        rows, keys = numpy.arange(scores.shape[-2]) + position, numpy.arange(scores.shape[-1])
        scores = numpy.where(keys[None, :] <= rows[:, None], scores, -numpy.inf)
    if mask is not None:
        scores = numpy.where(mask, scores, -numpy.inf) if mask.dtype == bool else scores + mask
    return exact_softmax(scores) @ v


def exact_layer_norm(x, weight=1, bias=0, eps=1e-5):
    x = numpy.asarray(x, numpy.float64)
    x = x - x.mean(-1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight + bias


def exact_gelu(x):
    return 0.5 * x * (1 + numpy.vectorize(math.erf)(numpy.asarray(x, numpy.float64) / math.sqrt(2)))


def heads(x, n):
    return x.reshape(x.shape[0], n, -1).transpose(1, 0, 2)


def near(self, found, exact, bound=2e-5):
    self.assertEqual(found.shape, exact.shape)
    self.assertLess(abs(found - exact).max(), bound * max(1, abs(exact).max()))


class Calls(unittest.TestCase):
    near = near

    def test_kernels(self):
        self.assertTrue(heed.version().startswith("0.3."))
        first = heed.kernel()
        self.assertIn(first, heed.kernels())
        heed.use_kernel(first)  # a build with one kernel has no other to offer
        self.assertEqual(heed.kernel(), first)
        heed.use_kernel()
        self.assertEqual(heed.kernel(), first)
        with self.assertRaises(heed.Error) as refused:
            heed.use_kernel("none")
        self.assertIn("kernel", str(refused.exception))

    def test_attention(self):
        for shape, kv in (((7, 5), (9, 5)), ((4, 7, 16), (2, 9, 16)), ((2, 4, 7, 16), (2, 4, 9, 16))):
            q, k, v = array(*shape), array(*kv), array(*kv)
            lift = (lambda a: a[None]) if len(shape) == 2 else (lambda a: a)
            exact = exact_attention(lift(q), lift(k), lift(v), causal=True, position=2)
            self.near(lift(heed.attention(q, k, v, causal=True, position=2)), exact)
        # token-major arrays, which are read where they lie
        q, k, v = [array(9, 4, 8).transpose(1, 0, 2) for _ in range(3)]
        self.near(heed.attention(q, k, v, scale=0.5), exact_attention(q, k, v, scale=0.5))
        mask = random.random((9, 9)) < 0.5
        mask[:, 0] = True
        self.near(heed.attention(q, k, v, mask=mask), exact_attention(q, k, v, mask=mask))
        bias = array(4, 1, 9)
        self.near(heed.attention(q, k, v, mask=bias), exact_attention(q, k, v, mask=bias))
        with self.assertRaises(ValueError):
            heed.attention(q, k[:2, :3], v)
        with self.assertRaisesRegex(ValueError, r"^k has the shape \(3, 9, 8\), and its 3 heads do not divide the 4 of q$"):
            heed.attention(array(4, 9, 8), array(3, 9, 8), array(3, 9, 8))

    def test_rows(self):
        x, weight, bias = array(2, 3, 20), array(20), array(20)
        self.near(heed.softmax(x, 2), exact_softmax(2 * numpy.float64(x)))
        self.near(heed.layer_norm(x, weight, bias), exact_layer_norm(x, weight, bias))
        y = numpy.float64(x)
        self.near(heed.rms_norm(x, weight), y / numpy.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * weight)
        self.near(heed.gelu(x), exact_gelu(x))
        self.near(heed.silu(x, up=x), y / (1 + numpy.exp(-y)) * y)
        self.near(heed.relu(x[:, ::2, ::-1]), numpy.maximum(y, 0)[:, ::2, ::-1])
        with self.assertRaises(ValueError):
            heed.layer_norm(x, weight[1:])

    def test_project(self):
        x, w, bias = array(3, 64), array(10, 64), array(10)
        exact = numpy.float64(x) @ w.T + bias
        self.near(heed.project(x, w, bias), exact)
        self.near(heed.project(x, heed.weights(w.T, "in_out"), bias), exact)
        self.near(heed.project(x, w.astype(numpy.float16), bias), exact, 1e-3)
        plain = heed.project(x, w, bias)
        self.assertTrue((heed.project(x, heed.pack(w), bias) == plain).all())
        for format, bound in (("f16", 1e-3), ("bf16", 1e-2), ("int8", 1e-2), ("q8_0", 1e-2), ("q4_0", 0.2)):
            self.near(heed.project(x, heed.pack(w, format), bias), exact, bound)
        numbers = random.integers(0, 256, (10, 64)).astype(numpy.uint8)
        scales, zeros = abs(array(10)), random.integers(100, 150, 10)
        exact = numpy.float64(x) @ ((numbers - zeros[:, None].astype(float)) * scales[:, None]).T
        w8 = heed.quantized(numbers, scales, zeros)
        self.near(heed.project(x, w8), exact)
        self.assertTrue((heed.project(x, heed.pack(w8, "uint8")) == heed.project(x, w8)).all())
        self.near(heed.project(x, heed.in_integers(heed.pack(w8, "uint8"))), exact, 2e-2)
        self.near(heed.project(x, heed.in_integers(heed.pack(w, "q8_0")), bias), numpy.float64(x) @ w.T + bias, 2e-2)
        with self.assertRaises(heed.Error):
            heed.in_integers(heed.pack(w))
        signed = heed.quantized((numbers.astype(int) - 128).astype(numpy.int8).T, 0.5, -3, "in_out")
        self.near(heed.project(x, signed), numpy.float64(x) @ ((numbers - 125.0) * 0.5).T)
        with self.assertRaises(ValueError):
            heed.quantized(numbers, scales, zeros[1:])
        with self.assertRaises(ValueError):
            heed.project(x, w, bias[1:])
        with self.assertRaisesRegex(ValueError, "'int9' is not a format: f32, "):
            heed.pack(w, "int9")
        with self.assertRaisesRegex(ValueError, r"x has the shape \(3, 63\), not \(..., 64\)"):
            heed.project(x[:, 1:], w)

    def test_rope(self):
        x = array(2, 5, 8)
        angles = (numpy.arange(5) + 3)[:, None] * 10000.0 ** (-numpy.arange(4) / 4)
        a, b = numpy.float64(x[..., :4]), numpy.float64(x[..., 4:])
        exact = numpy.concatenate((a * numpy.cos(angles) - b * numpy.sin(angles), b * numpy.cos(angles) + a * numpy.sin(angles)), -1)
        self.near(heed.Rope("halves", head_dim=8)(x, position=3), exact)
        frequencies = 10000.0 ** (-numpy.arange(4) / 4)
        self.near(heed.Rope("halves", head_dim=8, inverse_frequencies=frequencies)(x, position=3), exact)

    def test_layers(self):
        x = array(6, 24)
        wq, wk, wv, wo = array(24, 24), array(12, 24), array(12, 24), array(24, 24)
        bq = array(24)
        layer = heed.AttentionLayer(24, 4, n_kv_heads=2, wq=wq, wk=wk, wv=wv, wo=wo, bq=bq, causal=1)
        found, y = layer(x), numpy.float64(x)
        q, k, v = y @ wq.T + bq, y @ wk.T, y @ wv.T
        context = exact_attention(heads(q, 4), heads(k, 2), heads(v, 2), causal=True).transpose(1, 0, 2).reshape(6, 24)
        for name, exact in (("q", q), ("k", k), ("v", v), ("context", context)):
            self.near(getattr(layer, name), exact)
        self.near(found, context @ wo.T)
        alone = heed.AttentionLayer(24, 4, n_kv_heads=2, wq=wq, wk=wk, wv=wv, bq=bq, causal=1)
        self.near(alone(x), context)
        self.near(alone.context, context)
        w_up, w_down, n1, n2 = array(40, 24), array(24, 40), array(24), array(24)
        whole = heed.TransformerLayer(layer, 40, w_up=w_up, w_down=w_down, norm1_weight=n1, norm2_weight=n2, norm2_bias=n1)
        a = exact_layer_norm(y + context @ wo.T, n1)
        self.near(whole(x), exact_layer_norm(a + exact_gelu(a @ w_up.T) @ w_down.T, n2, n1), 1e-4)
        rows = whole(x)
        for wanted, part in ((1, rows[:1]), (-2, rows[-2:])):
            whole.struct.out_rows = wanted
            self.assertTrue((whole(x) == part).all())
        with self.assertRaises(TypeError):
            heed.AttentionLayer(24, 4, w_q=wq)
        with self.assertRaises(TypeError):
            heed.AttentionLayer(24, 4, w_q=None)
        with self.assertRaisesRegex(heed.Error, "^scale: zero"):
            heed.AttentionLayer(24, 4, n_kv_heads=2, wq=wq, wk=wk, wv=wv, scale=0)(x)
        self.assertTrue((heed.AttentionLayer(24, 4, n_kv_heads=2, head_dim=None, scale=None, wq=wq, wk=wk, wv=wv, bq=bq, causal=1)(x)
                         == alone(x)).all())

    def test_samples_of_the_page_run(self):
        page = os.path.join(os.path.dirname(heed.__file__), "README.md")
        with open(page, encoding="utf-8") as file:
            parts = file.read().split("```python\n")[1:]
        names = {}
        exec("".join(part.split("```")[0] for part in parts), names)
        self.assertEqual(names["y"].shape, (10, 64))

    def test_other_structs_are_refused(self):
        names = ("_rope", "_mask", "_options", "_attention_layer", "_transformer_layer", "_weights")
        known = {name: getattr(heed, name) for name in names}

        def larger(struct, kinds=None, more=(("more", ctypes.c_int64),)):
            fields = [(field, (kinds or {}).get(kind, kind)) for field, kind in struct._fields_] + list(more)
            return type(struct.__name__, (ctypes.Structure,), {"_fields_": fields})
        for name in names:
            setattr(heed, name, larger(known[name]))
            refused_name = known[name].__name__
            if name == "_weights":  # the library sees it in layers alone
                kinds, refused_name = {known[name]: heed._weights}, "heed_attention_layer"
                heed._attention_layer = larger(known["_attention_layer"], kinds, ())
                heed._transformer_layer = larger(known["_transformer_layer"], kinds, ())
            with self.assertRaises(ImportError) as refused:
                heed.load(LIBRARY)
            self.assertIn(refused_name, str(refused.exception))
            for each in names:
                setattr(heed, each, known[each])
        version, heed.VERSION = heed.VERSION, "0.2"
        try:
            with self.assertRaises(ImportError):
                heed.load(LIBRARY)
            with self.assertRaisesRegex(OSError, "none.so.*HEED_LIBRARY"):
                heed.load("none.so")
            with self.assertRaisesRegex(ImportError, "is not heed: it has no function heed_version"):
                heed.load(ctypes.util.find_library("c"))
        finally:
            heed.VERSION = version
        heed.load(LIBRARY)


if __name__ == "__main__":
    heed.load(LIBRARY)
    from python_arguments import Arguments
    unittest.main()
