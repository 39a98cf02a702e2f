/** The property tests of `npm test` for as long as patience lasts: the same files, many more runs. */
import { defineConfig, mergeConfig } from "vitest/config";
import base from "../vitest.config.ts";

export default mergeConfig(
  base,
  defineConfig({
    test: {
      include: [
        "test/query/arbitraryTables.test.ts",
        "test/corruption/**/*.test.ts",
        "test/interop/**/*.test.ts",
        "test/io/lockTakeover.test.ts",
        "test/crash/**/*.test.ts",
        "test/model/**/*.test.ts",
        "test/operations/fieldMetadata.test.ts",
        "test/pause/**/*.test.ts",
        "test/rest/hostile.test.ts",
        "test/race/oldCatalogVersions.test.ts",
        "test/race/schema.test.ts",
        "test/race/upkeep.test.ts",
      ],
      testTimeout: 3_600_000,
      env: {
        COLUMN_RUNS: "300",
        CORRUPTION_RUNS: "20000",
        CRASH_STRIDE: "1",
        FUZZ_FILES: "25000",
        HOSTILE_REQUESTS: "100000",
        INTEROP_RUNS: "2000",
        KILLS: "500",
        METADATA_RUNS: "3000",
        MODEL_RUNS: "5000",
        RACE_STRIDE: "1",
        PAUSE_STRIDE: "61",
        ROUND_TRIP_RUNS: "10000",
        OPERATION_RUNS: "200",
        SUSPENSIONS: "200",
        TAKEOVER_ROUNDS: "100",
        UPKEEP_ROUNDS: "300",
      },
    },
  }),
);
