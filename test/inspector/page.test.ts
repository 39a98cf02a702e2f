/** The built page: its size, and that it names no other host. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const PAGE = fileURLToPath(new URL("../../dist/inspector/page", import.meta.url));
/** Bytes of all files after compression, the worker that makes maps included. */
const MAX_COMPRESSED = 120_000;

async function readFiles(): Promise<Map<string, string>> {
  const entries = await readdir(PAGE, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      paths.map(async (path): Promise<[string, string]> => [path, await readFile(path, "utf8")]),
    ),
  );
}

describe("the inspector's page", () => {
  it("stays small", async () => {
    const sizes = [...(await readFiles()).values()].map((text) => gzipSync(text).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_COMPRESSED);
  });

  it("names no other host, and has no inline code", async () => {
    for (const [path, text] of await readFiles()) {
      const hosts = [...text.matchAll(/\bhttps?:\/\/([\w.-]+)/g)].map(([, host]) => host);
      // Namespaces of XML are names, not addresses.
      expect([path, hosts.filter((host) => host !== "www.w3.org")]).toEqual([path, []]);
      if (path.endsWith(".html")) expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=/);
    }
  });
});
