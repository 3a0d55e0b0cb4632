// Texts for tests/tokenizers.sh, what other implementations make of them, and what differs.
//   node tokenizers.mjs texts N SEED         N strings of JSON, one on each line: languages, code, emoji, digits, random characters
//   node tokenizers.mjs reference JSON FILE  tokens of each, by Hugging Face's library
//   node tokenizers.mjs bert VOCABULARY      tokenizer.json of a WordPiece vocabulary
//   node tokenizers.mjs unigram MODEL        tokenizer.json of a model of SentencePiece
//   node tokenizers.mjs compare OURS THEIRS TEXTS
// SPDX-License-Identifier: MIT
import fs from 'node:fs';
import { createRequire } from 'node:module';

const [command, ...args] = process.argv.slice(2);
const lines_of = (path) => fs.readFileSync(path, 'utf8').split('\n').slice(0, -1);

// ------------------------------------------------------------------------------------------------------------------ texts

const words = `the of and to in is you that it he was for on are as with his they I at be this have from one had by word but
not what all were we when your can said there use an each which she do how their Hello World NASA iPhone McDonald's don't
I'm we'll they've you're it's HE'S I'D Straße größer naïve café résumé Übermut façade señor niño jalapeño crème brûlée
Москва привет мир как дела Ελλάδα καλημέρα κόσμε שלום עולם مرحبا بالعالم नमस्ते दुनिया สวัสดีชาวโลก こんにちは世界 東京タワー
你好世界 中文分词测试 안녕하세요 세계 Tiếng Việt ngôn ngữ İstanbul ığdır ǅungla ŉ ﬁne ①②③ Ⅷ ½ ²³ x² H₂O 10³ ٣٤٥ १२३ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟘𝟙𝟚
ｆｕｌｌｗｉｄｔｈ ﷺ ㎏ ㍿ 'ſ 'S 'LL ''re`.split(/\s+/);
const code = ['for (int i = 0; i < n; ++i) {', '\treturn x[i] * 2;', '#include <stdio.h>', 'def f(self, *args):', '    if x == None:',
  'std::vector<std::string>', 'a->b.c[0]', 'https://example.com/a?b=c&d=e#f', '/usr/local/bin', 'C:\\Users\\me', '{"a": [1, 2.5e-3, null]}',
  '<div class="x">&nbsp;</div>', '$100,000.00', '3.14159', '1234567890', '2026-11-29T06:03:39Z', '0xDEADBEEF', 'camelCaseWord',
  'SCREAMING_SNAKE', 'XMLHttpRequest', 'a//b///c', '\n\n/\n'];
const others = ['😀', '👨‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '👍🏽', '❤️', '☕', '™', '…', '—', '“quoted”', '¿qué?', '«guillemets»', '、', '。', '！', '？', '・', '\u200b',
  '\u200d', '\ufeff', '\u00ad', '\u00a0', '\u3000', '\u2028', '\u0085', '\t', '\r\n', '\n', '\n\n', '  ', '   ', ' \n ', '\n   \n', '\u0301',
  'e\u0301', 'a\u0323\u0302', '\u1100\u1161\u11a8', '각', 'क्षि', '\u0007', '\ufffd', '▁', '▁▁', 'Ġ', '##', '[MASK]', '<s>', '</s>',
  '<|endoftext|>', '<|im_start|>', '<pad>', '<bos>', '<unk>', '<0x0A>'];
const between = [' ', ' ', ' ', ' ', '', '  ', '\n', '\t', ', ', '. ', '! ', ': ', '-', '_', "'", '"'];

function texts(n, seed) {
  const random = (below) => {
    seed ^= seed << 13, seed >>>= 0, seed ^= seed >>> 17, seed ^= seed << 5, seed >>>= 0;
    return seed % below;
  };
  const one_of = (list) => list[random(list.length)];
  const ranges = [[32, 95], [32, 95], [0xa0, 0x500], [1, 0x2fff], [0x3000, 0xd000], [0x10000, 0x20000], [0x300, 0x70], [1, 0x10ffff]];
  const characters = () => {
    let text = '';
    for (let i = 0, end = 1 + random(12); i < end; ++i) {
      const [first, many] = one_of(ranges), c = first + random(many);
      text += String.fromCodePoint(c >= 0xd800 && c < 0xe000 ? 0x41 : c);
    }
    return text;
  };
  for (let i = 0; i < n; ++i) {
    let text = '';
    for (let k = 0, end = 1 + random(14); k < end; ++k) {
      const kind = random(20);
      text += kind < 11 ? one_of(words) : kind < 14 ? one_of(code) : kind < 17 ? one_of(others) : kind < 18 ? random(1e9) : characters();
      text += one_of(between);
    }
    console.log(JSON.stringify(text));
  }
}

// ------------------------------------------------------------------------------------------------------------- references

