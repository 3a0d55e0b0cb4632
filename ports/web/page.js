// The page: a sentence, a spoken word, a text. SPDX-License-Identifier: MIT
'use strict';

const $ = (selector, from = document) => from.querySelector(selector);
const quiet = matchMedia('(prefers-reduced-motion: reduce)').matches;
const nextFrame = () => (quiet ? Promise.resolve() : new Promise((done) => requestAnimationFrame(done)));

function complain(text) {
  $('#message').textContent = text;
  $('#message').hidden = text === '';
}

// ---------------------------------------------------------------------------------------------------------- a sentence

const dim = 32, sharpness = 8, mostWords = 24;

function unit(values) {
  const length = Math.hypot(...values);
  return length > 0 ? values.map((x) => x / length) : values.map((_, i) => (i === values.length - 1 ? 1 : 0));
}
const codes = (word) => Array.from(word.toLowerCase(), (c) => c.codePointAt(0));
function counts(places) {
  const values = new Array(dim).fill(0);
  for (const place of places) values[place % dim]++;
  return values;
}

// Each gives 32 numbers for a word at a place; words that are alike in this respect get a cosine near 1.
const heads = [
  ['the same letters', (word) => unit(counts(codes(word)))],
  ['the same pairs of letters', (word) => unit(counts(codes(` ${word} `).map((c, i, all) => c * 7 + (all[i + 1] ?? 0) * 13)))],
  ['as many letters', (word) => unit(Array.from({ length: dim }, (_, i) => Math.exp(-((Array.from(word).length - i / 2) ** 2) / 2)))],
  ['near in the sentence', (_, place) => unit(Array.from({ length: dim }, (_, i) => (i % 2 ? Math.sin : Math.cos)(place / 2 ** (i / 8))))],
];

let sentenceRun = 0;
let sentenceFigures = [];
async function attendSentence(heed) {
  const run = ++sentenceRun;
  const section = $('#sentence'), all = $('#words').value.trim().split(/\s+/).filter((word) => word !== '');
  const words = all.slice(0, mostWords), n = words.length;
  complain(all.length > mostWords ? `The sentence has ${all.length} words; the page shows the first ${mostWords}.` : '');
  $('.figures', section).replaceChildren();
  sentenceFigures = [];
  if (n === 0) return complain('Type at least one word.');
  $('.readout', section).textContent = '';
  const scale = new Scale($('.figures', section));
  sentenceFigures = heads.map(([meaning], h) => new Figure($('.figures', section), $('.readout', section), scale, {
    title: `head ${h + 1}: ${meaning}`, rows: words, columns: words, nRows: n, nColumns: n, columnName: (j) => words[j],
    name: (i, j, value) => (Number.isNaN(value) ? `"${words[i]}" does not see "${words[j]}"` : `"${words[i]}" gives ${value.toFixed(4)} to "${words[j]}"`),
  }));
  const x = heed.put(Float32Array.from(words.flatMap((word, place) => heads.flatMap(([, feature]) => feature(word, place)))));
  const weights = heed.put(new Float32Array(heads.length * n));
  const causal = $('#causal').checked;
  try {
    for (let row = 0; row < n && run === sentenceRun; row++) {
      heed.check(heed.call.sentence_row(x, n, heads.length, dim, row, causal ? 1 : 0, sharpness, weights));
      const all = heed.floats(weights, heads.length * n);
      sentenceFigures.forEach((figure, h) => figure.set(row, all.subarray(h * n, (h + 1) * n).map((w, j) => (causal && j > row ? NaN : w))));
      await nextFrame();
    }
  } finally {
    heed.release(x);
    heed.release(weights);
  }
  if (run === sentenceRun) {
    showNumbers($('details', section), () => sentenceFigures);
    section.dataset.rows = n;
  }
}

// ------------------------------------------------------------------------------------------------------------- receipts

// The text of a receipt, which heed_replay checks on any machine, as a file.
function saveReceipt(heed, section, name, run) {
  heed.attempt(run());
  const text = heed.string(heed.call.receipt_of());
  section.dataset.receipt = text;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = `${name}.receipt`;
  link.click();
  URL.revokeObjectURL(link.href);
}

// ------------------------------------------------------------------------------------------------------- a spoken word

const rate = 16000, second = rate, step = 160, frame = 480, bands = 64;

const longest = 60; // seconds that the page keeps of a sound

