import { vi } from "vitest";
import { foldedLock, foldedNodeDisk } from "../support/foldedModules.js";

vi.mock("../../src/io/disk/nodeDisk.js", async (original) => foldedNodeDisk(await original(), "NTFS"));
vi.mock("../../src/io/lock/lock.js", async (original) => foldedLock(await original(), "NTFS"));
vi.stubEnv("MODEL_RUNS", "5");

await import("../model/namespace.test.js");
await import("../operations/namespaces.test.js");
await import("../operations/occupiedPlace.test.js");
await import("../operations/deregistered.test.js");
await import("../operations/transactions.test.js");
await import("../catalog/batches/batches.test.js");
await import("../table/refs/branches.test.js");
await import("../table/refs/tags.test.js");
