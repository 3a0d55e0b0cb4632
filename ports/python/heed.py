"""heed from Python, on numpy arrays: to compare a model with heed, layer by layer. SPDX-License-Identifier: MIT

    import heed
    heed.load("libheed.so")
    y = heed.attention(q, k, v, causal=True)          # (heads, rows, dim), as PyTorch's scaled_dot_product_attention

Arrays that come in may have any type; they are read as float32. Results are float32. README.md beside this file has more.
"""
import ctypes
import ctypes.util
import os

import numpy

VERSION = "0.3"  # the structs below are those of this version; load() refuses another library

_KINDS = {"i": ctypes.c_int32, "u": ctypes.c_uint32, "f": ctypes.c_float, "z": ctypes.c_ssize_t, "p": ctypes.c_void_p}


def _struct(name, fields):
    """A struct of the C headers: names of fields behind their kind, which is a letter of _KINDS or a struct."""
    members = []
    for group in fields:
        kind, names = group
        members += [(field, _KINDS.get(kind, kind)) for field in names.split()]
    return type(name, (ctypes.Structure,), {"_fields_": members})


_memory = _struct("heed_memory", [("p", "data"), ("z", "bytes")])
_matrix = _struct("heed_matrix", [("p", "data"), ("i", "n_rows dim"), ("z", "row_stride")])
_tensor = _struct("heed_tensor", [("p", "data"), ("z", "batch_stride head_stride row_stride")])
_weights = _struct("heed_weights", [("p", "data scales"), ("i", "format layout n_in n_out"), ("z", "row_stride"),
                                     ("p", "code zero_points"), ("i", "n_scales")])
_rope = _struct("heed_rope", [("u", "struct_size"), ("p", "code"), ("i", "style rotary_dim"), ("f", "base scale"),
                              ("p", "inverse_frequencies")])
_mask = _struct("heed_mask", [("u", "struct_size"), ("p", "code"), ("i", "n_keys"), ("p", "data"),
                              ("z", "batch_stride head_stride query_stride")])
_options = _struct("heed_options", [("u", "struct_size"), ("p", "ranges mask softcap alibi sinks scores weights lse column_sums "
                                                                "top_k partial narrow")])
_attention = _struct("heed_attention", [
    ("u", "struct_size"), ("i", "batch n_heads n_kv_heads n_q n_kv head_dim v_dim"), ("f", "scale"), ("i", "causal position"),
    (_tensor, "q k v out"), (_memory, "workspace"), ("p", "executor options cache")])
_attention_layer = _struct("heed_attention_layer", [
    ("u", "struct_size"), ("i", "model_dim n_heads n_kv_heads head_dim v_dim out_dim"), ("f", "scale"), ("i", "causal"),
    (_weights, "wq wk wv wo"), ("p", "bq bk bv bo rope cache options qk_norm"), ("f", "qk_eps"),
    ("p", "q_norm_weight q_norm_bias k_norm_weight k_norm_bias"), ("i", "qk_norm_whole cross"), ("p", "batch")])
_transformer_layer = _struct("heed_transformer_layer", [
    ("u", "struct_size"), ("p", "attention"), ("i", "hidden_dim norm_first"), ("p", "norm"), ("f", "eps"),
    ("p", "norm1_weight norm1_bias norm2_weight norm2_bias activation"), (_weights, "w_up w_gate w_down"),
    ("p", "b_up b_gate b_down cross norm_cross_weight norm_cross_bias"), ("i", "norm_after"),
    ("p", "after1_weight after1_bias after2_weight after2_bias after_cross_weight after_cross_bias"),
    ("i", "parallel hidden_order out_rows")])

