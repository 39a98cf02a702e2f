/** Files that mock a module run alone: in a process that others used, the module is loaded already. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { NOT_SHARING, SHARING_FOLDERS } from "../vitest.config.js";

const TEST_ROOT = dirname(fileURLToPath(import.meta.url));

/** Modules that are mocked for a whole file. */
const MOCKS = /^vi\.mock\(/m;

it("each test file that mocks a module has a process of its own", () => {
  const files = SHARING_FOLDERS.flatMap((folder) =>
    readdirSync(join(TEST_ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `test/${folder}/${file.replaceAll("\\", "/")}`),
  );
  const mocking = files.filter((file) => MOCKS.test(readFileSync(join(TEST_ROOT, "..", file), "utf8")));
  expect(mocking.length).toBeGreaterThan(0);
  expect(mocking.filter((file) => !NOT_SHARING.includes(file))).toEqual([]);
});