// Samples of all channels in turn as one channel of 16 kHz.
async function converted(samples, channels, hertz) {
  const length = samples.length / channels;
  const from = new AudioBuffer({ numberOfChannels: channels, length, sampleRate: hertz });
  for (let c = 0; c < channels; c++) from.copyToChannel(Float32Array.from({ length }, (_, i) => samples[i * channels + c] / 32768), c);
  const context = new OfflineAudioContext(1, Math.ceil((length * rate) / hertz), rate);
  const source = new AudioBufferSourceNode(context, { buffer: from });
  source.connect(context.destination);
  source.start();
  const sound = await context.startRendering();
  return Int16Array.from(sound.getChannelData(0), (x) => Math.max(-32768, Math.min(32767, Math.round(x * 32768))));
}

// Samples of a WAV file, or an Error that says what is wrong with it. The module reads what heed's programs read, and says what
// they say; the browser converts other rates and channels.
async function readWav(heed, name, buffer) {
  if (buffer.byteLength > 64 << 20) throw new Error(`${name}: is larger than 64 MB`);
  const title = heed.put(new TextEncoder().encode(`${name}\0`)), file = heed.put(new Uint8Array(buffer));
  let memory = 0;
  try {
    heed.attempt(heed.call.sound_open(title, file, buffer.byteLength));
    const channels = heed.call.sound_channels(), hertz = heed.call.sound_rate(), length = Math.min(heed.call.sound_length(), longest * hertz);
    memory = heed.put(new Int16Array(length * channels));
    heed.call.sound_read(memory, length);
    const samples = heed.shorts(memory, length * channels);
    if (channels === 1 && hertz === rate) return samples;
    try {
      return await converted(samples, channels, hertz);
    } catch (error) {
      throw new Error(`${heed.string(heed.call.sound_refusal(title))} (this browser does not: ${error.message})`);
    }
  } finally {
    for (const at of [title, file, memory]) heed.release(at);
  }
}

// Levels in dB under the loudest, (bands, frames), in bands of 125 Hz, each of four frequencies.
function spectrogram(samples, frames) {
  const period = 512, table = Float64Array.from({ length: period }, (_, i) => Math.cos((2 * Math.PI * i) / period));
  const powers = new Float64Array(bands * frames);
  const windowed = new Float64Array(frame);
  for (let f = 0; f < frames; f++) {
    for (let i = 0; i < frame; i++) windowed[i] = samples[f * step + i] * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / frame));
    for (let k = 0; k < bands * 4; k++) {
      let re = 0, im = 0;
      for (let i = 0, at = 0; i < frame; i++, at = (at + k) % period) {
        re += windowed[i] * table[at];
        im += windowed[i] * table[(at + period / 4) % period];
      }
      powers[Math.floor(k / 4) * frames + f] += re * re + im * im;
    }
  }
  const loudest = Math.max(...powers);
  return Float32Array.from(powers, (x) => (x > 0 ? Math.max(-50, 10 * Math.log10(x / loudest)) : -50));
}

let network = null;
let sounds = [];
let strips = [];

// The second of a sound that is chosen.
function chosenSecond(sound) {
  const first = Math.round(Number($('#start').value) * rate), samples = new Int16Array(second);
  samples.set(sound.samples.subarray(first, first + second));
  return { first, samples };
}

function receiptOfSound() {
  const sound = sounds[$('#clips').selectedIndex], at = network.put(chosenSecond(sound).samples);
  try {
    saveReceipt(network, $('#sound'), sound.name, () => network.call.kwt_receipt(at));
  } finally {
    network.release(at);
  }
}

