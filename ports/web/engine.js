// The WebAssembly module behind functions. The page and its worker have the same text. SPDX-License-Identifier: MIT
'use strict';

function moduleBytes(base64) {
  return Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
}

// One instance, with memory of its own. What the module throws leaves it unusable: make another one.
async function makeHeed(module) {
  let printed = '';
  const bytes = () => new Uint8Array(exports.memory.buffer);
  const view = () => new DataView(exports.memory.buffer);
  const string = (at) => {
    const from = bytes().subarray(at);
    return new TextDecoder().decode(from.slice(0, from.indexOf(0)));
  };
  const wasi = {
    fd_write(file, pieces, n, written) {
      let total = 0;
      for (let i = 0; i < n; i++) {
        const at = view().getUint32(pieces + 8 * i, true), length = view().getUint32(pieces + 8 * i + 4, true);
        printed += new TextDecoder().decode(bytes().slice(at, at + length));
        total += length;
      }
      view().setUint32(written, total, true);
      return 0;
    },
    environ_sizes_get(n, size) {
      view().setUint32(n, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    proc_exit(code) { throw new Error(`heed ended with ${code}`); },
  };
  const none = () => 52; // there is no such call
  const { exports } = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: new Proxy(wasi, { get: (all, name) => all[name] ?? none }),
    page: { thrown: (text) => { throw new Error(string(text)); } },
  });
  exports._initialize();

  return {
    call: exports,
    string,
    version: string(exports.version()),
    kernel: string(exports.kernel()),
    floats: (at, n) => new Float32Array(exports.memory.buffer, at, n).slice(),
    shorts: (at, n) => new Int16Array(exports.memory.buffer, at, n).slice(),
    // Copies an array into the module's memory; to be released.
    put(array) {
      const at = exports.allocate(Math.max(array.byteLength, 1));
      bytes().set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
      return at;
    },
    release: exports.release,
    // A call that returns what is wrong as a text.
    attempt(text) {
      if (text !== 0 && string(text) !== '') throw new Error(string(text));
    },
    check(status) {
      if (status !== 0) throw new Error(`heed: ${string(exports.fault(status))}`);
    },
    // Lines such as "no-fma simd128 c30d162bff6ddac7".
    digests() {
      printed = '';
      const status = exports.digest();
      const lines = printed.trim().split('\n');
      if (status !== 0) throw new Error(lines.join('; '));
      return lines.map((line) => line.split(' '));
    },
  };
}

// What the page says about this machine; tell(what, text) for each. Runs in a worker, so that the page stays awake.
async function examine(module, tell) {
  const knownDigest = 'c30d162bff6ddac7'; // of all processors without a fused multiply-add
  const part = (name, run) => {
    try {
      tell(name, run());
    } catch (error) {
      tell(name, `FAILED: ${error.message}`);
    }
  };
  const heed = await makeHeed(module);
  part('selftest', () => {
    heed.check(heed.call.self_test());
    return `passed: ${heed.call.n_kernels()} kernels give the reference's bits`;
  });
  part('speed', () => {
    heed.check(heed.call.vision());
    let least = Infinity;
    for (const start = performance.now(); performance.now() - start < 400;) {
      const from = performance.now();
      for (let i = 0; i < 5; i++) heed.call.vision();
      least = Math.min(least, (performance.now() - from) / 5);
    }
    const operations = 4 * 197 * 197 * 64 * 3;
    return `${least.toFixed(2)} ms for attention of a vision transformer (197 rows, 3 heads of 64): ${(operations / least / 1e6).toFixed(1)} GFLOP/s`;
  });
  part('digest', () => {
    const all = heed.digests().map((line) => line[2]);
    if (all.some((digest) => digest !== knownDigest)) return `FAILED: ${all.join(' ')} instead of ${knownDigest}`;
    return `${knownDigest}, as on every machine without a fused multiply-add`;
  });
}
