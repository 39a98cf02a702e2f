/**
 * What the package's entry points are: one file each, with what they share beside them, as ES modules and as CommonJS, made
 * of the modules that tsc wrote. Small dependencies are inside: hundreds of files would take longer to find than to run.
 * apache-arrow stays outside, as tables are exchanged in its classes, and so does what only `tiltyard/rest` needs.
 */

import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defineConfig } from "rolldown";

const DIST = "dist";
/** jose has ES modules only, which CommonJS can't load everywhere. */
const INSIDE = ["@bufbuild/protobuf", "fs-extra", "jose", "proper-lockfile"];

const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
const outside = Object.keys(dependencies).filter((name) => !INSIDE.includes(name));

/** @param {string} format */
const output = (format, extension) => ({
  format,
  dir: join(DIST, format),
  entryFileNames: `[name].${extension}`,
  chunkFileNames: `shared.${extension}`,
  sourcemap: true,
  comments: { legal: true, annotation: true, jsdoc: false },
});

/** The licences of the packages that are inside, which ask to go along. */
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

/** Types as CommonJS has them: the same declarations, in a directory whose modules are CommonJS. */
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

export default defineConfig({
  input: { index: join(DIST, "index.js"), rest: join(DIST, "rest.js") },
  platform: "node",
  external: (id) => id.startsWith("node:") || outside.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [licences, commonJsTypes],
  output: [output("esm", "js"), output("cjs", "cjs")],
});
