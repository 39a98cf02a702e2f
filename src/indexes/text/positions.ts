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

/** A byte stream with the start of each block. */
export class PackedPositions implements BlockedPositions {
  constructor(
    private readonly bytes: Uint8Array,
    private readonly offsets: Uint32Array,
    private readonly path: string,
  ) {}

  get blockCount(): number {
    return this.offsets.length;
  }

  get byteLength(): number {
    return this.bytes.length;
  }

  ofBlock(block: number, _firstDocument: number, frequencies: Uint32Array): Uint32Array {
    const start = this.offsets[block];
    const end = this.offsets[block + 1] ?? this.bytes.length;
    if (start > end || end > this.bytes.length) {
      throw new CorruptFileError(this.path, 0, "postings: the positions of a block exceed the file");
    }
    return decodePositions(this.bytes.subarray(start, end), frequencies, this.path);
  }
}

/** A list of pieces per document, as LanceDB before 0.31 wrote. */
export class ListedPositions implements BlockedPositions {
  readonly blockCount = null;

  constructor(
    private readonly documents: readonly (readonly Uint8Array[])[],
    private readonly path: string,
  ) {}

  get byteLength(): number {
    return this.documents.reduce(
      (sum, pieces) => pieces.reduce((bytes, piece) => bytes + piece.length + PIECE_BYTES, sum),
      0,
    );
  }

  ofBlock(_block: number, firstDocument: number, frequencies: Uint32Array): Uint32Array {
    return joined(frequencies, this.path, (index) => {
      const pieces = this.documents[firstDocument + index] ?? [];
      return decodeDocumentPositions(pieces, frequencies[index], this.path);
    });
  }
}

/** Overhead of a piece in bytes. */
const PIECE_BYTES = 112;

/** All positions, document by document, as LanceDB before 0.21 wrote. */
export class PlainPositions implements BlockedPositions {
  readonly blockCount = null;

  constructor(
    private readonly positions: Uint32Array,
    /** First position of each document. */
    private readonly starts: Uint32Array,
    private readonly path: string,
  ) {}

  get byteLength(): number {
    return this.positions.byteLength + this.starts.byteLength;
  }

  ofBlock(_block: number, firstDocument: number, frequencies: Uint32Array): Uint32Array {
    return joined(frequencies, this.path, (index) => {
      const start = this.starts[firstDocument + index];
      return this.positions.subarray(start, start + frequencies[index]);
    });
  }
}

function joined(
  frequencies: Uint32Array,
  path: string,
  positionsOf: (index: number) => Uint32Array,
): Uint32Array {
  const parts: Uint32Array[] = [];
  for (let index = 0; index < frequencies.length; index++) {
    const part = positionsOf(index);
    if (part.length !== frequencies[index]) {
      throw new CorruptFileError(
        path,
        0,
        "postings: the number of positions in a document is not the frequency of the token",
      );
    }
    parts.push(part);
  }
  return concatWords(parts);
}
