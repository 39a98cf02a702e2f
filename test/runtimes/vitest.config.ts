/**
 * `npm run test:runtimes`: the packed package in workerd, Vercel's edge runtime, Deno and Bun, which it
 * installs from npm.
 */
import { defineConfig } from "vitest/config";
import { settings } from "../../vitest.config.ts";

export default defineConfig({
  ...settings,
  test: { ...settings.test, include: ["test/runtimes/**/*.test.ts"], maxWorkers: 1 },
});