function hear() {
  const section = $('#sound'), sound = sounds[$('#clips').selectedIndex];
  if (!network || !sound) return;
  const { first, samples } = chosenSecond(sound);
  const heed = network, blocks = heed.call.kwt_blocks(), frames = heed.call.kwt_frames(), tokens = frames + 1;
  const at = heed.put(samples), from = performance.now();
  heed.attempt(heed.call.kwt_hear(at));
  const time = performance.now() - from;
  heed.release(at);
  const word = heed.string(heed.call.kwt_word());
  $('.verdict', section).textContent =
    `KWT-1 hears "${word}" (${(100 * heed.call.kwt_confidence()).toFixed(1)} %) in ${sound.name}, after ${time.toFixed(1)} ms.`;
  section.dataset.word = word;
  section.dataset.logits = heed.floats(heed.call.kwt_logits(), 12).join(' ');

  const weights = heed.floats(heed.call.kwt_weights(), blocks * tokens * tokens), readout = $('.readout', section);
  const time0 = frame / 2 / rate, seconds = (j) => `${(first / rate + time0 + (j * step) / rate).toFixed(3)} s`;
  const [top, middle, all] = ['.spectrum', '.strips', '.figures'].map((place) => $(place, section));
  for (const place of [top, middle, all]) place.replaceChildren();
  const levels = new Scale(top, 'level in dB', -50, 0, greys), classes = new Scale(middle), full = new Scale(all);
  const marks = Array.from({ length: 5 }, (_, i) => [((0.2 * i) - time0) * (rate / step) + 0.5, `${(first / rate + 0.2 * i).toFixed(1)} s`]).filter(([cells]) => cells >= 0);
  new Figure(top, readout, levels, {
    title: 'spectrogram, 0 to 8 kHz', nRows: bands, nColumns: frames, rowHeight: 2.5, up: true,
    rowMarks: [[16, '2 kHz'], [32, '4 kHz'], [48, '6 kHz']], name: (i, j, value) => `${i * 125} Hz at ${seconds(j)}: ${value.toFixed(0)} dB`,
  }).set(0, spectrogram(samples, frames));
  const strip = new Figure(middle, readout, classes, {
    title: `attention of the class token, from which the word is read, in layers 1 to ${blocks}`, rows: Array.from({ length: blocks }, (_, b) => `${b + 1}`), nRows: blocks,
    nColumns: frames, rowHeight: 18, columnMarks: marks, columnName: seconds, name: (i, j, value) => `layer ${i + 1} gives ${value.toFixed(4)} to ${seconds(j)}`,
  });
  strips = [strip];
  const where = (i) => (i === 0 ? 'the class token' : seconds(i - 1));
  for (let b = 0; b < blocks; b++) {
    const block = weights.subarray(b * tokens * tokens, (b + 1) * tokens * tokens);
    strip.set(b, block.subarray(1, tokens));
    new Figure(all, readout, full, {
      title: `layer ${b + 1}`, nRows: tokens, nColumns: tokens, name: (i, j, value) => `${where(i)} gives ${value.toFixed(4)} to ${where(j)}`,
    }).set(0, block);
  }
  showNumbers($('details', section), () => strips);
}

function showSounds() {
  $('#clips').replaceChildren(...sounds.map((sound) => new Option(sound.name)));
  const usual = sounds.findIndex((sound) => sound.name === 'yes_a.wav');
  $('#clips').selectedIndex = Math.max(usual, 0);
  $('#sound').hidden = !network || sounds.length === 0;
  if (!$('#sound').hidden) chooseSound();
}

function chooseSound() {
  const length = sounds[$('#clips').selectedIndex].samples.length / rate;
  $('#start').value = 0;
  $('#start').max = Math.max(0, length - 1).toFixed(2);
  $('#startlabel').hidden = length <= 1.05;
  attempt(hear);
}

// -------------------------------------------------------------------------------------------------------------- a text

let writer = null;
let textRun = 0;

// The model that the page was made with, if it has one.
async function openLanguage(module) {
  const file = moduleBytes($('#dreams').textContent);
  if (file.length === 0) return;
  const heed = await makeHeed(module);
  heed.attempt(heed.call.dreams_load(heed.put(file), file.length));
  writer = heed;
  $('#text').hidden = false;
  await write();
}

async function write() {
  const run = ++textRun, section = $('#text'), heed = writer, most = 18;
  delete section.dataset.tokens;
  const layers = heed.call.dreams_layers(), heads = heed.call.dreams_heads(), row = heed.call.dreams_row();
  const prompt = heed.put(new TextEncoder().encode(`${$('#prompt').value}\0`));
  try {
    heed.attempt(heed.call.dreams_begin(prompt));
  } finally {
    heed.release(prompt);
  }
  const given = heed.call.dreams_given();
  if (given >= most) throw new Error(`The prompt has ${given} tokens; the page shows texts of up to ${most}.`);
  $('.figures', section).replaceChildren();
  const scale = new Scale($('.figures', section)), labels = new Array(most).fill(''), figures = [];
  for (let l = 0; l < layers; l++)
    for (let h = 0; h < heads; h++)
      figures.push(new Figure($('.figures', section), $('.readout', section), scale, {
        title: `layer ${l + 1}, head ${h + 1}`, rows: labels, columns: labels, nRows: most, nColumns: most,
        name: (i, j, value) => (Number.isNaN(value) ? 'nothing' : `"${labels[i]}" gives ${value.toFixed(4)} to "${labels[j]}"`),
      }));
  let text = '', time = 0;
  const tokens = [];
  for (let t = 0; t < most && run === textRun; t++) {
    const from = performance.now(), word = heed.call.dreams_step();
    time += performance.now() - from;
    if (word === 0) break;
    const token = heed.string(word);
    text += token;
    labels[t] = token === '' ? '(begin)' : token.replaceAll(' ', '␣');
    tokens.push(heed.call.dreams_token(t));
    const weights = heed.floats(heed.call.dreams_weights(), layers * heads * row);
    figures.forEach((figure, i) => figure.set(t, weights.subarray(i * row, i * row + t + 1)));
    $('.verdict', section).textContent = text;
    await nextFrame();
  }
  if (run !== textRun) return;
  $('.verdict', section).textContent = `${text} … (${Math.round(tokens.length / time * 1000)} tokens a second)`;
  section.dataset.tokens = tokens.join(' ');
}

