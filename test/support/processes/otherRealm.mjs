/**
 * Runs the built package in a realm of its own, as test runners do: node --experimental-vm-modules otherRealm.mjs
 * <root> <kind>. What is loaded there, dependencies included, has its own Error, Promise, Map and arrays; `node:`
 * modules stay those of this realm, and so do the errors and buffers that they make.
 *
 *   "runner"   as jest's Node environment: shares ArrayBuffer and Uint8Array, and all that is Node's own
 *   "bare"     as a plain `node:vm` context: shares what is Node's own, and no class of the language
 *
 *   worker → parent    what `realmScenario.mjs` found, or { fault }
 */

import { readFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import vm from "node:vm";

const [root, kind] = process.argv.slice(2);

const context = vm.createContext();
const inner = vm.runInContext("globalThis", context);
const languageNames = new Set(Object.getOwnPropertyNames(inner));
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (languageNames.has(name) || name === "global") continue;
  // Some members insist on being read from their own global object.
  Object.defineProperty(inner, name, { get: () => globalThis[name], configurable: true });
}
inner.global = inner;
if (kind === "runner") Object.assign(inner, { ArrayBuffer, Uint8Array });

const isBuiltin = (specifier) => specifier.startsWith("node:") || builtinModules.includes(specifier);

/** "module" or "commonjs", as the nearest package says. */
function formatOf(file) {
  if (file.endsWith(".mjs")) return "module";
  if (file.endsWith(".cjs")) return "commonjs";
  for (let directory = path.dirname(file); ; directory = path.dirname(directory)) {
    try {
      return JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8")).type ?? "commonjs";
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
}

const loaded = new Map();
function requireFile(file) {
  const known = loaded.get(file);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(file, module);
  if (file.endsWith(".json")) {
    module.exports = JSON.parse(readFileSync(file, "utf8"));
    return module.exports;
  }
  const { resolve } = createRequire(file);
  const require = (specifier) =>
    isBuiltin(specifier) ? createRequire(file)(specifier) : requireFile(resolve(specifier));
  const parameters = ["exports", "require", "module", "__filename", "__dirname"];
  vm.compileFunction(readFileSync(file, "utf8"), parameters, {
    filename: file,
    parsingContext: context,
  }).call(module.exports, module.exports, require, module, file, path.dirname(file));
  return module.exports;
}

/** A module whose exports are the members of an object. */
function moduleOf(identifier, exports) {
  const names = [...new Set(["default", ...Object.keys(exports)])];
  return new vm.SyntheticModule(
    names,
    function () {
      for (const name of names) this.setExport(name, name === "default" ? exports : exports[name]);
    },
    { identifier, context },
  );
}

const modules = new Map();
function moduleAt(specifier, referrer) {
  const require = createRequire(referrer);
  const key = isBuiltin(specifier) ? specifier : require.resolve(specifier);
  let module = modules.get(key);
  if (module === undefined) {
    if (isBuiltin(specifier)) module = moduleOf(key, require(specifier));
    else if (formatOf(key) === "commonjs") module = moduleOf(key, requireFile(key));
    else {
      module = new vm.SourceTextModule(readFileSync(key, "utf8"), {
        identifier: key,
        context,
        initializeImportMeta: (meta) => {
          meta.url = pathToFileURL(key).href;
        },
      });
    }
    modules.set(key, module);
  }
  return module;
}

try {
  const scenario = moduleAt(fileURLToPath(new URL("realmScenario.mjs", import.meta.url)), import.meta.url);
  await scenario.link((specifier, referencing) => moduleAt(specifier, referencing.identifier));
  await scenario.evaluate();
  const outer = { realm: globalThis, arrow: createRequire(import.meta.url)("apache-arrow") };
  process.send(await scenario.namespace.run(root, outer));
} catch (error) {
  process.send({ fault: String(error?.stack ?? error) });
}
process.disconnect();
