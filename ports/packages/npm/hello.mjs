// node node_modules/heed/hello.mjs: a sentence of five words attends to itself. The answers are known, to the bit.
// SPDX-License-Identifier: MIT
import { load } from './heed.mjs';

const heed = await load();
heed.selfTest();
const x = new Float32Array([5, 2, 0, 0, 0, 2, 0, 5, 0, 2, 0, 0, 0, 0, 3]);
const { out } = heed.attention({ q: x, k: x, v: x, headDim: 3 });
let sum = 2166136261; // FNV-1a of all bits
for (const byte of new Uint8Array(out.buffer)) sum = Math.imul(sum ^ byte, 16777619) >>> 0;
for (let i = 0; i < 15; i += 3) console.log(' ' + [...out.slice(i, i + 3)].map((y) => y.toFixed(5)).join(' '));
const right = sum === 0x1c2353dd;
console.log(`heed ${heed.version}, kernel ${heed.kernel}, bits ${sum.toString(16)}: ${right ? 'right, as everywhere' : 'WRONG'}`);
process.exitCode = right ? 0 : 1;
