import { vi } from "vitest";
import { foldedLock, foldedNodeDisk } from "../support/foldedModules.js";

vi.mock("../../src/io/disk/nodeDisk.js", async (original) => foldedNodeDisk(await original(), "HFS+"));
vi.mock("../../src/io/lock/lock.js", async (original) => foldedLock(await original(), "HFS+"));
vi.stubEnv("MODEL_RUNS", "3");

await import("../model/namespace.test.js");
await import("../operations/namespaces.test.js");
await import("../table/refs/branches.test.js");
await import("../table/refs/tags.test.js");
