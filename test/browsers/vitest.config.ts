/** `npm run test:browsers`: Chromium of the machine, or where `CHROMIUM` says. */
import { defineConfig } from "vitest/config";
import { settings } from "../../vitest.config.ts";

export default defineConfig({
  ...settings,
  test: { ...settings.test, include: ["test/browsers/**/*.test.ts"], maxWorkers: 1 },
});
