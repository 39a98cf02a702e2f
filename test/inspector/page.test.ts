/** The built page, with and without a server: its size, and that it names no other host. */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const PAGE = fileURLToPath(new URL("../../dist/inspector/page", import.meta.url));
const FILE = fileURLToPath(new URL("../../dist/inspector.html", import.meta.url));
/** Bytes of all files after compression, the worker that makes maps included. */
const MAX_COMPRESSED = 120_000;
/** Bytes of the file that needs no server, as it is and compressed. The engine takes most of it. */
const MAX_FILE = 2_750_000;
const MAX_COMPRESSED_FILE = 900_000;

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

/** Addresses in comments and messages of packages, which no code asks for. */
const NAMED_HOSTS = /^(?:www\.w3\.org|example\.(?:org|com)|data\.example\.org|json-schema\.org)$/;

describe("the inspector's file", () => {
  it("stays small", async () => {
    const text = await readFile(FILE);
    console.log(`inspector.html: ${text.length} bytes, ${gzipSync(text).length} compressed`);
    expect(text.length).toBeLessThan(MAX_FILE);
    expect(gzipSync(text).length).toBeLessThan(MAX_COMPRESSED_FILE);
  });

  it("runs only its own script and style, and names no other host", async () => {
    const text = await readFile(FILE, "utf8");
    const [, policy = ""] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text) ?? [];
    const [script] = [...text.matchAll(/<script type="module">(.*?)<\/script>/gs)].map(([, code]) => code);
    const [style] = [...text.matchAll(/<style>(.*?)<\/style>/gs)].map(([, code]) => code);
    for (const part of [script, style]) {
      expect(policy).toContain(`'sha256-${createHash("sha256").update(part).digest("base64")}'`);
    }
    expect(policy).not.toContain("unsafe-inline");
    expect(policy).not.toContain("'unsafe-eval'");
    expect(text.match(/<script/g)).toHaveLength(1);
    const hosts = [...script.matchAll(/\bhttps?:\/\/([\w-]+\.[\w.-]+)/g)].map(([, host]) => host);
    expect([...new Set(hosts)].filter((host) => !NAMED_HOSTS.test(host))).toEqual([]);
  });
});
