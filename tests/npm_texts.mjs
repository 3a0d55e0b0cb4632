// node npm_texts.mjs NAME FOLDER TOKENIZER: FOLDER has a model of TensorFlow.js that makes embeddings of texts, TOKENIZER is the module that
// makes its tokens. ./program prints the tokens and the embedding of each line that it reads: they are those of TensorFlow.js, which
// computes each text by itself, to 1e-6. SPDX-License-Identifier: MIT
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(process.cwd() + '/');
console.warn = () => {}; // it names its faster backend
const tf = require('@tensorflow/tfjs-core');
require('@tensorflow/tfjs-backend-cpu');
const converter = require('@tensorflow/tfjs-converter');
const [name, folder, tokenizer] = process.argv.slice(2);
const { Tokenizer } = require(tokenizer);
const sentences = [
  'How old are you?', 'What is your age?', 'a', 'Hello, world!', 'The quick brown fox jumps over the lazy dog.',
  'It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife.',
  'na\u00efve caf\u00e9, r\u00e9sum\u00e9 and cafe\u0301', 'two  blanks and one behind ', ' one before', '\u65e5\u672c is unknown \u2026 \u00bd \uff21\uff22\uff23',
  'e-mail: someone@example.com, 12,345.67 $ (50%)', '\ufb01ne \u2122 x\u00b2 \u00c5ngstr\u00f6m A\u030angstro\u0308m', 'THIS IS LOUD', '\u{1f600} smiles',
];
const manifest = JSON.parse(fs.readFileSync(`${folder}/model.json`));
const weightSpecs = manifest.weightsManifest.flatMap((group) => group.weights);
const shards = manifest.weightsManifest.flatMap((group) => group.paths).map((path) => fs.readFileSync(`${folder}/${path}`));
const all = Buffer.concat(shards);
const weightData = all.buffer.slice(all.byteOffset, all.byteOffset + all.length);
const model = await converter.loadGraphModel({
  load: async () => ({ modelTopology: manifest.modelTopology, weightSpecs, weightData, signature: manifest.signature }),
});
const official = new Tokenizer(JSON.parse(fs.readFileSync(`${folder}/vocab.json`)));
const lines = execFileSync('./program', { input: sentences.join('\n') + '\n', maxBuffer: 1 << 26 }).toString().trim().split('\n');
let greatest = 0, bad = lines.length !== 2 * sentences.length;
for (let i = 0; i < sentences.length && !bad; ++i) {
  const tokens = official.encode(sentences[i]), ours = lines[2 * i].trim().split(' ').map(Number);
  if (tokens.join() !== ours.join()) {
    console.log(`${name}: "${sentences[i]}" has the tokens ${tokens}, not ${ours}`);
    bad = true;
  }
  const indices = tf.tensor2d(tokens.map((_, place) => [0, place]), [tokens.length, 2], 'int32');
  const embedding = await model.executeAsync({ indices, values: tf.tensor1d(tokens, 'int32') });
  const expected = await embedding.data(), found = lines[2 * i + 1].trim().split(' ').map(Number);
  if (expected.length !== found.length) bad = true;
  for (let k = 0; k < expected.length; ++k) greatest = Math.max(greatest, Math.abs(expected[k] - found[k]));
}
console.log(`${name}: ${sentences.length} texts, greatest difference ${greatest.toPrecision(2)}`);
if (bad || !(greatest <= 1e-6)) console.log(`${name} differs from TensorFlow.js`);
process.exit(bad || !(greatest <= 1e-6) ? 1 : 0);
