/**
 * The property tests of `npm test` with more runs and cases, and the tests that install much from npm. They
 * take half an hour on two cores. `SOAK_SCALE=100 npm run soak` runs nearly all cases, and takes a night.
 */
import { randomInt } from "node:crypto";
import { defineConfig, mergeConfig } from "vitest/config";
import { settings } from "../vitest.config.ts";

export default mergeConfig(
  settings,
  defineConfig({
    test: {
      include: [
        "test/query/arbitraryTables.test.ts",
        "test/query/aggregate/**/*.test.ts",
        "test/query/order/largeSort.test.ts",
        "test/catalog/immovable.test.ts",
        "test/corruption/**/*.test.ts",
        "test/file/events/**/*.test.ts",
        "test/file/structural/**/*.test.ts",
        "test/indexes/**/*.test.ts",
        "test/interop/**/*.test.ts",
        "test/jobs/**/*.test.ts",
        "test/io/lockTakeover.test.ts",
        "test/crash/**/*.test.ts",
        "test/model/**/*.test.ts",
        "test/operations/fieldMetadata.test.ts",
        "test/pause/**/*.test.ts",
        "test/rest/bounds.test.ts",
        "test/rest/frameworkSuites.test.ts",
        "test/rest/hostile.test.ts",
        "test/rest/jsonRowStream.test.ts",
        "test/table/hostileManifests.test.ts",
        "test/folding/races.test.ts",
        "test/race/cleanupLeases.test.ts",
        "test/race/managedVersions.test.ts",
        "test/race/mergeInsert.test.ts",
        "test/race/oldCatalogVersions.test.ts",
        "test/race/race.test.ts",
        "test/race/rowChanges.test.ts",
        "test/race/schema.test.ts",
        "test/race/upkeep.test.ts",
        "test/stranger/**/*.test.ts",
        "test/write/indexes/**/*.test.ts",
        "test/write/memory.test.ts",
        "test/write/merge/**/*.test.ts",
      ],
      testTimeout: 3_600_000,
      // Tests that pass print their measurements.
      silent: false,
      env: {
        SOAK_SCALE: process.env.SOAK_SCALE ?? "2",
        FC_SEED: process.env.FC_SEED ?? String(randomInt(2 ** 31)),
        FLIPS: process.env.FLIPS ?? "10000",
        BACKFILL_KILLS: process.env.BACKFILL_KILLS ?? "120",
        INDEX_KILLS: process.env.INDEX_KILLS ?? "60",
        INDEX_RUNS: process.env.INDEX_RUNS ?? "60",
        MERGE_MIB: process.env.MERGE_MIB ?? "5120",
        MIXED_KILLS: process.env.MIXED_KILLS ?? "500",
        JSON_ROWS: process.env.JSON_ROWS ?? "2000000",
        AGGREGATE_GROUPS: process.env.AGGREGATE_GROUPS ?? "5000000",
        AGGREGATE_QUERIES: process.env.AGGREGATE_QUERIES ?? "5000",
        SORT_MIB: process.env.SORT_MIB ?? "5120",
        BOUNDS_MS: process.env.BOUNDS_MS ?? "30000",
        BOUNDS_SLOWEST_MS: process.env.BOUNDS_SLOWEST_MS ?? "1000",
        RACE_MS: process.env.RACE_MS ?? "60000",
        PAUSE_STRIDE: process.env.PAUSE_STRIDE ?? "199",
      },
    },
  }),
);
