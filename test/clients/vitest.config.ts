/**
 * `npm run test:clients`: programs of LanceDB's users with `tiltyard-lancedb` in LanceDB's place, installed from npm. With
 * `CLIENTS=native` they run on the LanceDB release that each asks for, and have to print the same.
 */
import { defineConfig } from "vitest/config";
import { settings } from "../../vitest.config.ts";

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    include: ["test/clients/**/*.test.ts"],
    // npm and bundlers take a core or two each.
    maxWorkers: 1,
  },
});
