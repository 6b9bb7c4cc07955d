// SPDX-License-Identifier: MIT
//
// llama.cpp by node-llama-cpp, `node llama_cpp.mjs FOLDER MODEL.gguf THREADS STEPS`: for each line of standard input a greedy text of
// STEPS tokens from BOS on.  A line of JSON each: the tokens, and the milliseconds that they took.
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, file, threads, steps] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(path.resolve(folder, "node_modules/node-llama-cpp/dist/index.js")));
const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, progressLogs: false, maxThreads: Number(threads), logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: path.resolve(file), gpuLayers: 0 });
const context = await model.createContext({ contextSize: 256, batchSize: 32, threads: Number(threads) });
const sequence = context.getSequence();

for await (const _ of readline.createInterface({ input: process.stdin })) {
  await sequence.clearHistory();
  const tokens = [];
  const begin = process.hrtime.bigint();
  for await (const token of sequence.evaluate([model.tokens.bos], { temperature: 0, yieldEogToken: true })) {
    tokens.push(token);
    if (tokens.length >= Number(steps)) break;
  }
  const milliseconds = Number(process.hrtime.bigint() - begin) / 1e6;
  process.stdout.write(JSON.stringify({ tokens, milliseconds }) + "\n");
}
process.exit(0);
