// node node_modules/heed/classifier.mjs [WORD...]: words with a wrong letter are recognised, in integers, by a module of WebAssembly
// that holds its model (classifier.wasm). Without words: those whose answers are known, to the bit. SPDX-License-Identifier: MIT
import { readFile } from 'node:fs/promises';
import { load } from './heed.mjs';

const { instance } = await WebAssembly.instantiate(await readFile(new URL('classifier.wasm', import.meta.url)), {});
const model = instance.exports;
const text = (address) => {
  const bytes = new Uint8Array(model.memory.buffer, address);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
};
function recognise(word) {
  const bytes = new TextEncoder().encode(word).slice(0, model.text_bytes() - 1);
  new Uint8Array(model.memory.buffer, model.text(), bytes.length + 1).set([...bytes, 0]);
  const found = model.recognise();
  if (found === 0) throw new Error(text(model.failure()));
  return { word: text(found), scores: new Int8Array(model.memory.buffer, model.scores_of(), model.n_scores()).slice() };
}

const typed = process.argv.slice(2);
let sum = 2166136261; // FNV-1a of all scores
for (const word of typed.length ? typed : ['onn', 'of', 'lefft', 'rigth', 'upp', 'dwon', 'stpo', 'gp']) {
  const found = recognise(word);
  for (const score of found.scores) sum = Math.imul(sum ^ (score & 255), 16777619) >>> 0;
  console.log(`${word}: ${found.word}`);
}
if (typed.length === 0) {
  const right = sum === 0xc21c1370;
  console.log(`heed ${(await load()).version}, bits ${sum.toString(16)}: ${right ? 'right, as everywhere' : 'WRONG'}`);
  process.exitCode = right ? 0 : 1;
}
