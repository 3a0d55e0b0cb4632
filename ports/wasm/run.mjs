// node --no-warnings run.mjs PROGRAM [ARGUMENT...]: runs a WASI program, which may read and write all files: their names begin with /. SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const args = process.argv.slice(2);
const preopens = { '/': '/' };
const wasi = new WASI({ version: 'preview1', args, env: process.env, preopens, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(args[0]), { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
