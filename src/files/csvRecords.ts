/**
 * Cuts the bytes of a CSV file into records and cells. No text is made: a cell is a range of one buffer, so
 * that a column of numbers or texts is made from the bytes.
 *
 *     1,"a","b""c"      starts and ends   1   a   b""c      without quotes around a cell
 *                       forms             0   1   2
 */

import { enlarged } from "../bytes/growing.js";
import { InvalidInputError } from "../errors.js";
import { isUtf8 } from "../platform/native.js";

/** Cell without quotes. */
export const UNQUOTED = 0;
const QUOTED = 1;
/** Cell in quotes with doubled quotes inside. */
export const DOUBLED = 2;

/** Form of the file. */
export interface CsvForm {
  /** Name of the reader, for messages. */
  readonly name: string;
  readonly delimiter: string;
  readonly quote: string;
  /** Maximum bytes of a record. */
  readonly maxLength: number;
}

/** Some records. Their bytes are valid until the next ones are read. */
export interface CsvCells {
  readonly recordCount: number;
  readonly bytes: Uint8Array;
  /** Start and end in `bytes` of each cell, without its quotes: two numbers a cell. */
  readonly bounds: Uint32Array;
  /** Form of each cell: {@link UNQUOTED}, {@link DOUBLED}, or in quotes without doubled ones. */
  readonly forms: Uint8Array;
  /** Number of the first cell of each record; after them, the number of the cell after the last record. */
  readonly firstCells: Uint32Array;
  /** Number of the line that each record begins in, counted from 1. */
  readonly lines: Float64Array;
}

const LINE_FEED = 10;
const RETURN = 13;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** Bytes of records that wait at most, whatever their number. */
const WAITING_BYTES = 2 ** 24;
/** Maximum bytes of a record, so that offsets stay below 2^32. */
const MAX_RECORD_BYTES = 2 ** 30;

/** The records of a file. */
export class CsvRecords {
  readonly #form: CsvForm;
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #maxLength: number;
  readonly #delimiter: number;
  readonly #quote: number;
  /** 1 for each byte that may end a cell. */
  readonly #ends = new Uint8Array(256);
  /** Bytes of the file, and their number. Records before `#next` are cut. */
  #bytes = new Uint8Array(2 ** 17);
  #end = 0;
  #next = 0;
  /** End of the bytes that were checked to be UTF-8, and the offset of the buffer in the file. */
  #checkedEnd = 0;
  #fileOffset = 0;
  /** Number of bytes that the buffer needs before another record can be cut. */
  #neededEnd = 1;
  #isAtEnd = false;
  #nextLine = 1;
  /** Cells of the first record. */
  #width = 0;
  #bounds = new Uint32Array(2 ** 10);
  #forms = new Uint8Array(2 ** 9);
  /** Records from `#taken` to `#recordCount` wait. */
  #firstCells = new Uint32Array(2 ** 8);
  #lines = new Float64Array(2 ** 8);
  #taken = 0;
  #recordCount = 0;
  /** Start of the first waiting record. */
  #waitingStart = 0;