FORMATS = {"f32": 0, "f16": 1, "bf16": 2, "int8": 3, "q8_0": 4, "q4_0": 5, "uint8": 7}
LAYOUTS = {"in_out": 0, "out_in": 1}
STYLES = {"interleaved": 0, "halves": 1}
_SCALE_DEFAULT = 3.402823466e+38
_UNKNOWN_STRUCT = 41

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
    for name in ("heed_version", "heed_kernel_current", "heed_kernel_name", "heed_status_text", "heed_status_argument"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("heed_workspace_bytes", "heed_weights_packed_bytes", "heed_attention_layer_bytes", "heed_transformer_layer_bytes"):
        getattr(library, name).restype = ctypes.c_size_t
    library.heed_weights_with_zero_points.restype = _weights
    version = library.heed_version().decode()
    if version.split(".")[:2] != VERSION.split("."):
        raise ImportError("%s is heed %s, this module is for %s" % (path, version, VERSION))
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
    data = numpy.zeros(4, numpy.float32)
    _call("heed_rope_init", _pointer(buffer), 0)
    sizes = [(_rope, int(buffer.view(numpy.uint32)[0]))]
    _call("heed_mask_init_additive", _pointer(buffer), _pointer(data), 1, _z(0), _z(0), _z(0))
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
            if error.status // -1000 != _UNKNOWN_STRUCT:
                raise
            wrong.append(struct.__name__)
    if wrong:
        raise ImportError("%s: other structs than this module knows: %s" % (path, ", ".join(wrong)))


# ---------------------------------------------------------------------------------------------------------- helpers


def _text(function, status):
    return getattr(_heed(), function)(ctypes.c_int32(status)).decode()


def _z(number):
    return ctypes.c_ssize_t(number)


def _f(number):
    return ctypes.c_float(number)


def _pointer(array):
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def _call(function, *arguments):
    status = getattr(_heed(), function)(*arguments)
    if status != 0:
        raise Error(status)


def _floats(array, n_dims=None):
    """float32 whose last dimension is contiguous, and no stride negative; None stays None."""
    if array is None:
        return None
    array = numpy.asarray(array, numpy.float32)
    if n_dims is not None and array.ndim != n_dims:
        raise ValueError("an array has %d dimensions, not %d" % (array.ndim, n_dims))
    if array.size == 0:
        raise ValueError("an array is empty")
    strides_fit = all(stride >= 0 and stride % 4 == 0 for stride in array.strides)
    last_fits = array.ndim == 0 or array.shape[-1] == 1 or array.strides[-1] == 4
    return array if strides_fit and last_fits else numpy.ascontiguousarray(array)


def _matrix_of(array):
    """A matrix (n, dim) of an array with two dimensions."""
    if array is None:
        return _matrix(None, 0, 0, 0)
    return _matrix(array.ctypes.data, array.shape[0], array.shape[1], array.strides[0] // 4)


def _memory_of(n_bytes):
    """Memory, aligned as heed asks, and what keeps it."""
    keeper = numpy.zeros(n_bytes + 64, numpy.uint8)
    return _memory(keeper.ctypes.data + -keeper.ctypes.data % 64, n_bytes), keeper


def _tensor_of(array):
    """A tensor of (batch, heads, rows, dim)."""
    return _tensor(array.ctypes.data, *[stride // 4 for stride in array.strides[:3]])


def _rows(x, run):
    """Calls run with x (..., dim) as a matrix, and a result like it."""
    x = _floats(x)
    flat = numpy.ascontiguousarray(x).reshape(-1, x.shape[-1])
    y = numpy.empty_like(flat)
    run(_matrix_of(flat), _matrix_of(y), flat)
    return y.reshape(x.shape)


# ---------------------------------------------------------------------------------------------------------- kernels


def version():
    return _heed().heed_version().decode()


def kernels():
    """Names of the kernels that this processor can run. The first is the best."""
    return [_heed().heed_kernel_name(i).decode() for i in range(_heed().heed_kernel_count())]


def kernel():
    return _heed().heed_kernel_current().decode()


def use_kernel(name=None):
    """Forces a kernel, or "fused" or "unfused"; None returns to the automatic choice."""
    _call("heed_kernel_use", None if name is None else name.encode())


# ------------------------------------------------------------------------------------------------------------- rows


def softmax(x, scale=1.0):
    """Over the last dimension."""
    return _rows(x, lambda x, y, _: _call("heed_softmax", x, _f(scale), y, None))


def _norm(function):
    def norm(x, weight=None, bias=None, eps=1e-5):
        weight, bias = _floats(weight, 1), _floats(bias, 1)
        for part in (weight, bias):
            if part is not None and part.shape[0] != numpy.shape(x)[-1]:
                raise ValueError("weight or bias does not fit the rows")
        return _rows(x, lambda x, y, _: _call(function, x, _pointer(weight), _pointer(bias), _f(eps), y, None))
    norm.__doc__ = function + " over the last dimension."
    return norm


layer_norm, rms_norm = _norm("heed_layer_norm"), _norm("heed_rms_norm")
rms_norm_plus_one = _norm("heed_rms_norm_plus_one")


def _activation(function):
    def activation(x, up=None):
        if up is not None:
            up = numpy.ascontiguousarray(_floats(up)).reshape(-1, numpy.shape(up)[-1])
        return _rows(x, lambda x, y, _: _call(function, x, _matrix_of(up), y, None))
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
    if isinstance(array, Weights):
        return array
    array = numpy.asarray(array)
    halves = array.dtype == numpy.float16
    array = numpy.ascontiguousarray(array if halves else _floats(array))
    if array.ndim != 2 or array.size == 0:
        raise ValueError("weights are a matrix")
    n_out, n_in = array.shape if layout == "out_in" else array.shape[::-1]
    struct = _weights(array.ctypes.data, None, FORMATS["f16" if halves else "f32"], LAYOUTS[layout], n_in, n_out, array.shape[1])
    return Weights(struct, array)


def quantized(numbers, scales, zero_points, layout="out_in"):
    """int8 or uint8 numbers: weight = (number - zero point) * scale; one scale and zero point, or one for each output."""
    numbers = numpy.ascontiguousarray(numbers)
    if numbers.dtype not in (numpy.int8, numpy.uint8) or numbers.ndim != 2 or numbers.size == 0:
        raise ValueError("numbers are a matrix of int8 or uint8")
    n_out, n_in = numbers.shape if layout == "out_in" else numbers.shape[::-1]
    scales = numpy.ascontiguousarray(scales, numpy.float32).reshape(-1)
    zero_points = numpy.ascontiguousarray(zero_points, numbers.dtype).reshape(-1)
    if scales.size not in (1, n_out) or zero_points.size != scales.size:
        raise ValueError("there is neither one scale and zero point nor one for each output")
    plain = _weights(numbers.ctypes.data, scales.ctypes.data, FORMATS["int8" if numbers.dtype == numpy.int8 else "uint8"],
                     LAYOUTS[layout], n_in, n_out, numbers.shape[1])
    struct = _heed().heed_weights_with_zero_points(plain, _pointer(zero_points), ctypes.c_int32(scales.size))
    return Weights(struct, (numbers, scales, zero_points))


def pack(w, format="f32"):
    """The weights in another format, packed for speed: f32, f16, bf16, int8, q8_0, q4_0; uint8 of quantized ones."""
    w, number = weights(w), _number_of(FORMATS, format, "format")
    n_bytes = _heed().heed_weights_packed_bytes(number, w.n_in, w.n_out)
    memory, keeper = _memory_of(n_bytes)
    struct = _weights()
    _call("heed_weights_pack", w.struct, number, memory)
    _call("heed_weights_open", ctypes.byref(struct), ctypes.c_void_p(memory.data), ctypes.c_size_t(n_bytes))
    return Weights(struct, keeper)


def in_integers(w):
    """Weights packed in int8, uint8, q8_0 or q4_0 whose products are made in integers: each row of x is quantised on its way (W8A8)."""
    struct = _weights()
    _call("heed_weights_in_integers", ctypes.byref(struct), w.struct)
    return Weights(struct, w)


def project(x, w, bias=None):
    """x (..., n_in) times w, plus bias (n_out). An array w is (n_out, n_in), as in nn.Linear."""
    w, x, bias = weights(w), _floats(x), _floats(bias, 1)
    if bias is not None and bias.shape[0] != w.n_out:
        raise ValueError("the bias does not fit the weights")
    flat = numpy.ascontiguousarray(x).reshape(-1, x.shape[-1])
    y = numpy.empty((flat.shape[0], w.n_out), numpy.float32)
    _call("heed_project", _matrix_of(flat), w.struct, _pointer(bias), _matrix_of(y), None)
    return y.reshape(x.shape[:-1] + (w.n_out,))


# -------------------------------------------------------------------------------------------------------- attention


class Rope:
    """Rotary embedding. style: halves (Hugging Face) or interleaved. rotary_dim None: the whole head."""

    def __init__(self, style="halves", head_dim=None, rotary_dim=None, base=10000.0, scale=1.0, inverse_frequencies=None):
        self.struct = _rope()
        _call("heed_rope_init", ctypes.byref(self.struct), _number_of(STYLES, style, "style"))
        self.inverse_frequencies = _floats(inverse_frequencies, 1)
        if rotary_dim or head_dim:
            self.struct.rotary_dim = rotary_dim or head_dim
        self.struct.base, self.struct.scale = base, scale
        self.struct.inverse_frequencies = _pointer(self.inverse_frequencies)
        if inverse_frequencies is not None and 2 * self.inverse_frequencies.shape[0] != self.struct.rotary_dim:
            raise ValueError("there is not one inverse frequency for each pair of rotary_dim")

    def __call__(self, x, position=0):
        """x (heads, rows, head_dim), turned."""
        x = _floats(x, 3)
        y = numpy.empty(x.shape, numpy.float32)
        _call("heed_rope_apply", ctypes.byref(self.struct), _tensor_of(x[None]), x.shape[1], x.shape[0], x.shape[2],
              position, None, _tensor_of(y[None]), None)
        return y


def _mask_of(mask, shape):
    """Options with a mask, and all that they point to. bool: True attends; floats are added."""
    mask = numpy.asarray(mask)
    additive = mask.dtype != numpy.bool_
    mask = numpy.ascontiguousarray(numpy.broadcast_to(mask, shape), numpy.float32 if additive else numpy.uint8)
    struct = _mask()
    strides = [_z(stride // mask.itemsize) for stride in mask.strides[:3]]
    _call("heed_mask_init_additive" if additive else "heed_mask_init_boolean", ctypes.byref(struct), _pointer(mask),
          shape[3], *strides)
    options = _options(struct_size=ctypes.sizeof(_options))
    options.mask = ctypes.addressof(struct)
    return options, (struct, mask)


def attention(q, k, v, causal=False, scale=None, position=0, mask=None):
    """q (heads, rows, dim), k and v (key heads, keys, dim); also without heads, or with a batch in front. position is that of
    query 0 among the keys. A mask can be broadcast to (batch, heads, rows, keys)."""
    shape = numpy.shape(q)
    arrays = [_floats(a) for a in (q, k, v)]
    if not 2 <= len(shape) <= 4 or any(a.ndim != len(shape) for a in arrays):
        raise ValueError("q, k and v have two to four dimensions, all the same number")
    q, k, v = [a.reshape((1,) * (4 - a.ndim) + a.shape) for a in arrays]
    if not q.shape[0] == k.shape[0] == v.shape[0] or k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3]:
        raise ValueError("the shapes of q, k and v do not fit")
    out = numpy.empty(q.shape[:3] + v.shape[3:], numpy.float32)
    memory, keeper = _memory_of(_heed().heed_workspace_bytes(q.shape[3], v.shape[3]))
    call = _attention(ctypes.sizeof(_attention), q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3],
                      v.shape[3], _SCALE_DEFAULT if scale is None else scale, int(causal), position, _tensor_of(q),
                      _tensor_of(k), _tensor_of(v), _tensor_of(out), memory, None, None, None)
    if mask is not None:
        options, keeps = _mask_of(mask, q.shape[:3] + k.shape[2:3])
        call.options = ctypes.addressof(options)
    _call("heed_attention_run", ctypes.byref(call))
    return out.reshape(shape[:-1] + out.shape[3:])


# ----------------------------------------------------------------------------------------------------------- layers


class _Layer:
    """A struct of a layer whose fields are set from Python: weights and biases are arrays, functions are names."""

    def __init__(self, kind, **fields):
        self.struct = kind(struct_size=ctypes.sizeof(kind))
        self.keeps = {}
        kinds = dict(kind._fields_)
        for name, value in fields.items():
            if name not in kinds or name in ("struct_size", "cache", "options", "batch"):
                raise TypeError("a layer has no field " + name)
            setattr(self.struct, name, self._value(name, kinds[name], value))

    def _value(self, name, kind, value):
        if value is None:
            return kind() if kind is _weights else None
        if kind is _weights:
            value = weights(value)
        elif kind is ctypes.c_void_p and not isinstance(value, (str, _Layer, Rope)):
            value = numpy.ascontiguousarray(_floats(value, 1))
        else:
            if isinstance(value, str):
                return ctypes.cast(getattr(_heed(), "heed_" + value), ctypes.c_void_p).value
            if not isinstance(value, (_Layer, Rope)):
                return value
        self.keeps[name] = value
        return value.ctypes.data if isinstance(value, numpy.ndarray) else \
            value.struct if isinstance(value, Weights) else ctypes.addressof(value.struct)

    def _run(self, name, x, n_out, out_rows=0):
        x = _floats(x, 2)
        y = numpy.empty((abs(out_rows) or x.shape[0], n_out), numpy.float32)
        n_bytes = getattr(_heed(), name + "_bytes")(ctypes.byref(self.struct), x.shape[0])
        memory, self.memory = _memory_of(max(n_bytes, 64))
        _call(name + "_run", ctypes.byref(self.struct), _matrix_of(x), _matrix_of(y), memory, None)
        self.at = memory.data - self.memory.ctypes.data
        return y


class AttentionLayer(_Layer):
    """heed_attention_layer: all its fields are arguments by name, but cache, options and batch. After a call, q, k, v and context are
    arrays (rows, heads * dim): where a difference begins."""

    def __init__(self, model_dim, n_heads, **fields):
        head_dim = fields.get("head_dim") or model_dim // n_heads
        if fields.get("wo") is not None:
            fields.setdefault("out_dim", weights(fields["wo"]).n_out)
        values = {"n_kv_heads": n_heads, "head_dim": head_dim, "v_dim": head_dim, "scale": _SCALE_DEFAULT, "qk_eps": 1e-6}
        values.update(fields, model_dim=model_dim, n_heads=n_heads)
        values.setdefault("out_dim", n_heads * values["v_dim"])
        super().__init__(_attention_layer, **values)

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

    def __init__(self, attention, hidden_dim, norm="layer_norm", activation="gelu", eps=1e-5, **fields):
        self.n_out = attention.struct.model_dim
        super().__init__(_transformer_layer, attention=attention, hidden_dim=hidden_dim, norm=norm, activation=activation,
                         eps=eps, **fields)

    def __call__(self, x):
        return self._run("heed_transformer_layer", x, self.n_out, self.struct.out_rows)
