/**
 * Disks that the namespace suite runs on, and what each cannot do. `TILTYARD_TEST_DISK` names the disk of a
 * run. Tests ask {@link lacks}, so this file is the whole list of what a disk refuses.
 */

/** Limits of disks, with what the engine refuses there or a test cannot do there. */
export const LIMITS = {
  rename: "the disk cannot rename: tables do not move to or from the root, and there are no batches",
  emptyDirectories: "the disk shows no empty directories, and no file before it is complete",
  fileTimes: "a test cannot set the times of a file",
  localFiles: "the files are not local: no links, no permissions, no other program on the same files",
  copiedBranches:
    "base paths are addresses of the bucket, which LanceDB follows away from a copy of the files",
} as const;

export type DiskLimit = keyof typeof LIMITS;

/** Limits of each disk. */
export const DISKS = {
  /** A directory of the local file system. */
  directory: [],
  /** `memoryDisk()`. */
  memory: ["fileTimes", "localFiles"],
  /** Objects that are files of the local file system. */
  store: ["rename", "emptyDirectories", "localFiles"],
  /** `s3Disk()`. */
  s3: ["rename", "emptyDirectories", "fileTimes", "localFiles", "copiedBranches"],
  /** `opfsDisk()` in a browser. */
  opfs: ["rename", "emptyDirectories", "fileTimes", "localFiles"],
} satisfies Record<string, readonly DiskLimit[]>;

export type SuiteDiskName = keyof typeof DISKS;

/** Name of the disk of this run. */
export const diskName = (process.env.TILTYARD_TEST_DISK ?? "directory") as SuiteDiskName;
if (!(diskName in DISKS)) throw new Error(`TILTYARD_TEST_DISK: there is no disk ${diskName}`);

/** True if the files of the namespace are files of the local file system. */
export const isLocal = diskName === "directory" || diskName === "store";

/** Returns true if the disk of this run has one of the limits. */
export const lacks = (...limits: readonly DiskLimit[]): boolean =>
  limits.some((limit) => (DISKS[diskName] as readonly DiskLimit[]).includes(limit));
