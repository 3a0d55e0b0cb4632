// node web.mjs CHROMIUM PAGE OUT: what a user does with ports/web's page, in a headless Chromium: looks at the verdicts, types, reads
// weights by keys, drops models and wrong files. The numbers behind the pictures are compared with those computed here or known.
// Pictures of the page are left in OUT. HEED_KWT1 and HEED_DREAMS: folders of models; what they are for is skipped without them.
// SPDX-License-Identifier: MIT
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [chromium, page, out] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const headless = process.env.HEED_CHROMIUM_HEADLESS ? ['--headless'] : [];
const browser = spawn(chromium, [...headless, '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${resolve(out, 'arithmetic')}`, 'about:blank'],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const giveUp = setTimeout(() => end('FAILED: nothing for two minutes', 1), 120000);
function end(text, code) {
  console.log(text);
  clearTimeout(giveUp);
  browser.kill();
  process.exitCode = code;
  setTimeout(() => process.exit(code), 200);
}

// Messages of Chromium's protocol, each ended by a zero byte.
const answers = new Map();
let number = 0, rest = '';
const console_errors = [];
browser.on('error', (error) => end(`FAILED: ${error.message}`, 1));
browser.stdio[4].on('data', (data) => {
  rest += data;
  const messages = rest.split('\0');
  rest = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    if (message.method === 'Runtime.exceptionThrown') console_errors.push(message.params.exceptionDetails.exception?.description ?? 'an exception');
    answers.get(message.id)?.(message);
    answers.delete(message.id);
  }
});
let session;
async function send(method, params = {}) {
  const id = ++number;
  const answer = new Promise((done) => answers.set(id, done));
  browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  const { result, error } = await answer;
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
async function evaluate(expression) {
  const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
  return result.value;
}
async function until(expression, what, seconds = 60) {
  for (const start = Date.now(); Date.now() - start < seconds * 1000;) {
    const value = await evaluate(expression);
    if (value) return value;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${what} did not come; the page says: ${await evaluate("document.querySelector('#message').textContent")}`);
}
async function size(width, height) {
  await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  await new Promise((done) => setTimeout(done, 300));
}
async function pictures(name) {
  for (const selector of ['header', '#sentence', '#sound', '#text']) {
    const clip = await evaluate(`{ const box = document.querySelector('${selector}').getBoundingClientRect();
      ({ x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height, scale: 1 }) }`);
    if (clip.height === 0) continue;
    const { data } = await send('Page.captureScreenshot', { captureBeyondViewport: true, clip });
    writeFileSync(resolve(out, `${name}-${selector.replace('#', '')}.png`), Buffer.from(data, 'base64'));
  }
}
let checks = 0;
function check(what, actual, right) {
  checks++;
  if (!right) throw new Error(`${what}: ${JSON.stringify(actual)}`);
}
const text = (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent`);
async function type(selector, value) {
  await evaluate(`{ const field = document.querySelector('${selector}'); delete field.closest('section').dataset.rows; field.value = ${JSON.stringify(value)};
    field.dispatchEvent(new Event('input')); }`);
}
async function press(key, code) {
  await send('Input.dispatchKeyEvent', { type: 'keyDown', key, code: key, windowsVirtualKeyCode: code });
  await send('Input.dispatchKeyEvent', { type: 'keyUp', key, code: key, windowsVirtualKeyCode: code });
}
let taken = 0;
async function give(files) {
  const { root } = await send('DOM.getDocument');
  const { nodeId } = await send('DOM.querySelector', { nodeId: root.nodeId, selector: '#some' });
  await send('DOM.setFileInputFiles', { nodeId, files });
  await until(`document.body.dataset.taken === '${++taken}'`, files.join(' '));
  return text('#message');
}
// A WAV file of a tone of 440 Hz, or what is like one; stated: the length of its data in the header.
const amplitude = 0.5, tone = (i, rate) => amplitude * Math.sin((2 * Math.PI * 440 * i) / rate);
function wav(name, { channels = 1, rate = 16000, bits = 16, kind = 1, samples = rate, stated, begin = 'RIFF', number } = {}) {
  const size = bits / 8, length = samples * channels * size, bytes = Buffer.alloc(44 + length);
  bytes.write(begin, 0);
  bytes.writeUInt32LE(36 + length, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(kind, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt32LE(rate * channels * size, 28);
  bytes.writeUInt16LE(channels * size, 32);
  bytes.writeUInt16LE(bits, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(stated ?? length, 40);
  for (let i = 0; i < samples * channels; i++) {
    const x = number ?? tone(Math.floor(i / channels), rate), at = 44 + i * size;
    if (kind === 3) bytes.writeFloatLE(x, at);
    else if (bits === 8) bytes[at] = Math.round(x * 128) + 128;
    else bytes.writeIntLE(Math.round(x * 2 ** (bits - 1)), at, size);
  }
  writeFileSync(resolve(out, name), bytes);
  return resolve(out, name);
}

async function verdicts() {
  await until("!/runs|measured|loading/.test(document.querySelector('#checks').textContent)", 'the verdicts');
  for (const [what, right] of [['library', /^heed \d+\.\d+\.\d+, kernel simd128$/], ['selftest', /^passed: \d+ kernels/],
    ['digest', /^c30d162bff6ddac7, as on every machine/], ['speed', /^[\d.]+ ms .* [\d.]+ GFLOP\/s$/]])
    check(what, await text(`#${what}`), right.test(await text(`#${what}`)));
  console.log(`self-test ${await text('#selftest')}; digest ${await text('#digest')}; ${await text('#speed')}`);
}

// Head "letters" in double precision.
function lettersOf(words) {
  const x = words.map((word) => {
    const counts = new Array(32).fill(0);
    for (const c of word) counts[c.codePointAt(0) % 32]++;
    return counts.map((n) => n / Math.hypot(...counts));
  });
  return x.map((a) => {
    const scores = x.map((b) => Math.exp(8 * a.reduce((sum, y, i) => sum + y * b[i], 0)));
    return scores.map((y) => y / scores.reduce((sum, z) => sum + z, 0));
  });
}
async function sentence() {
  await until("document.querySelector('#sentence').dataset.rows === '12'", 'the first sentence');
  await evaluate("document.querySelector('#sentence details').open = true");
  const words = ['note', 'tone', 'stone', 'is', 'tonne'];
  await type('#words', words.join(' '));
  await until("document.querySelector('#sentence').dataset.rows === '5'", 'five words');
  const cells = "Array.from(document.querySelectorAll('#sentence table')[HEAD].rows, (row) => Array.from(row.cells, (cell) => cell.textContent))";
  const table = await until(`${cells.replace('HEAD', 0)}`, 'the table');
  check('labels of the table', table[0], table[0].join() === ['', ...words].join());
  const right = lettersOf(words);
  words.forEach((word, i) => words.forEach((_, j) => check(`weight ${i} ${j}`, table[i + 1][j + 1], Math.abs(Number(table[i + 1][j + 1]) - right[i][j]) < 6e-5)));
  for (let head = 0; head < 4; head++) {
    const rows = (await evaluate(cells.replace('HEAD', head))).slice(1);
    for (const row of rows) check(`sum of head ${head}`, row, Math.abs(row.slice(1).reduce((sum, x) => sum + Number(x), 0) - 1) < 4e-4);
  }
  await evaluate("document.querySelector('#sentence canvas').focus()");
  for (const [key, code] of [['ArrowDown', 40], ['ArrowRight', 39], ['ArrowDown', 40]]) await press(key, code);
  const said = await text('#sentence .readout');
  check('what keys read', said, said.includes(`"tone" gives ${right[1][1].toFixed(4)} to "tone"`));
  await evaluate("document.querySelector('#causal').click()");
  await until("document.querySelectorAll('#sentence table')[0]?.rows[1].cells[2].textContent === ''", 'the causal sentence');
  await evaluate("document.querySelector('#causal').click(); document.querySelector('#sentence details').open = false");
  await type('#words', '');
  check('no word', await text('#message'), /at least one word/.test(await text('#message')));
  await type('#words', new Array(30).fill('word').join(' '));
  check('too many words', await text('#message'), /has 30 words; the page shows the first 24/.test(await text('#message')));
  await type('#words', 'the apple on the phone is not the apple in the garden');
}

async function wrongFiles() {
  for (const [files, right] of [
    [[wav('empty.wav', { samples: 0 })], /empty.wav: holds no samples/], [[resolve(page)], /neither a .tflite model/],
    [[wav('cut.wav', { stated: 40000 })], /cut.wav: is truncated: it ends in the middle of a chunk/],
    [[wav('law.wav', { kind: 6, bits: 8 })], /law.wav: has samples of a kind .* format 6, .* sox law.wav -r 16000 -c 1 -b 16 out.wav/],
    [[wav('nan.wav', { kind: 3, bits: 32, number: NaN })], /nan.wav: has a sample that is infinite, or not a number/],
    [[wav('turned.wav', { begin: 'RIFX' })], /turned.wav: is a WAV file of the other byte order \(RIFX\).* sox turned.wav/],
    [[wav('large.wav', { begin: 'RF64' })], /large.wav: is a WAV file of the kind for more than 4 GB \(RF64\).* sox large.wav/],
    [[wav('slow.wav', { rate: 100 })], /slow.wav: has another rate.* 100 Hz.* sox slow.wav .*this browser does not/]])
    check('refusal', [files, await text('#message')], right.test(await give(files)));
  const noise = resolve(out, 'noise.tflite'), text_file = resolve(out, 'text.wav');
  for (const file of [noise, text_file]) writeFileSync(file, 'this is no model and no sound, and longer than a header of any of these: '.repeat(4));
  check('a model of noise', '', /noise.tflite: .+/.test(await give([noise])));
  check('a text as a sound', '', /text.wav: is not a WAV file/.test(await give([text_file])));
}

// Files that heed's programs take, too, and files that the browser converts: a tone of one second.
async function sounds() {
  for (const [name, kind, error] of [
    ['right.wav', {}, 1e-4], ['pipe.wav', { stated: 0xffffffff }, 1e-4], ['zero.wav', { stated: 0 }, 1e-4], ['bytes.wav', { bits: 8 }, 0.005],
    ['deep.wav', { bits: 24 }, 1e-4], ['words.wav', { bits: 32 }, 1e-4], ['floats.wav', { kind: 3, bits: 32 }, 1e-4],
    ['stereo.wav', { channels: 2 }, 0.01], ['fast.wav', { rate: 44100 }, 0.01], ['cd.wav', { channels: 2, rate: 44100, bits: 24 }, 0.01]]) {
    const said = await give([wav(name, kind)]);
    check(`${name} without a network`, said, /^There is sound, but no network to hear it/.test(said));
    const heard = await evaluate('Array.from(sounds[0].samples)');
    check(`${name}: its length`, heard.length, heard.length === 16000);
    const worst = Math.max(...heard.slice(1000, 15000).map((x, i) => Math.abs(x / 32768 - tone(i + 1000, 16000))));
    check(`${name}: its greatest error`, worst, worst <= error);
  }
}

async function sound(folder) {
  const clips = readdirSync(`${folder}/clips`).filter((name) => name.endsWith('.wav'));
  check('messages', await text('#message'), (await give([`${folder}/non_stream.tflite`, ...clips.map((name) => `${folder}/clips/${name}`)])) === '');
  const lines = readFileSync(`${folder}/expected.tsv`, 'utf8').trim().split('\n').slice(1).map((line) => line.split('\t'));
  const section = "document.querySelector('#sound')";
  let worst = 0;
  for (const [name, , predicted, ...logits] of lines) {
    await evaluate(`{ const list = document.querySelector('#clips'); list.selectedIndex = Array.from(list.options).findIndex((o) => o.text === '${name}');
      list.dispatchEvent(new Event('change')); }`);
    const word = await evaluate(`${section}.dataset.word`), actual = (await evaluate(`${section}.dataset.logits`)).split(' ').map(Number);
    check(name, word, word === predicted);
    logits.forEach((logit, i) => { worst = Math.max(worst, Math.abs(Number(logit) - actual[i])); });
  }
  check('greatest error of a logit', worst, worst < 1e-4);
  await evaluate("{ const list = document.querySelector('#clips'); list.selectedIndex = Array.from(list.options).findIndex((o) => o.text === 'yes_a.wav'); list.dispatchEvent(new Event('change')); }");
  await receipt('sound', 'sound', `${folder}/non_stream.tflite`, `${folder}/clips/yes_a.wav`);
  const sums = await evaluate("strips[0].values.length === 12 * 98 && Math.max(...Array.from({ length: 12 }, (_, i) => strips[0].values.slice(i * 98, i * 98 + 98).reduce((a, b) => a + b)))");
  check('weights of the class token', sums, sums > 0.5 && sums <= 1.00001);
  console.log(`KWT-1: ${lines.length} clips as expected, logits within ${worst.toExponential(1)}; ${await text('#sound .verdict')}`);
}

// What the button saves, as heed_replay of this machine checks it.
async function receipt(section, name, ...words) {
  await evaluate(`{ delete document.querySelector('#${section}').dataset.receipt; document.querySelector('#${section} .receipt').click(); }`);
  await until(`document.querySelector('#${section}').dataset.receipt`, 'the receipt');
  const file = resolve(out, `${name}.receipt`), [model, ...inputs] = words;
  writeFileSync(file, await evaluate(`document.querySelector('#${section}').dataset.receipt`));
  const replay = process.env.HEED_REPLAY;
  if (!replay) return;
  const { stdout, stderr } = spawnSync(replay, [model, file, ...inputs], { encoding: 'utf8' });
  check(`${name}'s receipt`, stdout + stderr, stdout.startsWith('equal: ') && stdout.includes('no-fma'));
  console.log(`${name}: ${stdout.trim()}`);
}

async function language(folder) {
  await until("document.querySelector('#text').hidden === false", 'the language model');
  const expected = readFileSync(`${folder}/expected.txt`, 'utf8').split('\n');
  const tokens = expected[expected.indexOf('prompt The light') + 2].split(' ').slice(1, 19).join(' ');
  await evaluate("document.querySelector('#prompt').value = 'The light'; document.querySelector('#write button').click()");
  await until(`document.querySelector('#text').dataset.tokens === '${tokens}'`, 'the expected text');
  checks++;
  await receipt('text', 'text', folder);
  console.log(`language model: 18 tokens as expected; ${await text('#text .verdict')}`);
}

async function run() {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  ({ sessionId: session } = await send('Target.attachToTarget', { targetId, flatten: true }));
  for (const domain of ['Page', 'Runtime', 'DOM']) await send(`${domain}.enable`);
  await size(1200, 900);
  await send('Page.navigate', { url: pathToFileURL(resolve(page)).href });
  await until("document.readyState === 'complete' && typeof begin === 'function'", 'the page');
  await verdicts();
  await sentence();
  await wrongFiles();
  await sounds();
  const { HEED_KWT1: kwt, HEED_DREAMS: dreams } = process.env;
  if (kwt) await sound(kwt);
  else console.log('no KWT-1: HEED_KWT1 names no folder');
  if (dreams) await language(dreams);
  else console.log('no language model: HEED_DREAMS names no folder');
  await pictures('wide');
  await size(360, 780);
  const overflow = await evaluate('document.documentElement.scrollWidth');
  check('width on a phone', overflow, overflow <= 360);
  await pictures('phone');
  check('exceptions', console_errors, console_errors.length === 0);
  end(`${checks} checks passed; pictures of the page lie in ${out}`, 0);
}
run().catch((error) => end(`FAILED: ${error.message}`, 1));
