/**
 * `npm run test:browsers`: Chromium of the machine, or where `CHROMIUM` says. `INSPECTOR_ROWS=5000000` drives the inspector on a
 * table of that size, and `SCREENSHOTS=1` takes the pictures of docs/inspector.md again.
 */
import { defineConfig } from "vitest/config";
import { settings } from "../../vitest.config.ts";

export default defineConfig({
  ...settings,
  test: { ...settings.test, include: ["test/browsers/**/*.test.ts"], maxWorkers: 1 },
});
