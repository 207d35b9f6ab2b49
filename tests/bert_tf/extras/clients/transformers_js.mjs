// Asks transformers.js: `node --input-type=module -e SCRIPT REQUESTS OUTPUT` beside its node_modules; requests and
// answers are those of python_clients.py.
import fs from "node:fs";
import path from "node:path";
import { env, pipeline, softmax } from "@huggingface/transformers";

const TASKS = {
  features: "feature-extraction", vectors: "feature-extraction", classification: "text-classification",
  pairs: "text-classification", regression: "text-classification", token_classification: "token-classification",
  question_answering: "question-answering", fill_mask: "fill-mask",
};
env.allowRemoteModels = false;
const found = {};
for (const [name, { directory, inputs }] of Object.entries(JSON.parse(fs.readFileSync(process.argv[1], "utf8")))) {
  if (!(name in TASKS)) continue;
  env.localModelPath = path.dirname(directory);
  const ask = await pipeline(TASKS[name], path.basename(directory), { dtype: "fp32", device: "cpu" });
  found[name] = [];
  for (const [text, second] of inputs) {
    let answer;
    if (TASKS[name] === "feature-extraction") {
      answer = (await ask(text, { pooling: "mean", normalize: name === "vectors" })).tolist()[0];
    } else if (second && name !== "question_answering") {
      // Its pipeline takes no pairs.
      const { logits } = await ask.model(ask.tokenizer(text, { text_pair: second, truncation: true }));
      answer = name === "regression" ? Array.from(logits.data) : softmax(Array.from(logits.data));
    } else if (name === "classification") {
      const ids = ask.model.config.label2id;
      answer = (await ask(text, { top_k: null })).sort((a, b) => ids[a.label] - ids[b.label]).map((one) => one.score);
    } else if (name === "token_classification") {
      answer = (await ask(text, { ignore_labels: [] })).map((one) => one.entity);
    } else if (name === "question_answering") {
      answer = (await ask(text, second)).answer.replaceAll(" ", "");
    } else {
      answer = Object.fromEntries((await ask(text)).map((one) => [one.token_str, one.score]));
    }
    found[name].push(answer);
  }
}
fs.writeFileSync(process.argv[2], JSON.stringify(found));
