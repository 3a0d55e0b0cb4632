"""heed from Python, on numpy arrays: to compare a model with heed, layer by layer. SPDX-License-Identifier: MIT

    import heed
    heed.load("libheed.so")
    y = heed.attention(q, k, v, causal=True)          # (heads, rows, dim), as PyTorch's scaled_dot_product_attention

Arrays that come in may be of any floats or integers, or lists; they are read as float32. Results are float32. What does not fit is
a ValueError that names the argument, and what was wanted. README.md beside this file has more.
"""
import ctypes
import ctypes.util
import operator
import os

import numpy

VERSION = "0.3"  # the structs below are those of this version; load() refuses another library

_KINDS = {"i": ctypes.c_int32, "u": ctypes.c_uint32, "f": ctypes.c_float, "z": ctypes.c_ssize_t, "p": ctypes.c_void_p}


# ------------------------------------------------------------------------------------------------ what leaves Python
# Every array, every integer and every float that the library sees goes through these functions.


def _shape_text(shape):
    names = {None: "at least 1", Ellipsis: "..."}
    return "(" + ", ".join(names[n] if n in names else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def _check_shape(name, given, wanted):
    """wanted: numbers; None is any number but 0, and ... at the front any dimensions."""
    tail = wanted[1:] if wanted[0] is Ellipsis else wanted
    ranks_fit = len(given) >= len(tail) if wanted[0] is Ellipsis else len(given) == len(tail)
    if ranks_fit and 0 in given:
        wanted = (None,) * (len(given) - len(tail)) + tuple(tail)
    if not ranks_fit or 0 in given or any(n not in (None, m) for n, m in zip(tail, given[len(given) - len(tail):])):
        raise ValueError(f"{name} has the shape {_shape_text(given)}, not {_shape_text(wanted)}")


def _given(name, value):
    if value is None:
        raise ValueError(f"{name} is None, not an array")
    try:
        return numpy.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor of PyTorch that needs detach()
        raise ValueError(f"{name} is no array: {error}") from None


def _array(name, value, dtype, shape):
    """An array of dtype; its last dimension is contiguous, and no stride is negative."""
    given = _given(name, value)
    dtype = numpy.dtype(dtype)
    if given.dtype.kind not in ("fiu" if dtype.kind == "f" else "iu"):
        raise ValueError(f"{name} has the type {given.dtype}, not {dtype}")
    _check_shape(name, given.shape, shape)
    with numpy.errstate(over="ignore"):
        array = given.astype(dtype, copy=False)
    if dtype.kind == "f":
        beyond = numpy.isinf(array) & ~numpy.isinf(given)
    else:
        beyond = (given < numpy.iinfo(dtype).min) | (given > numpy.iinfo(dtype).max)
    if beyond.any():
        raise ValueError(f"{name} holds {given[beyond].flat[0]}, which {dtype} does not hold")
    strides_fit = all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    last_fits = array.ndim == 0 or array.shape[-1] == 1 or array.strides[-1] == array.itemsize
    return array if strides_fit and last_fits and array.flags.aligned else numpy.array(array, order="C")


def _floats(name, value, shape):
    return _array(name, value, numpy.float32, shape)


def _floats_or_none(name, value, shape):
    return None if value is None else _floats(name, value, shape)


def _pointer(name, array, dtype, shape):
    """The only way from an array to its address: with the type and the shape that the library reads."""
    if array is None:
        return None
    if array.dtype != dtype:
        raise ValueError(f"{name} has the type {array.dtype}, not {numpy.dtype(dtype)}")
    _check_shape(name, array.shape, shape)
    return array.ctypes.data


def _integer(name, value, least=-2 ** 31, most=2 ** 31 - 1):
    """Python's integers have no end; ctypes cuts them off silently."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}, not an integer") from None
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}, not from {least} to {most}")
    return number


def _real(name, value):
    if isinstance(value, (str, bytes)) or numpy.ndim(value) != 0 or numpy.iscomplexobj(value) or value is None:
        raise ValueError(f"{name} is {value!r}, not a number")
    number = float(value)
    if abs(number) != float("inf") and abs(ctypes.c_float(number).value) == float("inf"):
        raise ValueError(f"{name} is {number}, which float32 does not hold")
    return number


_RANGES = {ctypes.c_int32: (-2 ** 31, 2 ** 31 - 1), ctypes.c_uint32: (0, 2 ** 32 - 1), ctypes.c_ssize_t: (-2 ** 63, 2 ** 63 - 1)}


class _Struct(ctypes.Structure):
    """A struct whose numbers are checked, whoever sets them."""

    def __setattr__(self, name, value):
        kinds = {field[0]: field[1] for field in self._fields_}
        if name not in kinds:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        if kinds[name] in _RANGES:
            value = _integer(name, value, *_RANGES[kinds[name]])
        elif kinds[name] is ctypes.c_float:
            value = _real(name, value)
        super().__setattr__(name, value)


def _struct(name, fields):
    """A struct of the C headers: names of fields behind their kind, which is a letter of _KINDS or a struct."""
    members = []
    for group in fields:
        kind, names = group
        members += [(field, _KINDS.get(kind, kind)) for field in names.split()]
    return type(name, (_Struct,), {"_fields_": members})


_memory = _struct("heed_memory", [("p", "data"), ("z", "bytes")])
_matrix = _struct("heed_matrix", [("p", "data"), ("i", "n_rows dim"), ("z", "row_stride")])
_tensor = _struct("heed_tensor", [("p", "data"), ("z", "batch_stride head_stride row_stride")])
_weights = _struct("heed_weights", [("p", "data scales"), ("i", "dtype layout n_in n_out"), ("z", "row_stride"),
                                     ("p", "code zero_points"), ("i", "n_scales")])
_rope = _struct("heed_rope", [("u", "struct_size"), ("p", "code"), ("i", "style rotary_dim"), ("f", "base scale"),
                              ("p", "inverse_frequencies"), ("f", "factor"), ("i", "n_axes"), ("p", "axes positions")])
_mask = _struct("heed_mask", [("u", "struct_size"), ("p", "code"), ("i", "n_keys"), ("p", "data"),
                              ("z", "batch_stride head_stride query_stride")])
_options = _struct("heed_options", [("u", "struct_size"), ("p", "ranges mask softcap alibi sinks scores weights lse column_sums "
                                                                "topk_weights partial typed")])
_attention = _struct("heed_attention", [
    ("u", "struct_size"), ("i", "batch_size n_heads n_kv_heads n_q n_kv head_dim v_dim"), ("f", "scale"), ("i", "causal position"),
    (_tensor, "q k v out"), (_memory, "workspace"), ("p", "executor options cache")])
_attention_layer = _struct("heed_attention_layer", [
    ("u", "struct_size"), ("i", "model_dim n_heads n_kv_heads head_dim v_dim out_dim"), ("f", "scale"), ("i", "causal"),
    (_weights, "wq wk wv wo"), ("p", "bq bk bv bo rope cache options qk_norm"), ("f", "qk_eps"),
    ("p", "q_norm_weight q_norm_bias k_norm_weight k_norm_bias"), ("i", "qk_norm_whole cross"), ("p", "batch")])
_transformer_layer = _struct("heed_transformer_layer", [
    ("u", "struct_size"), ("p", "attention"), ("i", "ffn_dim norm_first"), ("p", "norm"), ("f", "eps"),
    ("p", "norm1_weight norm1_bias norm2_weight norm2_bias activation"), (_weights, "w_up w_gate w_down"),
    ("p", "b_up b_gate b_down cross norm_cross_weight norm_cross_bias"), ("i", "post_norm"),
    ("p", "post_norm1_weight post_norm1_bias post_norm2_weight post_norm2_bias post_norm_cross_weight post_norm_cross_bias"),
    ("i", "parallel ffn_order out_rows")])

FORMATS = {"f32": 0, "f16": 1, "bf16": 2, "int8": 3, "q8_0": 4, "q4_0": 5, "uint8": 7}
LAYOUTS = {"in_out": 0, "out_in": 1}
STYLES = {"interleaved": 0, "halves": 1}
_SCALE_DEFAULT = 3.402823466e+38
_BAD_STRUCT_SIZE = 41

_library = None


def _number_of(names, name, what):
    if name not in names:
        raise ValueError(f"{name!r} is not a {what}: {', '.join(names)}")
    return names[name]


class Error(Exception):
    """heed refuses a call: the argument and the reason, as heed states them."""

    def __init__(self, status):
        super().__init__(_text("heed_status_argument", status) + ": " + _text("heed_status_text", status))
        self.status = status


def load(path=None):
    """Loads the shared library: path, or what HEED_LIBRARY names, or the system's. Refuses one with other structs."""
    global _library
    path = path or os.environ.get("HEED_LIBRARY") or ctypes.util.find_library("heed")
    if path is None:
        raise OSError("libheed is not found: give load() its path, or set HEED_LIBRARY")
    try:
        library = ctypes.CDLL(path if os.sep not in path else os.path.abspath(path))
    except OSError as error:
        raise OSError(f"libheed cannot be loaded: {error}; give load() its path, or set HEED_LIBRARY") from None
    if not hasattr(library, "heed_version"):
        raise ImportError(f"{path} is not heed: it has no function heed_version")
    library.heed_version.restype = ctypes.c_char_p
    version = library.heed_version().decode()
    if version.split(".")[:2] != VERSION.split("."):
        raise ImportError("%s is heed %s, this module is for %s" % (path, version, VERSION))
    for name in ("heed_isa_current", "heed_isa_name", "heed_status_text", "heed_status_argument"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("heed_workspace_bytes", "heed_weights_packed_bytes", "heed_attention_layer_bytes", "heed_transformer_layer_bytes"):
        getattr(library, name).restype = ctypes.c_size_t
    library.heed_weights_with_zero_points.restype = _weights
    before, _library = _library, library
    try:
        _check_structs(path)
    except Exception:
        _library = before
        raise


def _heed():
    if _library is None:
        load()
    return _library


def _check_structs(path):
    """Objects that the library fills in state their size; structs that it reads it refuses if their size is another."""
    buffer = numpy.zeros(1024, numpy.uint64)
    at = ctypes.c_void_p(_pointer("buffer", buffer, numpy.uint64, (1024,)))
    numbers = numpy.zeros(4, numpy.float32)
    data = ctypes.c_void_p(_pointer("numbers", numbers, numpy.float32, (4,)))
    _call("heed_rope_init", at, 0)
    sizes = [(_rope, int(buffer.view(numpy.uint32)[0]))]
    _call("heed_mask_init_additive", at, data, 1, _z(0), _z(0), _z(0))
    sizes.append((_mask, int(buffer.view(numpy.uint32)[0])))
    wrong = [struct.__name__ for struct, size in sizes if ctypes.sizeof(struct) != size]
    one = numpy.ones((1, 1), numpy.float32)
    tries = [(_options, lambda: attention(one, one, 3 * one, mask=0 * one)),
             (_attention_layer, lambda: AttentionLayer(1, 1, wq=one, wk=one, wv=3 * one)(one)),
             (_transformer_layer, lambda: TransformerLayer(AttentionLayer(1, 1, wq=one, wk=one, wv=3 * one, wo=one), 1,
                                                           w_up=one, w_down=0 * one, norm_first=1)(one))]
    for struct, run in tries if not wrong else ():  # a struct that is too small must not be filled in
        try:
            run()
        except Error as error:
            if error.status // -1000 != _BAD_STRUCT_SIZE:
                raise
            wrong.append(struct.__name__)
    if wrong:
        raise ImportError("%s: other structs than this module knows: %s" % (path, ", ".join(wrong)))


# ---------------------------------------------------------------------------------------------------------- helpers


def _text(function, status):
    return getattr(_heed(), function)(ctypes.c_int32(status)).decode()


def _z(number):
    return ctypes.c_ssize_t(number)


def _f(name, number):
    return ctypes.c_float(_real(name, number))


def _vector(name, array, n):
    """Of n floats, or null."""
    return ctypes.c_void_p(_pointer(name, array, numpy.float32, (n,)))


def _call(function, *arguments):
    arguments = [_integer(function, a) if isinstance(a, int) else a for a in arguments]
    status = getattr(_heed(), function)(*arguments)
    if status != 0:
        raise Error(status)


def _matrix_of(name, array):
    """A matrix (n, dim) of an array with two dimensions."""
    if array is None:
        return _matrix(None, 0, 0, 0)
    return _matrix(_pointer(name, array, numpy.float32, (None, None)), *array.shape, array.strides[0] // 4)


def _memory_of(n_bytes):
    """Memory, aligned as heed asks, and what keeps it."""
    keeper = numpy.zeros(n_bytes + 64, numpy.uint8)
    at = _pointer("memory", keeper, numpy.uint8, (n_bytes + 64,))
    return _memory(at + -at % 64, n_bytes), keeper


def _tensor_of(name, array):
    """A tensor of (batch, heads, rows, dim)."""
    return _tensor(_pointer(name, array, numpy.float32, (None,) * 4), *[stride // 4 for stride in array.strides[:3]])


def _rows(x, run):
    """Calls run with x (..., dim) as a matrix, and a result like it."""
    x = _floats("x", x, (..., None))
    flat = numpy.ascontiguousarray(x).reshape(-1, x.shape[-1])
    y = numpy.empty_like(flat)
    run(_matrix_of("x", flat), _matrix_of("y", y), flat)
    return y.reshape(x.shape)


# ---------------------------------------------------------------------------------------------------------- kernels


def version():
    return _heed().heed_version().decode()


def kernels():
    """Names of the kernels that this processor can run. The first is the best."""
    return [_heed().heed_isa_name(i).decode() for i in range(_heed().heed_isa_count())]


def kernel():
    return _heed().heed_isa_current().decode()


def use_kernel(name=None):
    """Forces a kernel, or "fma" or "no-fma"; None returns to the automatic choice."""
    if not isinstance(name, (str, type(None))):
        raise ValueError(f"name is {name!r}, not a string")
    _call("heed_isa_use", None if name is None else name.encode())


# ------------------------------------------------------------------------------------------------------------- rows


def softmax(x, scale=1.0):
    """Over the last dimension."""
    return _rows(x, lambda x, y, _: _call("heed_softmax", x, _f("scale", scale), y, None))


def _norm(function):
    def norm(x, weight=None, bias=None, eps=1e-5):
        weight, bias = _floats_or_none("weight", weight, (None,)), _floats_or_none("bias", bias, (None,))
        return _rows(x, lambda x, y, _: _call(function, x, _vector("weight", weight, x.dim), _vector("bias", bias, x.dim),
                                              _f("eps", eps), y, None))
    norm.__doc__ = function + " over the last dimension."
    return norm


layer_norm, rms_norm = _norm("heed_layer_norm"), _norm("heed_rms_norm")
rms_norm_plus_one, l2_norm = _norm("heed_rms_norm_plus_one"), _norm("heed_l2_norm")


def _activation(function):
    def activation(x, up=None):
        x = _floats("x", x, (..., None))
        up = _floats_or_none("up", up, x.shape)
        if up is not None:
            up = numpy.ascontiguousarray(up).reshape(-1, up.shape[-1])
        return _rows(x, lambda x, y, _: _call(function, x, _matrix_of("up", up), y, None))
    activation.__doc__ = function + ", times up, if it is given."
    return activation


gelu, gelu_tanh = _activation("heed_gelu"), _activation("heed_gelu_tanh")
silu, relu = _activation("heed_silu"), _activation("heed_relu")


# ---------------------------------------------------------------------------------------------------------- weights


class Weights:
    """Weights of a projection, with the arrays that they lie in."""

    def __init__(self, struct, keeps):
        self.struct, self.keeps = struct, keeps
        self.n_in, self.n_out = struct.n_in, struct.n_out


def weights(array, layout="out_in"):
    """float16 arrays stay what they are, all others are read as float32. out_in: (n_out, n_in), as PyTorch has it."""
    return _weights_of("array", array, layout)


def _weights_of(name, array, layout="out_in"):
    if isinstance(array, Weights):
        return array
    order = _number_of(LAYOUTS, layout, "layout")
    format = "f16" if getattr(array, "dtype", None) == numpy.float16 else "f32"
    dtype = numpy.float16 if format == "f16" else numpy.float32
    array = numpy.ascontiguousarray(_array(name, array, dtype, (None, None)))
    n_out, n_in = array.shape if layout == "out_in" else array.shape[::-1]
    struct = _weights(_pointer(name, array, dtype, array.shape), None, FORMATS[format], order, n_in, n_out, array.shape[1])
    return Weights(struct, array)


def quantized(numbers, scales, zero_points, layout="out_in"):
    """int8 or uint8 numbers: weight = (number - zero point) * scale; one scale and zero point, or one for each output."""
    order = _number_of(LAYOUTS, layout, "layout")
    dtype = _given("numbers", numbers).dtype
    if dtype not in (numpy.int8, numpy.uint8):
        raise ValueError(f"numbers has the type {dtype}, not int8 or uint8")
    numbers = numpy.ascontiguousarray(_array("numbers", numbers, dtype, (None, None)))
    n_out, n_in = numbers.shape if layout == "out_in" else numbers.shape[::-1]
    scales, zero_points = numpy.atleast_1d(_given("scales", scales)), numpy.atleast_1d(_given("zero_points", zero_points))
    n = 1 if scales.shape == (1,) else n_out
    scales = numpy.ascontiguousarray(_floats("scales", scales, (n,)))
    zero_points = numpy.ascontiguousarray(_array("zero_points", zero_points, dtype, (n,)))
    plain = _weights(_pointer("numbers", numbers, dtype, numbers.shape), _pointer("scales", scales, numpy.float32, (n,)),
                     FORMATS[dtype.name], order, n_in, n_out, numbers.shape[1])
    struct = _heed().heed_weights_with_zero_points(plain, ctypes.c_void_p(_pointer("zero_points", zero_points, dtype, (n,))),
                                                   ctypes.c_int32(n))
    return Weights(struct, (numbers, scales, zero_points))


def pack(w, format="f32"):
    """The weights in another format, packed for speed: f32, f16, bf16, int8, q8_0, q4_0; uint8 of quantized ones."""
    w, number = _weights_of("w", w), _number_of(FORMATS, format, "format")
    n_bytes = _heed().heed_weights_packed_bytes(number, w.n_in, w.n_out)
    memory, keeper = _memory_of(n_bytes)
    struct = _weights()
    _call("heed_weights_pack", w.struct, number, memory)
    _call("heed_weights_open", ctypes.byref(struct), ctypes.c_void_p(memory.data), ctypes.c_size_t(n_bytes))
    return Weights(struct, keeper)


def in_integers(w):
    """Weights packed in int8, uint8, q8_0 or q4_0 whose products are made in integers: each row of x is quantised on its way (W8A8)."""
    w, struct = _weights_of("w", w), _weights()
    _call("heed_weights_in_integers", ctypes.byref(struct), w.struct)
    return Weights(struct, w)


def project(x, w, bias=None):
    """x (..., n_in) times w, plus bias (n_out). An array w is (n_out, n_in), as in nn.Linear."""
    w = _weights_of("w", w)
    x, bias = _floats("x", x, (..., w.n_in)), _floats_or_none("bias", bias, (w.n_out,))
    flat = numpy.ascontiguousarray(x).reshape(-1, x.shape[-1])
    y = numpy.empty((flat.shape[0], w.n_out), numpy.float32)
    _call("heed_linear", _matrix_of("x", flat), w.struct, _vector("bias", bias, w.n_out), _matrix_of("y", y), None)
    return y.reshape(x.shape[:-1] + (w.n_out,))


# -------------------------------------------------------------------------------------------------------- attention


class Rope:
    """Rotary embedding. style: halves (Hugging Face) or interleaved. rotary_dim None: the whole head."""

    def __init__(self, style="halves", head_dim=None, rotary_dim=None, base=10000.0, scale=1.0, inverse_frequencies=None,
                 factor=1.0):
        self.struct = _rope()
        _call("heed_rope_init", ctypes.byref(self.struct), _number_of(STYLES, style, "style"))
        self.inverse_frequencies = _floats_or_none("inverse_frequencies", inverse_frequencies, (None,))
        for name, value in (("head_dim", head_dim), ("rotary_dim", rotary_dim)):
            if value is not None:
                self.struct.rotary_dim = _integer(name, value)
        self.struct.base, self.struct.scale, self.struct.factor = base, scale, factor
        self._point()

    def _point(self):
        """Pointers are made for each call: of arrays that fit the struct as it is then."""
        self.struct.inverse_frequencies = _pointer("inverse_frequencies", self.inverse_frequencies, numpy.float32,
                                                   (self.struct.rotary_dim // 2,))

    def __call__(self, x, position=0):
        """x (heads, rows, head_dim), rotated."""
        x = _floats("x", x, (None, None, None))
        y = numpy.empty(x.shape, numpy.float32)
        self._point()
        _call("heed_rope_apply", ctypes.byref(self.struct), _tensor_of("x", x[None]), x.shape[1], x.shape[0], x.shape[2],
              ctypes.c_int64(_integer("position", position, -2 ** 63, 2 ** 63 - 1)), None, _tensor_of("y", y[None]), None)
        return y


def _mask_of(mask, shape):
    """Options with a mask, and all that they point to. bool, and integers 0 and 1: True or 1 attends; floats are added."""
    mask = _given("mask", mask)
    if mask.dtype.kind in "iu":
        if not (mask == 1).any() or not ((mask == 0) | (mask == 1)).all():
            raise ValueError(f"mask has the type {mask.dtype} and is not of 0 and 1 with a 1: give mask.astype(bool), where True "
                             "attends, or floats, which are added")
        mask = mask == 1
    additive = mask.dtype != numpy.bool_
    dtype = numpy.float32 if additive else numpy.uint8
    try:
        mask = numpy.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"mask has the shape {_shape_text(mask.shape)}, not {_shape_text(shape)} or one that broadcasts to it") from None
    mask = numpy.ascontiguousarray(_array("mask", mask if additive else mask.view(numpy.uint8), dtype, shape))
    struct = _mask()
    strides = [_z(stride // mask.itemsize) for stride in mask.strides[:3]]
    _call("heed_mask_init_additive" if additive else "heed_mask_init_boolean", ctypes.byref(struct),
          ctypes.c_void_p(_pointer("mask", mask, dtype, shape)), shape[3], *strides)
    options = _options(struct_size=ctypes.sizeof(_options))
    options.mask = ctypes.addressof(struct)
    return options, (struct, mask)


def attention(q, k, v, causal=False, scale=None, position=0, mask=None):
    """q (heads, rows, dim), k and v (key heads, keys, dim); also without heads, or with a batch in front. position is that of
    query 0 among the keys. A mask can be broadcast to (batch, heads, rows, keys). In one of bool, or of the integers 0 and 1,
    True or 1 attends; floats are added to the scores."""
    shape = _given("q", q).shape
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"q has the shape {_shape_text(shape)}, not two to four dimensions")
    ranks = (None,) * len(shape)
    q, k, v = [_floats(name, a, ranks) for name, a in (("q", q), ("k", k), ("v", v))]
    _check_shape("k", k.shape, shape[:-3] + ranks[-3:-1] + shape[-1:])
    _check_shape("v", v.shape, k.shape[:-1] + (None,))
    if len(shape) > 2 and shape[-3] % k.shape[-3] != 0:
        raise ValueError(f"k has the shape {_shape_text(k.shape)}, and its {k.shape[-3]} heads do not divide the {shape[-3]} of q")
    q, k, v = [a.reshape((1,) * (4 - a.ndim) + a.shape) for a in (q, k, v)]
    out = numpy.empty(q.shape[:3] + v.shape[3:], numpy.float32)
    memory, keeper = _memory_of(_heed().heed_workspace_bytes(q.shape[3], v.shape[3]))
    call = _attention(ctypes.sizeof(_attention), q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3],
                      v.shape[3], _SCALE_DEFAULT if scale is None else scale, causal, position, _tensor_of("q", q),
                      _tensor_of("k", k), _tensor_of("v", v), _tensor_of("out", out), memory, None, None, None)
    if mask is not None:
        options, keeps = _mask_of(mask, q.shape[:3] + k.shape[2:3])
        call.options = ctypes.addressof(options)
    _call("heed_attention_run", ctypes.byref(call))
    return out.reshape(shape[:-1] + out.shape[3:])


# ----------------------------------------------------------------------------------------------------------- layers


_NORMS, _ACTIVATIONS = ("layer_norm", "rms_norm", "rms_norm_plus_one", "l2_norm"), ("gelu", "gelu_tanh", "silu", "relu", "tanh", "sigmoid")
_FUNCTIONS = {"norm": _NORMS, "qk_norm": _NORMS, "activation": _ACTIVATIONS}


class _Layer:
    """A struct of a layer whose fields are set from Python: weights and biases are arrays, functions are names.

    VECTORS: of each array, which of _widths() its length is. MATRICES: of all weights, which of them n_out and n_in are; those of
    OPTIONAL may be absent. OBJECTS: the Python class of each field that points to a struct."""

    def __init__(self, kind, **fields):
        self.struct = kind(struct_size=ctypes.sizeof(kind))
        self.keeps = {}
        kinds = {field[0]: field[1] for field in kind._fields_}
        for name, value in fields.items():
            known = {**self.VECTORS, **self.OBJECTS, **_FUNCTIONS}
            if name not in kinds or name == "struct_size" or (kinds[name] is ctypes.c_void_p and name not in known):
                raise TypeError("a layer has no field " + name)
            self._set(name, kinds[name], value)
        self._point()

    def _set(self, name, kind, value):
        if value is None:
            return
        if kind is _weights:
            self.keeps[name] = _weights_of(name, value)
            value = self.keeps[name].struct
        elif name in self.VECTORS:
            self.keeps[name] = numpy.ascontiguousarray(_floats(name, value, (None,)))
            return
        elif name in self.OBJECTS:
            if not isinstance(value, globals()[self.OBJECTS[name]]):
                raise ValueError(f"{name} is {value!r}, not a heed.{self.OBJECTS[name]}")
            self.keeps[name] = value
            value = ctypes.addressof(value.struct)
        elif name in _FUNCTIONS:
            if value not in _FUNCTIONS[name]:
                raise ValueError(f"{name} is {value!r}, not one of {', '.join(_FUNCTIONS[name])}")
            value = ctypes.cast(getattr(_heed(), "heed_" + value), ctypes.c_void_p).value
        setattr(self.struct, name, value)

    def _point(self):
        """Pointers are made for each call: of arrays that fit the struct as it is then."""
        widths = self._widths()
        for name, value in self.keeps.items():
            if name in self.OBJECTS:
                value._point()
            elif name in self.VECTORS:
                setattr(self.struct, name, _pointer(name, value, numpy.float32, (widths[self.VECTORS[name]],)))
        for name, (n_out, n_in) in self.MATRICES.items():
            self._check_weights(name, widths[n_out], widths[n_in], name not in self.OPTIONAL)

    def _check_weights(self, name, n_out, n_in, needed):
        w = getattr(self.struct, name)
        if w.data and (w.n_out, w.n_in) != (n_out, n_in):
            raise ValueError(f"{name} has the shape {_shape_text((w.n_out, w.n_in))}, not {_shape_text((n_out, n_in))}, as (n_out, n_in)")
        if needed and not w.data:
            raise ValueError(f"{name} is not set")

    def _run(self, name, x, n_out, out_rows=0):
        x = _floats("x", x, (None, self._widths()["model"]))
        if abs(out_rows) > x.shape[0]:
            raise ValueError(f"out_rows is {out_rows}, and x has {x.shape[0]} rows")
        self._point()
        y = numpy.empty((abs(out_rows) or x.shape[0], n_out), numpy.float32)
        n_bytes = getattr(_heed(), name + "_bytes")(ctypes.byref(self.struct), x.shape[0])
        memory, self.memory = _memory_of(max(n_bytes, 64))
        _call(name + "_run", ctypes.byref(self.struct), _matrix_of("x", x), _matrix_of("y", y), memory, None)
        self.at = memory.data - _pointer("memory", self.memory, numpy.uint8, (None,))
        return y


class AttentionLayer(_Layer):
    """heed_attention_layer: all its fields are arguments by name, but cache, options and batch. After a call, q, k, v and context are
    arrays (rows, heads * dim): where a difference begins."""

    OBJECTS = {"rope": "Rope"}
    VECTORS = {"bq": "query", "bk": "key", "bv": "value", "bo": "out", "q_norm_weight": "query_norm", "q_norm_bias": "query_norm",
               "k_norm_weight": "key_norm", "k_norm_bias": "key_norm"}
    MATRICES = {"wq": ("query", "model"), "wk": ("key", "model"), "wv": ("value", "model"), "wo": ("out", "context")}
    OPTIONAL = ("wo",)

    def _widths(self):
        s = self.struct
        heads, kv_heads = (s.n_heads, s.n_kv_heads) if s.qk_norm_whole else (1, 1)
        return {"query": s.n_heads * s.head_dim, "key": s.n_kv_heads * s.head_dim, "value": s.n_kv_heads * s.v_dim, "out": s.out_dim,
                "query_norm": heads * s.head_dim, "key_norm": kv_heads * s.head_dim, "model": s.model_dim,
                "context": s.n_heads * s.v_dim}

    def __init__(self, model_dim, n_heads, **fields):
        model_dim, n_heads = _integer("model_dim", model_dim, 1), _integer("n_heads", n_heads, 1)
        given = {name: value for name, value in fields.items() if value is not None}
        if "head_dim" not in given and model_dim % n_heads != 0:
            raise ValueError(f"n_heads is {n_heads}, which does not divide model_dim, {model_dim}: give head_dim")
        head_dim = given.get("head_dim", model_dim // n_heads)
        if "wo" in given:
            given.setdefault("out_dim", _weights_of("wo", given["wo"]).n_out)
        values = {"n_kv_heads": n_heads, "head_dim": head_dim, "v_dim": head_dim, "scale": _SCALE_DEFAULT, "qk_eps": 1e-6}
        values.update(given, model_dim=model_dim, n_heads=n_heads)
        for name in ("n_kv_heads", "head_dim", "v_dim"):
            _integer(name, values[name], 1)
        if n_heads % values["n_kv_heads"] != 0:
            raise ValueError(f"n_kv_heads is {values['n_kv_heads']}, which does not divide n_heads, {n_heads}")
        values.setdefault("out_dim", n_heads * values["v_dim"])
        super().__init__(_attention_layer, **{**fields, **values})

    def __call__(self, x):
        y = self._run("heed_attention_layer", x, self.struct.out_dim)
        s, n, at = self.struct, y.shape[0], self.at
        widths = [s.n_heads * s.head_dim, s.n_kv_heads * s.head_dim, s.n_kv_heads * s.v_dim, s.n_heads * s.v_dim]
        parts = []
        for width in widths if s.wo.data else widths[:3]:
            parts.append(self.memory[at:at + 4 * n * width].view(numpy.float32).reshape(n, width))
            at += 4 * n * width
        self.q, self.k, self.v, self.context = parts if s.wo.data else parts + [y]
        return y


class TransformerLayer(_Layer):
    """heed_transformer_layer: all its fields are arguments by name."""

    OBJECTS = {"attention": "AttentionLayer", "cross": "AttentionLayer"}
    VECTORS = {"b_up": "up", "b_gate": "hidden", "b_down": "model",
               **{f"{part}_{kind}": "model" for part in ("norm1", "norm2", "norm_cross", "post_norm1", "post_norm2", "post_norm_cross")
                  for kind in ("weight", "bias")}}
    MATRICES = {"w_up": ("up", "model"), "w_gate": ("hidden", "model"), "w_down": ("model", "hidden")}
    OPTIONAL = ("w_gate",)

    def _point(self):
        super()._point()
        for name in self.OBJECTS.keys() & self.keeps.keys():
            s = self.keeps[name].struct
            self.keeps[name]._check_weights("wo", s.model_dim, s.n_heads * s.v_dim, True)

    def _widths(self):
        s = self.struct
        return {"up": s.ffn_dim * (2 if s.ffn_order else 1), "hidden": s.ffn_dim, "model": self.keeps["attention"].struct.model_dim}

    def __init__(self, attention, ffn_dim, norm="layer_norm", activation="gelu", eps=1e-5, **fields):
        if attention is None:
            raise ValueError("attention is None, not an AttentionLayer")
        super().__init__(_transformer_layer, attention=attention, ffn_dim=_integer("ffn_dim", ffn_dim, 1), norm=norm, activation=activation,
                         eps=_real("eps", eps), **fields)

    def __call__(self, x):
        return self._run("heed_transformer_layer", x, self._widths()["model"], self.struct.out_rows)
