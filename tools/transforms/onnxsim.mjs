// The simplifier onnxsim from npm, as a tool for engine files (docs/engines.md): node onnxsim.mjs NODE_MODULES IN OUT
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [modules, from, to] = process.argv.slice(2);
console.log = console.error;
try {
    const { simplify } = await import(pathToFileURL(`${modules}/onnxsim/index.mjs`));
    const { model } = await simplify(await readFile(from));
    await writeFile(to, model);
    process.exit(0); // its threads would stay
} catch (error) {
    console.error(String(error && error.message ? error.message : error).replaceAll("\n", " "));
    process.exit(1);
}
