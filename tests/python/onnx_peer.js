// SPDX-License-Identifier: MIT
//
// onnxruntime on models that lines of standard input name: {"model": FILE, "threads": N, "rounds": N, "inputs": {NAME: {"type",
// "dims", "data": base64}}}.  A line of JSON each: the outputs in the same form, and the milliseconds of each round; or "error".
"use strict";
const ort = require("onnxruntime-node");
const arrays = {
  float32: Float32Array, int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array,
};

async function run(asked) {
  const session = await ort.InferenceSession.create(asked.model, {
    intraOpNumThreads: asked.threads, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  const inputs = {}, outputs = {}, milliseconds = [];
  for (const [name, { type, dims, data }] of Object.entries(asked.inputs)) {
    const bytes = new Uint8Array(Buffer.from(data, "base64"));
    inputs[name] = new ort.Tensor(type, new arrays[type](bytes.buffer), dims);
  }
  let made;
  for (let round = 0; round < asked.rounds; round++) {
    const begin = process.hrtime.bigint();
    made = await session.run(inputs);
    milliseconds.push(Number(process.hrtime.bigint() - begin) / 1e6);
  }
  for (const [name, { type, dims, data }] of Object.entries(made))
    outputs[name] = { type, dims, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
  await session.release();
  return { outputs, milliseconds };
}

(async () => {
  const lines = require("readline").createInterface({ input: process.stdin });
  for await (const line of lines) {
    let answer;
    try {
      answer = await run(JSON.parse(line));
    } catch (reason) {
      answer = { error: String(reason) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
})();
