"""What leaves Python is checked: a sweep over every public function of ports/python/heed.py, and a look at its source. It runs
with python_test.py. SPDX-License-Identifier: MIT"""
import ast
import ctypes
import inspect
import unittest

import heed
import numpy

random = numpy.random.default_rng(2)


def array(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def layer(**fields):
    return heed.AttentionLayer(**{**ATTENTION, **fields})


def block(**fields):
    return heed.TransformerLayer(**{**TRANSFORMER, "attention": layer(), **fields})


w8 = random.integers(0, 256, (5, 8)).astype(numpy.uint8)
ATTENTION = dict(model_dim=8, n_heads=2, wq=array(8, 8), wk=array(8, 8), wv=array(8, 8), wo=array(8, 8), bq=array(8), bk=array(8),
                 bv=array(8), bo=array(8), qk_norm="rms_norm", q_norm_weight=array(4), q_norm_bias=array(4), k_norm_weight=array(4),
                 k_norm_bias=array(4), head_dim=4, v_dim=4, n_kv_heads=2, out_dim=8, scale=1.0, causal=1, qk_eps=1e-6,
                 qk_norm_whole=0, cross=0)
TRANSFORMER = dict(ffn_dim=6, eps=1e-5, w_up=array(6, 8), w_gate=array(6, 8), w_down=array(8, 6), b_up=array(6), b_gate=array(6),
                   b_down=array(8), norm_first=1, post_norm=1, parallel=0, ffn_order=0, out_rows=0,
                   **{f"{part}_{kind}": array(8) for part in ("norm1", "norm2", "post_norm1", "post_norm2") for kind in ("weight", "bias")})
X = array(3, 8)
# A valid call of each, with all numbers and arrays that it takes.
CALLS = {
    "softmax": (heed.softmax, dict(x=X, scale=1.0)),
    **{name: (getattr(heed, name), dict(x=X, weight=array(8), bias=array(8), eps=1e-5))
       for name in ("layer_norm", "rms_norm", "rms_norm_plus_one", "l2_norm")},
    **{name: (getattr(heed, name), dict(x=X, up=array(3, 8))) for name in ("gelu", "gelu_tanh", "silu", "relu")},
    "weights": (heed.weights, dict(array=array(5, 8))),
    "quantized": (heed.quantized, dict(numbers=w8, scales=array(5), zero_points=w8[:, 0].copy())),
    "pack": (heed.pack, dict(w=array(5, 8))),
    "in_integers": (lambda w: heed.in_integers(heed.pack(w, "int8")), dict(w=array(5, 8))),
    "project": (heed.project, dict(x=X, w=array(5, 8), bias=array(5))),
    "Rope": (lambda x, position, **fields: heed.Rope("halves", **fields)(x, position),
             dict(x=array(2, 3, 8), position=3, head_dim=8, rotary_dim=8, base=10000.0, scale=1.0, inverse_frequencies=abs(array(4)))),
    "attention": (heed.attention, dict(q=array(1, 2, 3, 4), k=array(1, 2, 5, 4), v=array(1, 2, 5, 6), causal=False, scale=1.0,
                                       position=2, mask=array(1, 2, 3, 5))),
    "AttentionLayer": (lambda x, **fields: layer(**fields)(x), dict(ATTENTION, x=X)),
    "TransformerLayer": (lambda x, **fields: block(**fields)(x), dict(TRANSFORMER, x=X)),
}
REQUIRED = {"x", "array", "numbers", "scales", "zero_points", "w", "q", "k", "v", "wq", "wk", "wv", "w_up", "w_down"}
UNCHECKED = {"load", "version", "kernels", "kernel", "use_kernel", "Error", "Weights"}  # no arrays, no numbers


def bad_arrays(name, value):
    yield "complex", value.astype(numpy.complex64)
    yield "text", value.astype(str)
    yield "objects", value.astype(object)
    yield "ragged", [[1, 2], [3]]
    yield "empty", value[..., :0]
    yield "rank 0", value.reshape(-1)[0]
    if name != "mask":
        yield "bool", value.astype(bool)
    if name not in ("numbers", "zero_points"):
        yield "too large", value.astype(numpy.float64) * 0 + 1e300
    if value.ndim == 1:
        yield "shorter", value[1:]
        yield "longer", numpy.concatenate((value, value))
        yield "a matrix", value[None]
    if name in ("up", "k", "v", "mask"):
        yield "shorter", value[..., 1:, :] if name == "v" else value[..., 1:]
        yield "one more", value[None]


class Arguments(unittest.TestCase):
    def refused(self, name, call, arguments):
        """A ValueError that begins with the name of the argument, before the library is called."""
        called, before = [], heed._call
        heed._call = lambda function, *rest: called.append(function) if function.endswith("_run") or not function.startswith(
            ("heed_rope_init", "heed_mask_init", "heed_weights_", "heed_attention_layer_b")) else before(function, *rest)
        try:
            call(**arguments)
        except ValueError as error:
            self.assertTrue(str(error).startswith(name + " "), f"{name}: {error}")
        except Exception as error:  # noqa: the test names it
            self.fail(f"{name}: {type(error).__name__}: {error}")
        else:
            self.fail(f"{name} was taken")
        finally:
            heed._call = before
        self.assertEqual(called, [], name)

    def test_the_sweep_is_complete(self):
        public = {name for name, value in vars(heed).items() if not name.startswith("_") and callable(value)}
        self.assertEqual(public, set(CALLS) | UNCHECKED)
        for name, (call, arguments) in CALLS.items():
            call(**arguments)
            if not isinstance(getattr(heed, name), type) and name != "in_integers":
                left = set(inspect.signature(getattr(heed, name)).parameters) - set(arguments)
                self.assertLessEqual(left, {"layout", "format"}, name)
        for kind, swept in ((heed._attention_layer, ATTENTION), (heed._transformer_layer, TRANSFORMER)):
            left = {name for name, _ in kind._fields_} - set(swept)
            self.assertLessEqual(left, {"struct_size", "rope", "cache", "options", "batch", "attention", "norm", "activation", "cross",
                                        "norm_cross_weight", "norm_cross_bias", "post_norm_cross_weight", "post_norm_cross_bias"})

    def test_arrays(self):
        for function, (call, arguments) in CALLS.items():
            for name, value in arguments.items():
                if not isinstance(value, numpy.ndarray):
                    continue
                for kind, bad in bad_arrays(name, value):
                    if kind == "rank 0" and name in ("scales", "zero_points", "mask"):
                        continue  # one for all
                    named = "array" if function == "weights" else name
                    with self.subTest(function=function, argument=name, kind=kind):
                        self.refused(named, call, {**arguments, name: bad})

    def test_none_and_objects(self):
        for function, (call, arguments) in CALLS.items():
            for name in REQUIRED & arguments.keys():
                for bad in (None, object(), {}, "text"):
                    with self.subTest(function=function, argument=name, value=bad):
                        self.refused(name, call, {**arguments, name: bad})
        self.refused("eps", block, dict(eps=None))

        class Tensor:  # as one of PyTorch's that requires grad
            def __array__(self, dtype=None):
                raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        self.refused("x is no array: Can't call numpy() on", heed.softmax, dict(x=Tensor()))

    def test_what_is_said_of_shapes_and_counts(self):
        def transposed(**weights):
            return {name: heed.weights(w.T.copy(), "in_out") for name, w in weights.items()}
        whole = dict(model_dim=8, wq=array(8, 8), wk=array(8, 8), wv=array(8, 8))
        for call, said in (
                (lambda: layer(wq=array(7, 8)), "wq has the shape (7, 8), not (8, 8), as (n_out, n_in)"),
                (lambda: layer(**transposed(wq=array(7, 8))), "wq has the shape (7, 8), not (8, 8), as (n_out, n_in)"),
                (lambda: layer(wk=heed.pack(array(8, 9), "int8")), "wk has the shape (8, 9), not (8, 8), as (n_out, n_in)"),
                (lambda: layer(wv=array(4, 8)), "wv has the shape (4, 8), not (8, 8), as (n_out, n_in)"),
                (lambda: layer(wo=array(8, 9)), "wo has the shape (8, 9), not (8, 8), as (n_out, n_in)"),
                (lambda: layer(wk=None), "wk is not set"),
                (lambda: block(w_up=array(8, 6)), "w_up has the shape (8, 6), not (6, 8), as (n_out, n_in)"),
                (lambda: block(w_up=array(6, 8), w_gate=None, b_gate=None, b_up=array(12), ffn_order=1),
                 "w_up has the shape (6, 8), not (12, 8), as (n_out, n_in)"),
                (lambda: block(w_gate=array(5, 8)), "w_gate has the shape (5, 8), not (6, 8), as (n_out, n_in)"),
                (lambda: block(w_down=array(6, 8)), "w_down has the shape (6, 8), not (8, 6), as (n_out, n_in)"),
                (lambda: block(w_up=None), "w_up is not set"),
                (lambda: block(attention=layer(wo=None, bo=None)), "wo is not set"),
                (lambda: block(attention=layer(wo=array(9, 8), out_dim=None, bo=None)),
                 "wo has the shape (9, 8), not (8, 8), as (n_out, n_in)"),
                (lambda: layer()(array(3, 7)), "x has the shape (3, 7), not (at least 1, 8)"),
                (lambda: layer()(X[:0]), "x has the shape (0, 8), not (at least 1, 8)"),
                (lambda: block()(X[None]), "x has the shape (1, 3, 8), not (at least 1, 8)"),
                (lambda: heed.softmax(X[None, :0]), "x has the shape (1, 0, 8), not (at least 1, at least 1, at least 1)"),
                (lambda: heed.project(X[:0], array(5, 8)), "x has the shape (0, 8), not (at least 1, 8)"),
                (lambda: heed.Rope()(X), "x has the shape (3, 8), not (at least 1, at least 1, at least 1)"),
                (lambda: heed.AttentionLayer(n_heads=3, **whole), "n_heads is 3, which does not divide model_dim, 8: give head_dim"),
                (lambda: layer(n_kv_heads=3), "n_kv_heads is 3, which does not divide n_heads, 2"),
                (lambda: layer(n_kv_heads=0), "n_kv_heads is 0, not from 1 to 2147483647"),
                (lambda: block(ffn_dim=0), "ffn_dim is 0, not from 1 to 2147483647")):
            with self.assertRaises(ValueError) as refused:
                call()
            self.assertEqual(str(refused.exception), said)

    def test_how_an_array_lies_changes_nothing(self):
        for function, (call, arguments) in CALLS.items():
            if function in ("weights", "quantized", "pack", "in_integers"):
                continue
            wanted = call(**arguments)
            for name, value in arguments.items():
                if isinstance(value, numpy.ndarray):
                    apart = numpy.zeros(value.shape[:-1] + (2 * value.shape[-1],), value.dtype)[..., ::2]
                    apart[...] = value
                    backwards = value[..., ::-1].copy()[..., ::-1]
                    raw = numpy.zeros(value.nbytes + 1, numpy.uint8)[1:].view(value.dtype).reshape(value.shape)
                    raw[...] = value
                    for other in (apart, backwards, raw, value.tolist()):
                        self.assertTrue((call(**{**arguments, name: other}) == wanted).all(), (function, name))

    def test_numbers(self):
        for function, (call, arguments) in CALLS.items():
            for name, value in arguments.items():
                bad = {int: (2 ** 32 + 3, 2 ** 31, -2 ** 31 - 1, 2 ** 70, 1.5, "3", X), bool: (2 ** 32, 1.5, "yes", X),
                       float: (1e300, "1", 1j, X)}.get(type(value), ())
                if (function, name) == ("Rope", "position"):  # of 64 bits
                    bad = (2 ** 63, -2 ** 63 - 1, 2 ** 70, 1.5, "3", X)
                for each in bad:
                    with self.subTest(function=function, argument=name, value=str(each)[:30]):
                        self.refused(name, call, {**arguments, name: each})

    def test_fields_that_are_set_later(self):
        whole = block()
        for name, value in (("out_rows", 2 ** 32 + 1), ("eps", 1e300), ("ffn_dim", 6.5)):
            with self.assertRaisesRegex(ValueError, name):
                setattr(whole.struct, name, value)
        with self.assertRaises(AttributeError):
            whole.struct.out_row = 1
        whole.struct.ffn_dim = 7  # the arrays are of 6
        self.refused("b_up", whole, {"x": X})
        inner = layer()
        inner.struct.n_heads = 4
        self.refused("bq", inner, {"x": X})
        whole = block(out_rows=-3)
        whole(X)
        self.refused("out_rows", whole, {"x": X[:2]})
        rope = heed.Rope("halves", head_dim=8, inverse_frequencies=abs(array(4)))
        rope.struct.rotary_dim = 16
        self.refused("inverse_frequencies", rope, {"x": array(2, 3, 16)})

    def test_zero_points(self):
        for zero in (300, -1, 2 ** 40, 1.5):
            self.refused("zero_points", heed.quantized, dict(numbers=w8, scales=1.0, zero_points=zero))
        self.refused("zero_points", heed.quantized, dict(numbers=w8.astype(numpy.int8), scales=1.0, zero_points=128))

    def test_functions_and_objects(self):
        self.refused("norm", block, dict(norm="gelu"))
        self.refused("activation", block, dict(activation="layer_norm"))
        self.refused("qk_norm", layer, dict(qk_norm="version"))
        self.refused("attention", block, dict(attention=None))
        self.refused("attention", block, dict(attention=heed.Rope()))
        self.refused("rope", layer, dict(rope=layer()))
        for kind, make in ((heed._attention_layer, layer), (heed._transformer_layer, block)):
            for name, field in kind._fields_:
                known = {**getattr(heed, make().__class__.__name__).VECTORS, **make().OBJECTS, **heed._FUNCTIONS}
                if field is ctypes.c_void_p and name not in known:
                    with self.assertRaises(TypeError):
                        make(**{name: 0})

    def test_masks_of_integers(self):
        q, k = array(2, 3, 4), array(2, 5, 4)
        visible = numpy.array([[1, 1, 0, 1, 0]])
        wanted = heed.attention(q, k, k, mask=visible == 1)
        for kind in (numpy.int64, numpy.uint8):  # Hugging Face's attention_mask
            self.assertTrue((heed.attention(q, k, k, mask=visible.astype(kind)) == wanted).all())
        for bad in (0 * visible, visible - 1, -10000 * visible, 2 * visible, visible[0, :4]):
            self.refused("mask", heed.attention, dict(q=q, k=k, v=k, mask=bad))

    def test_no_other_way_out(self):
        """Addresses of arrays, casts of types and pointers are made in the functions that check, and nowhere else."""
        with open(heed.__file__, encoding="utf-8") as file:
            source = file.read()
        allowed = {"address": {"_pointer"}, "conversion": {"_array"}, "cast": {"_set"}}
        found = {kind: set() for kind in allowed}

        def visit(node, function):
            if isinstance(node, ast.FunctionDef):
                function = node.name
            if isinstance(node, ast.Attribute):
                if node.attr in ("data_as", "__array_interface__", "from_buffer", "from_address", "ctypes", "frombuffer", "as_ctypes"):
                    found["address"].add(function)
                if node.attr in ("astype", "asfarray"):
                    found["conversion"].add(function)
                if node.attr in ("cast", "from_address"):
                    found["cast"].add(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in ("asarray", "ascontiguousarray", "array") and (len(node.args) > 1 or any(
                        word.arg == "dtype" for word in node.keywords)):
                    found["conversion"].add(function)
            for child in ast.iter_child_nodes(node):
                visit(child, function)

        visit(ast.parse(source), "")
        self.assertEqual(found, allowed)
