/**
 * Bundles the modules that tsc wrote into the package's entry points: one file each, and one for what they share, as ES
 * modules and as CommonJS. Small dependencies are included, because finding hundreds of files takes longer than running
 * them. apache-arrow is not, because tables are exchanged in its classes; nor are hono and zod, which only
 * `tiltyard/rest` needs.
 */

import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defineConfig } from "rolldown";

const DIST = "dist";
/** Dependencies that are included. jose has ES modules only, which CommonJS can't load everywhere. */
const INSIDE = ["@bufbuild/protobuf", "fs-extra", "jose", "proper-lockfile"];

const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
const outside = Object.keys(dependencies).filter((name) => !INSIDE.includes(name));

const output = (format, extension) => ({
  format,
  dir: join(DIST, format),
  entryFileNames: `[name].${extension}`,
  chunkFileNames: `shared.${extension}`,
  sourcemap: true,
  comments: { legal: true, annotation: true, jsdoc: false },
});

/** Writes the licences of the included packages beside the bundles. */
const licences = {
  name: "licences",
  async writeBundle(_, bundle) {
    const packages = new Set();
    for (const { modules = {} } of Object.values(bundle)) {
      for (const id of Object.keys(modules)) {
        const found = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id);
        if (found !== null) packages.add(found[1].replace(/^\0/, ""));
      }
    }
    const texts = [];
    for (const directory of [...packages].sort()) {
      const { name, version, license } = JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
      const file = (await readdir(directory)).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? license : await readFile(join(directory, file), "utf8");
      texts.push(`${name} ${version}\n\n${text.trim()}\n`);
    }
    await writeFile(join(DIST, "third-party-licences.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
  },
};

/** Copies the declarations to a directory whose modules are CommonJS: compilers take them for those of `require`. */
const commonJsTypes = {
  name: "common-js-types",
  async writeBundle() {
    const target = join(DIST, "cjs", "types");
    const skipped = [join(DIST, "cjs"), join(DIST, "esm")];
    for (const entry of await readdir(DIST, { recursive: true, withFileTypes: true })) {
      if (!entry.name.endsWith(".d.ts") || skipped.some((each) => entry.parentPath.startsWith(each))) continue;
      const file = join(target, entry.parentPath.slice(DIST.length), entry.name);
      await mkdir(dirname(file), { recursive: true });
      await copyFile(join(entry.parentPath, entry.name), file);
    }
    await writeFile(join(target, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
  },
};

const bundle = (names, plugins) => ({
  input: Object.fromEntries(names.map((name) => [name, join(DIST, `${name}.js`)])),
  platform: "node",
  external: (id) => id.startsWith("node:") || outside.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins,
  output: [output("esm", "js"), output("cjs", "cjs")],
});

/** The script of the threads is a bundle by itself: it needs little of the others, and starts sooner. */
export default defineConfig([
  bundle(["index", "rest"], [licences, commonJsTypes]),
  bundle(["tiltyardWorker"], []),
]);
