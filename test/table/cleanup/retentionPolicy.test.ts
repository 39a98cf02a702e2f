/** Checks which versions a cleanup removes, and how a table's config decides it. */

import { InvalidInputError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { autoCleanupPolicy, parseDurationMs } from "../../../src/table/cleanup/cleanupRule.js";
import { isOutdated } from "../../../src/table/cleanup/retentionPolicy.js";

describe("a version is outdated", () => {
  const outdated = (newerCount: number, ageMs: number, policy: object) =>
    isOutdated({ followedMs: 10_000 - ageMs, newerCount }, policy, 10_000);

  it("from a given age on", () => {
    expect(outdated(1, 500, { olderThanMs: 500 })).toBe(true);
    expect(outdated(1, 499, { olderThanMs: 500 })).toBe(false);
    expect(outdated(1, 0, { olderThanMs: 0 })).toBe(true);
    expect(outdated(1, 0, {})).toBe(true);
  });

  it("beyond the number to keep, if it is also old enough", () => {
    expect(outdated(2, 500, { retainVersions: 3 })).toBe(false);
    expect(outdated(3, 500, { retainVersions: 3 })).toBe(true);
    expect(outdated(3, 500, { retainVersions: 3, olderThanMs: 501 })).toBe(false);
  });

  it("never as the latest", () => {
    expect(outdated(0, 5000, { olderThanMs: 0, retainVersions: 0 })).toBe(false);
  });
});

describe("a config asks for cleanups", () => {
  const policy = (config: Record<string, string>, version: number) =>
    autoCleanupPolicy(
      new Map(Object.entries(config).map(([key, value]) => [`lance.auto_cleanup.${key}`, value])),
      version,
    );

  it("at every n-th version", () => {
    expect(policy({}, 3)).toBeNull();
    expect(policy({ older_than: "0s" }, 3)).toBeNull();
    expect(policy({ interval: "3" }, 2)).toBeNull();
    expect(policy({ interval: "3" }, 6)).toEqual({ olderThanMs: undefined, retainVersions: undefined });
    expect(policy({ interval: "0", older_than: "1d" }, 5)).toMatchObject({ olderThanMs: 86_400_000 });
    expect(policy({ interval: "1", retain_versions: "4" }, 5)).toMatchObject({ retainVersions: 4 });
  });

  it.each([
    [{ interval: "x" }],
    [{ interval: "-1" }],
    [{ interval: "" }],
    [{ interval: "1", older_than: "soon" }],
    [{ interval: "1", retain_versions: "0" }],
    [{ interval: "1", retain_versions: "1.5" }],
  ])("with valid settings, and refuses %j", (config) => {
    expect(() => policy(config as unknown as Record<string, string>, 1)).toThrow(InvalidInputError);
  });

  it.each([
    ["0", 0],
    ["0s", 0],
    ["500ms", 500],
    ["0.5s", 500],
    ["1s 1ms", 1001],
    ["1h30m", 5_400_000],
    [" 2 weeks ", 1_209_600_000],
    ["1M", 2_630_016_000],
  ])("at an age of %s", (text, ms) => expect(parseDurationMs(text, "k")).toBeCloseTo(ms));

  const malformedAges = ["", "1", "s", "1 fortnight", "1s-", "-1s", "1constructor", `${"9".repeat(400)}y`];
  it.each(malformedAges)("and refuses the age %j", (text) =>
    expect(() => parseDurationMs(text, "k")).toThrow(InvalidInputError));
});
