// node npm_graphs.mjs NAME GRAPH INPUT=DIMENSIONS...: writes numbers for ./program, runs it, and compares its outputs with those of ONNX
// Runtime: their greatest difference is at most 1e-4 of the greatest number, or of 1. SPDX-License-Identifier: MIT
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';

const ort = createRequire(process.cwd() + '/')('onnxruntime-node');
const [name, graph, ...inputs] = process.argv.slice(2);
const session = await ort.InferenceSession.create(graph, { logSeverityLevel: 3 });
const feeds = {};
const given = [];
inputs.forEach((input, which) => {
  const [key, dims] = input.split('=');
  const shape = dims.split(',').map(Number);
  const numbers = new Float32Array(shape.reduce((a, b) => a * b));
  for (let i = 0; i < numbers.length; ++i) numbers[i] = ((i * 7919 + which * 131) % 1000) / 500 - 1;
  feeds[key] = new ort.Tensor('float32', numbers, shape);
  given.push(Buffer.from(numbers.buffer));
});
if (session.inputNames.includes('sr')) feeds.sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
fs.writeFileSync('inputs', Buffer.concat(given));
execFileSync('./program', { stdio: 'inherit' });
const bytes = fs.readFileSync('outputs');
const ours = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const outputs = await session.run(feeds);
let at = 0, greatest = 0, largest = 1;
for (const output of session.outputNames)
  for (const number of outputs[output].data) {
    greatest = Math.max(greatest, Math.abs(number - ours[at++]));
    largest = Math.max(largest, Math.abs(number));
  }
const good = at === ours.length && greatest <= 1e-4 * largest;
console.log(`${name}: ${at} numbers up to ${largest.toPrecision(3)}, greatest difference ${greatest.toPrecision(2)}`);
if (!good) console.log(`${name} differs from ONNX Runtime, or has ${ours.length} numbers`);
process.exit(good ? 0 : 1);
