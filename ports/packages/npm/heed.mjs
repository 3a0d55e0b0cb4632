// heed in WebAssembly. heed.d.ts describes it. SPDX-License-Identifier: MIT
async function bytesBeside() {
  const url = new URL('heed.wasm', import.meta.url);
  if (url.protocol !== 'file:') return (await fetch(url)).arrayBuffer();
  return (await import('node:fs/promises')).readFile(url);
}

export async function load(wasm) {
  const { instance } = await WebAssembly.instantiate(wasm ?? (await bytesBeside()), {});
  const heed = instance.exports;
  const text = (address) => {
    const bytes = new Uint8Array(heed.memory.buffer, address);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  };
  const check = (status) => {
    if (status === 0) return;
    const argument = text(heed.argument(status)).replace(/_(.)/g, (_, letter) => letter.toUpperCase()); // as JavaScript has it
    throw new Error(`heed: ${argument}: ${text(heed.fault(status))}`);
  };
  // Addresses of pieces of memory behind the module's own, which may grow. They are free again after the call.
  const places = (...sizes) => {
    let end = heed.__heap_base.value;
    const addresses = sizes.map((bytes) => {
      const address = Math.ceil(end / 64) * 64;
      end = address + bytes;
      return address;
    });
    const missing = end - heed.memory.buffer.byteLength;
    if (missing > 0) heed.memory.grow(Math.ceil(missing / 65536));
    return addresses;
  };
  const floats = (address, n) => new Float32Array(heed.memory.buffer, address, n);

  return {
    version: text(heed.version()),
    kernel: text(heed.kernel()),
    selfTest() {
      check(heed.selftest(places(heed.selftest_bytes())[0]));
    },
    attention({ q, k, v, headDim, nHeads = 1, nKvHeads = nHeads, causal = false, scale = heed.default_scale(), weights = false,
      ...others } = {}) {
      const demand = (right, what, kind = Error) => {
        if (!right) throw new kind(`heed: ${what}`);
      };
      const known = 'q, k, v, headDim, nHeads, nKvHeads, causal, scale, weights';
      for (const name of Object.keys(others)) demand(false, `${name}: no option of attention, which has ${known}`, TypeError);
      for (const [name, x] of Object.entries({ q, k, v })) {
        // By its name: an array of another window is no instance of this one's Float32Array.
        demand(ArrayBuffer.isView(x) && x[Symbol.toStringTag] === 'Float32Array', `${name}: not a Float32Array`, TypeError);
        demand(x.length > 0, `${name}: it is empty`);
      }
      for (const [name, n] of Object.entries({ headDim, nHeads, nKvHeads }))
        demand(Number.isInteger(n) && n > 0, `${name}: not a whole number above zero`, TypeError);
      for (const [name, flag] of Object.entries({ causal, weights }))
        demand([true, false, 1, 0].includes(flag), `${name}: neither true nor false`, TypeError);
      demand(Number.isFinite(scale), 'scale: not a finite number', TypeError);
      const nQ = q.length / (nHeads * headDim), nKv = k.length / (nKvHeads * headDim);
      demand(Number.isInteger(nQ), 'q: its length is no multiple of nHeads * headDim');
      demand(Number.isInteger(nKv), 'k: its length is no multiple of nKvHeads * headDim');
      demand(v.length === k.length, 'v: not as long as k');
      const nWeights = weights ? nHeads * nQ * nKv : 0;
      const [atQ, atK, atV, atOut, atWeights, workspace] =
        places(q.length * 4, k.length * 4, v.length * 4, q.length * 4, nWeights * 4, heed.attention_bytes(headDim));
      floats(atQ, q.length).set(q);
      floats(atK, k.length).set(k);
      floats(atV, v.length).set(v);
      check(heed.attention(atQ, atK, atV, atOut, weights ? atWeights : 0, nQ, nKv, nHeads, nKvHeads, headDim, causal ? 1 : 0,
        scale, workspace));
      const result = { out: floats(atOut, q.length).slice() };
      if (weights) result.weights = floats(atWeights, nWeights).slice();
      return result;
    },
  };
}
