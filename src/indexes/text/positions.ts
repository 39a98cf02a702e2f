/** Positions of a token in its documents, as stored. */

import { concatWords } from "../../bytes/concatWords.js";
import { CorruptFileError } from "../../errors.js";
import { decodeDocumentPositions, decodePositions } from "./postingBlocks.js";

export interface BlockedPositions {
  /** Number of blocks of documents; null if positions have no blocks. */
  readonly blockCount: number | null;
  /** Approximate bytes of memory. */
  readonly byteLength: number;
  /**
   * Returns the positions in one block's documents, document by document.
   * @param firstDocument number of documents in earlier blocks
   * @param frequencies of the documents of the block
   * @throws CorruptFileError
   */
  ofBlock(block: number, firstDocument: number, frequencies: Uint32Array): Uint32Array;
}

/** Positions in a byte stream. @param offsets start of each block */
export const packedPositions = (bytes: Uint8Array, offsets: Uint32Array, path: string): BlockedPositions => ({
  blockCount: offsets.length,
  byteLength: bytes.length,
  ofBlock(block, _firstDocument, frequencies) {
    const start = offsets[block];
    const end = offsets[block + 1] ?? bytes.length;
    if (start > end || end > bytes.length) {
      throw new CorruptFileError(path, 0, "postings: the positions of a block exceed the file");
    }
    return decodePositions(bytes.subarray(start, end), frequencies, path);
  },
});

/** Overhead of a piece in bytes. */
const PIECE_BYTES = 112;

/** Positions as LanceDB before 0.31 wrote them. @param documents a list of pieces per document */
export const listedPositions = (
  documents: readonly (readonly Uint8Array[])[],
  path: string,
): BlockedPositions => ({
  blockCount: null,
  byteLength: documents.flat().reduce((sum, piece) => sum + piece.length + PIECE_BYTES, 0),
  ofBlock: (_block, firstDocument, frequencies) =>
    joined(frequencies, path, (index) =>
      decodeDocumentPositions(documents[firstDocument + index] ?? [], frequencies[index], path),
    ),
});

/**
 * Positions as LanceDB before 0.21 wrote them.
 * @param positions document by document
 * @param starts first position of each document
 */
export const plainPositions = (
  positions: Uint32Array,
  starts: Uint32Array,
  path: string,
): BlockedPositions => ({
  blockCount: null,
  byteLength: positions.byteLength + starts.byteLength,
  ofBlock: (_block, firstDocument, frequencies) =>
    joined(frequencies, path, (index) => {
      const start = starts[firstDocument + index];
      return positions.subarray(start, start + frequencies[index]);
    }),
});

function joined(
  frequencies: Uint32Array,
  path: string,
  positionsOf: (index: number) => Uint32Array,
): Uint32Array {
  const parts: Uint32Array[] = [];
  for (let index = 0; index < frequencies.length; index++) {
    const part = positionsOf(index);
    if (part.length !== frequencies[index]) {
      const reason = "the number of positions in a document is not the frequency of the token";
      throw new CorruptFileError(path, 0, `postings: ${reason}`);
    }
    parts.push(part);
  }
  return concatWords(parts);
}