async function reference(json, path) {
  const { Tokenizer } = createRequire(`${process.cwd()}/`)('@anush008/tokenizers');
  const tokenizer = Tokenizer.fromFile(json);
  for (const line of lines_of(path)) {
    const encoded = await tokenizer.encode(JSON.parse(line), null, { addSpecialTokens: true });
    console.log(encoded.getIds().join(','));
  }
}

const special = (id, content) => ({ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false });
const around = (before, after) => {
  const piece = (token) => ({ SpecialToken: { id: token[0], type_id: 0 } });
  const single = [...before.map(piece), { Sequence: { id: 'A', type_id: 0 } }, ...after.map(piece)];
  const special_tokens = Object.fromEntries([...before, ...after].map(([name, id]) => [name, { id: name, ids: [id], tokens: [name] }]));
  return { type: 'TemplateProcessing', single, pair: [...single, { Sequence: { id: 'B', type_id: 1 } }], special_tokens };
};

function bert(path) {
  const listed = JSON.parse(fs.readFileSync(path));
  const vocab = Array.isArray(listed) ? Object.fromEntries(listed.map((token, id) => [token, id])) : listed;
  const added = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
  console.log(JSON.stringify({
    version: '1.0', truncation: null, padding: null, added_tokens: added.map((name) => special(vocab[name], name)),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: around([['[CLS]', vocab['[CLS]']]], [['[SEP]', vocab['[SEP]']]]),
    decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
    model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab }
  }));
}

// Fields of a message of protobuf, as pairs of a number and a value.
function fields(buffer) {
  const all = [];
  let at = 0;
  const varint = () => {
    for (let value = 0n, shift = 0n;; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(value);
    }
  };
  while (at < buffer.length) {
    const key = varint(), type = key & 7;
    const n = type === 0 ? 0 : type === 2 ? varint() : type === 5 ? 4 : 8;
    all.push([key >> 3, type === 0 ? varint() : buffer.subarray(at, at + n)]);
    at += n;
  }
  return all;
}

function unigram(path) {
  const vocab = [];
  let map = '';
  for (const [field, value] of fields(fs.readFileSync(path))) {
    const inner = field === 1 || field === 3 ? Object.fromEntries(fields(value)) : {};
    if (field === 1) vocab.push([inner[1].toString('utf8'), inner[2].readFloatLE()]);
    if (field === 3) map = inner[2].toString('base64');
  }
  const metaspace = { type: 'Metaspace', replacement: '▁', add_prefix_space: true };
  console.log(JSON.stringify({
    version: '1.0', truncation: null, padding: null, added_tokens: [0, 1, 2].map((id) => special(id, vocab[id][0])),
    normalizer: { type: 'Precompiled', precompiled_charsmap: map },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    post_processor: around([], [['</s>', 2]]), decoder: metaspace, model: { type: 'Unigram', unk_id: 0, vocab }
  }));
}

// ---------------------------------------------------------------------------------------------------------------- compare

// What is known to differ, with its reason; such texts count apart.
//   Characters that came after Unicode 8: Hugging Face's tables of punctuation, marks and form C are older than utf8proc's, and its classes of
//   letters newer.
//   Its map of SentencePiece leaves characters of several code points that are longer than six bytes, and takes U+2581 for text.
const later = /[\u061d\u07fd\u0890\u0891\u0898-\u089f\u08ca-\u08e2\u09fd-\u09fe\u0a76\u0afa-\u0aff\u0b55\u0c04\u0c3c\u0c77\u0c84\u0d00\u0d3b\u0d3c\u0d81\u0eba\u0ece\u166d\u1734\u180f\u1885\u1886\u1abf-\u1ace\u1b7d\u1b7e\u1df6-\u1dfb\u2e43-\u2e5d\ua82c\ua8c5\ua8ff\ua9bd\u{10d24}-\u{11fff}\u{12ff1}-\u{1e95f}]/u;
const composed = /▁|[\u1100-\u11ff]|\p{M}/u;

function compare(ours, theirs, texts_path, known) {
  const [a, b, texts] = [ours, theirs, texts_path].map(lines_of);
  let n_known = 0, n_bad = 0;
  const expected = known === 'later' ? later : known === 'composed' ? composed : null;
  texts.forEach((text, i) => {
    if (a[i] === b[i]) return;
    if (expected && expected.test(JSON.parse(text))) return void ++n_known;
    if (n_bad++ < 3) console.log(`${text}\n  ours   ${a[i]}\n  theirs ${b[i]}`);
  });
  console.log(`${texts.length} texts, ${n_bad} differ${n_known ? `, ${n_known} more for a known reason` : ''}`);
  process.exitCode = n_bad > 0 || a.length !== texts.length || b.length !== texts.length ? 1 : 0;
}

if (command === 'texts') texts(Number(args[0]), Number(args[1]));
else if (command === 'reference') await reference(...args);
else if (command === 'bert') bert(args[0]);
else if (command === 'unigram') unigram(args[0]);
else if (command === 'compare') compare(...args);
else throw new Error(`${command} is no command`);
