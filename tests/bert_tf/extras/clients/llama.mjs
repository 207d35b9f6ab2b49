// Asks node-llama-cpp: `node --input-type=module -e SCRIPT FILE TEXTS OUTPUT COUNT` beside its node_modules, FILE a .gguf, TEXTS a
// list of strings; writes {vectors of the first COUNT, tokens}, without [CLS] and [SEP].
import fs from "node:fs";

// It tries its library in a process of its own, which would run this script again.
process.execArgv.length = 0;
const { getLlama, LlamaLogLevel } = await import("node-llama-cpp");
const [file, list, output, count] = process.argv.slice(1);
const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createEmbeddingContext();
const texts = JSON.parse(fs.readFileSync(list, "utf8"));
const vectors = [];
for (const text of texts.slice(0, Number(count))) vectors.push((await context.getEmbeddingFor(text)).vector);
fs.writeFileSync(output, JSON.stringify({ vectors, tokens: texts.map((text) => model.tokenize(text)) }));
process.exit(0);
