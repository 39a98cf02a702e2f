import type { Disk, ReadHandle, ReadPieces } from "./disk.js";

/** Wraps `open` of a disk: the handles call `count` at each read. */
export const countedReads = (
  disk: Pick<Disk, "open">,
  count: (byteLength: number) => void,
): Pick<Disk, "open"> => ({
  async open(path, tailBytes, allocate) {
    const handle = await disk.open(path, tailBytes, allocate);
    return handle && counted(handle, count);
  },
});

function counted(handle: ReadHandle, count: (byteLength: number) => void): ReadHandle {
  return {
    path: handle.path,
    size: handle.size,
    identity: handle.identity,
    takeTail: () => handle.takeTail?.() ?? null,
    read(byteOffset, length, memory) {
      count(length);
      return handle.read(byteOffset, length, memory);
    },
    ...(handle.readInto && {
      readInto(target: Uint8Array, pieces: ReadPieces) {
        for (const length of pieces.lengths) count(length);
        return handle.readInto?.(target, pieces);
      },
    }),
    close: () => handle.close(),
  };
}
