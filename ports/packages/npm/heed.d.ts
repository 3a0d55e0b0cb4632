/** heed in WebAssembly. SPDX-License-Identifier: MIT */
export interface AttentionCall {
  /** (nQ, nHeads, headDim) */
  q: Float32Array;
  /** (nKv, nKvHeads, headDim) */
  k: Float32Array;
  /** (nKv, nKvHeads, headDim) */
  v: Float32Array;
  headDim: number;
  /** 1 if left out */
  nHeads?: number;
  /** nHeads if left out; it divides nHeads */
  nKvHeads?: number;
  /** A query sees the keys up to its own position. */
  causal?: boolean | 0 | 1;
  /** 1 / sqrt(headDim) if left out; any finite number but 0 */
  scale?: number;
  /** Return the attention weights, too. */
  weights?: boolean | 0 | 1;
}
export interface AttentionResult {
  /** (nQ, nHeads, headDim) */
  out: Float32Array;
  /** (nHeads, nQ, nKv), if asked for */
  weights?: Float32Array;
}
export interface Heed {
  /** Such as "0.3.0". */
  readonly version: string;
  /** Such as "simd128". */
  readonly kernel: string;
  /** Compares all results of a set of calls with the reference, bit by bit. Throws at a difference. */
  selfTest(): void;
  /** softmax(q k^T * scale) v. Throws an Error that names the argument and says what is wrong with it; a TypeError if the argument
   *  is of another type, or no option. */
  attention(call: AttentionCall): AttentionResult;
}
/** Loads the module; of other bytes than heed.wasm beside this file if they are given. */
export function load(wasm?: BufferSource): Promise<Heed>;
