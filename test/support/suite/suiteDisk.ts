/** The disk of a run of the namespace suite. */

import type { DiskImplementation } from "tiltyard/disks";
import { completeDisk } from "../../../src/io/completeDisk.js";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { diskName } from "./diskLimits.js";

async function openDisk(): Promise<DiskImplementation | undefined> {
  switch (diskName) {
    case "directory":
      return undefined;
    case "store":
      return (await import("../directoryStore.js")).directoryStore();
    case "memory":
      return (await import("tiltyard/disks")).memoryDisk();
    case "opfs":
      return (await import("tiltyard/disks")).opfsDisk({ directory: "namespace-suite" });
    case "s3":
      return (await import("tiltyard/disks")).s3Disk(JSON.parse(process.env.TILTYARD_TEST_BUCKET ?? "{}"));
  }
}

const opened = await openDisk();

/** Adds the disk of the run to the options of a namespace, unless they have one. */
export const onSuiteDisk = <Options extends object>(options: Options): Options =>
  opened === undefined ? options : { disk: opened, ...options };

/** Returns the disk of the run, with all calls that the engine makes. */
export const suiteDisk = (): Disk =>
  opened === undefined ? new NodeDisk({ durability: "none" }) : completeDisk(opened);