// --------------------------------------------------------------------------------------------------------------- files

const attempt = async (run) => {
  try {
    complain('');
    await run();
  } catch (error) {
    complain(error.message);
  }
};

async function take(module, files) {
  const wrong = [], found = (name) => files.find((file) => file.name === name);
  const bytes = async (file) => new Uint8Array(await file.arrayBuffer());
  const model = files.find((file) => file.name.endsWith('.tflite')) ?? found('weights.bin');
  const wavs = files.filter((file) => /\.wav$/i.test(file.name)).sort((a, b) => a.name.localeCompare(b.name));
  const part = async (what, run) => {
    try {
      await run();
    } catch (error) {
      wrong.push(what === '' ? error.message : `${what}: ${error.message}`);
    }
  };
  if (model) await part(model.name, async () => {
    const heed = await makeHeed(module), data = await bytes(model), at = heed.put(data);
    heed.attempt(heed.call.kwt_load(at, data.length));
    heed.release(at);
    network = heed;
  });
  if (wavs.length > 0) {
    const heard = [], heed = await makeHeed(module);
    for (const wav of wavs) await part('', async () => heard.push({ name: wav.name, samples: await readWav(heed, wav.name, await wav.arrayBuffer()) }));
    if (heard.length > 0) sounds = heard;
  }
  if (!model && wavs.length === 0)
    wrong.push(files.length === 0 ? 'There is no file.' : 'There is neither a .tflite model nor a .wav sound among these files.');
  if (sounds.length > 0 && !network) wrong.push('There is sound, but no network to hear it: add non_stream.tflite of KWT-1.');
  if (network && sounds.length === 0) wrong.push('KWT-1 is there; add .wav files for it to hear.');
  $('#have').textContent = network ? `KWT-1 and ${sounds.length} sounds.` : 'No model yet.';
  await part('', async () => showSounds());
  complain(wrong.join('\n'));
  document.body.dataset.taken = Number(document.body.dataset.taken ?? 0) + 1;
}

// All files under what was dropped.
async function dropped(items) {
  const files = [];
  const walk = async (entry) => {
    if (entry.isFile) return files.push(await new Promise((done, fail) => entry.file(done, fail)));
    const reader = entry.createReader();
    for (let some = null; some === null || some.length > 0;) {
      some = await new Promise((done, fail) => reader.readEntries(done, fail));
      for (const inside of some) await walk(inside);
    }
  };
  const entries = Array.from(items, (item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
  for (const entry of entries) await walk(entry);
  return files;
}

// --------------------------------------------------------------------------------------------------------------- begin

async function begin() {
  const module = await WebAssembly.compile(moduleBytes($('#wasm').textContent));
  const heed = await makeHeed(module);
  $('#library').textContent = `heed ${heed.version}, kernel ${heed.kernel}`;

  const sentence = () => attendSentence(heed).catch((error) => complain(error.message));
  $('#words').addEventListener('input', sentence);
  $('#causal').addEventListener('change', sentence);
  $('#sentence details').addEventListener('toggle', (event) => showNumbers(event.target, () => sentenceFigures));
  $('#sound details').addEventListener('toggle', (event) => showNumbers(event.target, () => strips));
  $('#clips').addEventListener('change', () => attempt(chooseSound));
  $('#start').addEventListener('input', () => attempt(hear));
  $('#write').addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(write);
  });
  $('#sound .receipt').addEventListener('click', () => attempt(receiptOfSound));
  $('#text .receipt').addEventListener('click', () => attempt(() => saveReceipt(writer, $('#text'), 'text', () => writer.call.dreams_receipt())));
  for (const input of [$('#folder'), $('#some')]) input.addEventListener('change', () => take(module, Array.from(input.files)));
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  document.addEventListener('dragleave', () => document.body.classList.remove('dropping'));
  document.addEventListener('drop', async (event) => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    take(module, await dropped(event.dataTransfer.items));
  });
  await sentence();
  await attempt(() => openLanguage(module));

  const tell = (what, text) => { $(`#${what}`).textContent = text; };
  const text = `${$('#engine').textContent}\nonmessage = (event) => examine(event.data, (what, text) => postMessage([what, text]));`;
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })));
    worker.onmessage = (event) => tell(...event.data);
    worker.onerror = () => examine(module, tell);
    worker.postMessage(module);
  } catch {
    examine(module, tell);
  }
}

begin().catch((error) => complain(`This page needs WebAssembly with 128-bit vectors, which browsers have since 2023: ${error.message}`));