  constructor(pieces: AsyncIterator<Uint8Array>, form: CsvForm) {
    this.#pieces = pieces;
    this.#form = form;
    this.#maxLength = Math.min(form.maxLength, MAX_RECORD_BYTES);
    this.#delimiter = form.delimiter.charCodeAt(0);
    this.#quote = form.quote.charCodeAt(0);
    for (const byte of [this.#delimiter, this.#quote, LINE_FEED, RETURN]) this.#ends[byte] = 1;
  }

  /** Number of records that were read and not taken. */
  get waitingCount(): number {
    return this.#recordCount - this.#taken;
  }

  /** True if no records follow the waiting ones. */
  get isAtEnd(): boolean {
    return this.#isAtEnd && this.#next === this.#end;
  }

  /** Returns the waiting records. */
  get waiting(): CsvCells {
    const [first, last] = [this.#taken, this.#recordCount];
    return {
      recordCount: last - first,
      bytes: this.#bytes,
      bounds: this.#bounds,
      forms: this.#forms,
      firstCells: this.#firstCells.subarray(first, last + 1),
      lines: this.#lines.subarray(first, last),
    };
  }

  /** Takes the first waiting records. */
  take(count: number): CsvCells {
    const { waiting } = this;
    const recordCount = Math.min(count, waiting.recordCount);
    this.#taken += recordCount;
    return {
      ...waiting,
      recordCount,
      firstCells: waiting.firstCells.subarray(0, recordCount + 1),
      lines: waiting.lines.subarray(0, recordCount),
    };
  }

  /**
   * Reads on until `count` records wait, or many bytes of them, or the file ends.
   * @throws InvalidInputError naming the line, for a file that is not CSV
   */
  async fill(count: number): Promise<void> {
    if (this.waitingCount === 0) this.#forgetTaken();
    for (;;) {
      this.#cut(count);
      if (this.waitingCount >= count || this.#waitingBytes >= WAITING_BYTES || this.isAtEnd) return;
      await this.#readOn();
    }
  }

  get #waitingBytes(): number {
    return this.waitingCount === 0 ? 0 : this.#next - this.#waitingStart;
  }

  /** Adds bytes of the file to the buffer, enough for another record. */
  async #readOn(): Promise<void> {
    while (!this.#isAtEnd && this.#end < this.#neededEnd) {
      const { done, value } = await this.#pieces.next();
      if (done === true) {
        this.#isAtEnd = true;
        break;
      }
      const end = this.#end + value.byteLength;
      if (end > this.#bytes.length) this.#bytes = enlarged(this.#bytes, end);
      this.#bytes.set(value, this.#end);
      this.#end = end;
    }
  }

  /** Moves the bytes that are not cut yet to the start of the buffer. */
  #forgetTaken(): void {
    this.#bytes.copyWithin(0, this.#next, this.#end);
    this.#fileOffset += this.#next;
    this.#neededEnd -= this.#next;
    this.#end -= this.#next;
    this.#next = this.#checkedEnd = 0;
    this.#taken = this.#recordCount = 0;
    this.#firstCells[0] = 0;
  }

  /** Cuts the bytes in the buffer until `count` records wait. */
  #cut(count: number): void {
    if (this.#end < this.#neededEnd && !this.#isAtEnd) return;
    if (this.#fileOffset === 0 && this.#next === 0) this.#skipMark();
    while (this.waitingCount < count && this.#waitingBytes < WAITING_BYTES && this.#next < this.#end) {
      if (this.#cutRecord()) continue;
      const length = this.#end - this.#next;
      if (length > this.#maxLength) throw this.#tooLong();
      // A long record is not cut again for each of its pieces.
      this.#neededEnd = this.#next + Math.min(2 * length, this.#maxLength + 1);
      break;
    }
    if (this.#next === this.#end) this.#neededEnd = this.#end + 1;
    this.#checkText();
  }

  #skipMark(): void {
    if (BYTE_ORDER_MARK.some((byte, index) => index >= this.#end || this.#bytes[index] !== byte)) return;
    this.#next = this.#checkedEnd = BYTE_ORDER_MARK.length;
  }

  /** Cuts one record. @returns false if the buffer ends before it does */
  #cutRecord(): boolean {
    const start = this.#next;
    const firstCell = this.#firstCells[this.#recordCount];
    let [offset, cell, lineCount] = [start, firstCell, 1];
    for (;;) {
      if (cell === this.#forms.length) this.#growCells();
      const isQuoted = offset < this.#end && this.#bytes[offset] === this.#quote;
      if (isQuoted) {
        const quoted = this.#cutQuoted(offset, cell);
        if (quoted === null) return false;
        offset = quoted.offset;
        lineCount += quoted.lineCount;
      } else {
        offset = this.#cutUnquoted(offset, cell);
      }
      cell++;
      if (offset >= this.#end) {
        if (!this.#isAtEnd) return false;
        break;
      }
      const byte = this.#bytes[offset++];
      if (byte === this.#delimiter) continue;
      if (byte === RETURN) {
        if (offset === this.#end && !this.#isAtEnd) return false;
        if (offset < this.#end && this.#bytes[offset] === LINE_FEED) offset++;
      } else if (byte !== LINE_FEED) {
        throw this.#misplaced(isQuoted, this.#nextLine + lineCount - 1);
      }
      break;
    }
    if (offset - start > this.#maxLength) throw this.#tooLong();
    this.#addRecord(firstCell, cell, lineCount);
    this.#next = offset;
    return true;
  }

  /** Cuts a cell without quotes, and returns the offset of the byte that ends it. */
  #cutUnquoted(start: number, cell: number): number {
    const [bytes, ends, end] = [this.#bytes, this.#ends, this.#end];
    let offset = start;
    while (offset < end && ends[bytes[offset]] === 0) offset++;
    this.#bounds[2 * cell] = start;
    this.#bounds[2 * cell + 1] = offset;
    this.#forms[cell] = UNQUOTED;
    return offset;
  }

  /**
   * Cuts a cell in quotes. Returns the offset after them, and the number of line ends between them; null if
   * the buffer ends before the cell does.
   */
  #cutQuoted(start: number, cell: number): { readonly offset: number; readonly lineCount: number } | null {
    const [bytes, quote, end] = [this.#bytes, this.#quote, this.#end];
    let [offset, lineCount] = [start + 1, 0];
    let form = QUOTED;
    for (; offset < end; offset++) {
      const byte = bytes[offset];
      if (byte === LINE_FEED || (byte === RETURN && bytes[offset + 1] !== LINE_FEED)) lineCount++;
      if (byte !== quote) continue;
      if (offset + 1 === end && !this.#isAtEnd) return null;
      if (offset + 1 === end || bytes[offset + 1] !== quote) break;
      form = DOUBLED;
      offset++;
    }
    if (offset >= end) {
      if (!this.#isAtEnd || end - start > this.#maxLength) return null;
      throw new InvalidInputError(
        `${this.#form.name}: the file ends inside a quoted value of the record at line ${this.#nextLine}`,
      );
    }
    this.#bounds[2 * cell] = start + 1;
    this.#bounds[2 * cell + 1] = offset;
    this.#forms[cell] = form;
    return { offset: offset + 1, lineCount };
  }

  #growCells(): void {
    this.#forms = enlarged(this.#forms);
    this.#bounds = enlarged(this.#bounds);
  }

  /** Adds a record. An empty line is one only in a file of one column, where it is a null. */
  #addRecord(firstCell: number, endCell: number, lineCount: number): void {
    const line = this.#nextLine;
    this.#nextLine += lineCount;
    const isEmpty =
      endCell - firstCell === 1 && this.#bounds[2 * firstCell] === this.#bounds[2 * firstCell + 1];
    if (isEmpty && this.#width !== 1) return;
    if (this.#width === 0) this.#width = endCell - firstCell;
    if (this.waitingCount === 0) this.#waitingStart = this.#next;
    if (this.#recordCount + 1 === this.#lines.length) {
      this.#firstCells = enlarged(this.#firstCells);
      this.#lines = enlarged(this.#lines);
    }
    this.#lines[this.#recordCount++] = line;
    this.#firstCells[this.#recordCount] = endCell;
  }

  /** Checks the text of the records that were cut: they end at the end of a character. */
  #checkText(): void {
    const [start, end] = [this.#checkedEnd, this.#next];
    if (start === end) return;
    this.#checkedEnd = end;
    if (isUtf8(this.#bytes.subarray(start, end))) return;
    throw new InvalidInputError(
      `${this.#form.name}: bytes ${this.#fileOffset + start} to ${this.#fileOffset + end} of the file are not UTF-8, the only encoding that is read`,
    );
  }

  #tooLong(): InvalidInputError {
    return new InvalidInputError(
      `${this.#form.name}: the record at line ${this.#nextLine} is longer than ${this.#maxLength} bytes; set maxRecordLength to take it`,
    );
  }

  #misplaced(isQuoted: boolean, line: number): InvalidInputError {
    const reason = isQuoted
      ? "text follows the closing quote of a value"
      : "a quote stands inside a value that does not begin with one";
    return new InvalidInputError(
      `${this.#form.name}: line ${line}: ${reason}; quotes inside a quoted value are doubled`,
    );
  }
}
