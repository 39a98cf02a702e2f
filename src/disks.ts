/**
 * Entry point `tiltyard/disks`: disks other than the local file system, for the option `disk` of a namespace.
 *
 *     import { DirectoryNamespace } from "tiltyard";
 *     import { memoryDisk } from "tiltyard/disks";
 *
 *     const ns = new DirectoryNamespace({ root: "/", disk: memoryDisk() });
 */

export { fileListDisk, type PickedFiles } from "./disks/fileListDisk.js";
export { type DirectoryHandleDiskOptions, directoryHandleDisk } from "./disks/handles/directoryHandleDisk.js";
export { type OpfsDisk, type OpfsDiskOptions, opfsDisk } from "./disks/handles/opfsDisk.js";
export { httpDisk } from "./disks/http/httpDisk.js";
export type { HttpDiskOptions } from "./disks/http/httpOptions.js";

export { type MemoryDisk, type MemoryDiskOptions, memoryDisk } from "./disks/memoryDisk.js";

export { type PublishIndexOptions, publishIndex } from "./disks/publish/publishIndex.js";
export type { PublishedSummary } from "./disks/publish/writeIndex.js";
export type { R2BucketBinding } from "./disks/r2/binding.js";
export { type R2DiskOptions, r2Disk } from "./disks/r2/r2Disk.js";
export type { S3Credentials, S3DiskOptions } from "./disks/s3/options.js";
export { type S3Disk, type S3StorageOptions, s3Disk } from "./disks/s3/s3Disk.js";
export type {
  AllocateTail,
  DirectoryEntry,
  DiskImplementation,
  DiskImplementation as Disk,
  FileStat,
  ReadHandle,
  ReadPieces,
  ScratchDirectory,
  StoredStat,
  WriteHandle,
} from "./io/disk/disk.js";
export type { DiskLock, DiskLocks, LockAttempt, LockLease, LockState } from "./io/disk/locks.js";
export { type DiskVerb, MissingVerbError, ReadOnlyDiskError } from "./io/disk/missingVerb.js";
