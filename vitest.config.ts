import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: [
      { find: /^tiltyard$/, replacement: fileURLToPath(new URL("./src/index.ts", import.meta.url)) },
      { find: /^tiltyard\/rest$/, replacement: fileURLToPath(new URL("./src/rest.ts", import.meta.url)) },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/soak/**", "**/node_modules/**"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    setupFiles: ["test/support/poisonScratch.ts"],
    reporters: ["default", "./test/support/summaryReporter.ts"],
  },
});
