/** Cuts the bytes of a CSV file into records of texts. */

import { CsvError, type Parser, parse } from "csv-parse";
import { InvalidInputError, messageOf } from "../errors.js";
import { TextDecoding } from "./textLines.js";

/** A record of a CSV file. */
export interface CsvRecord {
  /** Number of the line that the record begins in, counted from 1. */
  readonly line: number;
  /** Values; null for a text of `nullValues` without quotes. */
  readonly values: (string | null)[];
  /** Bytes in the file. */
  readonly byteLength: number;
}

/** Form of the file. */
export interface CsvForm {
  /** Name of the reader, for messages. */
  readonly name: string;
  readonly delimiter: string;
  readonly quote: string;
  readonly nullValues: ReadonlySet<string>;
  readonly maxLength: number;
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The records of a file, in groups. */
export class CsvRecords {
  readonly #form: CsvForm;
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #parser: Parser;
  readonly #decoding: TextDecoding;
  readonly #quoteByte: number;
  /** Records of the last piece. */
  #records: CsvRecord[] = [];
  /** Pieces of the file with bytes of the next record, and the offset of the first one in the file. */
  #open: Uint8Array[] = [];
  #openStart = 0;
  /** Offset of the next record in the file. */
  #recordStart = 0;
  #nextLine = 1;
  #isAtEnd = false;

  constructor(pieces: AsyncIterator<Uint8Array>, form: CsvForm) {
    this.#pieces = pieces;
    this.#form = form;
    this.#decoding = new TextDecoding(form.name);
    this.#quoteByte = form.quote.charCodeAt(0);
    this.#parser = parse({
      bom: true,
      delimiter: form.delimiter,
      quote: form.quote,
      escape: form.quote,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      max_record_size: form.maxLength,
      // Records are taken here, so that none waits in the parser's stream.
      on_record: (values: (string | null)[], { bytes, lines }) => {
        this.#add(values, bytes, lines);
        return null;
      },
    });
    // The callback of each write reports the same errors.
    this.#parser.on("error", () => undefined);
  }

  /**
   * Returns the records that end in the next piece with any; none at the end of the file.
   * @throws InvalidInputError naming the line, for a file that is not CSV
   */
  async take(): Promise<CsvRecord[]> {
    while (this.#records.length === 0 && !this.#isAtEnd) {
      const { done, value } = await this.#pieces.next();
      if (done === true) {
        this.#isAtEnd = true;
        this.#decoding.decode(null);
        await this.#parse(null);
      } else {
        this.#decoding.decode(value);
        this.#open.push(value);
        await this.#parse(value);
      }
    }
    const records = this.#records;
    this.#records = [];
    return records;
  }

  /** Parses a piece, or the end of the file. */
  async #parse(piece: Uint8Array | null): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        const finish = (error?: Error | null) => (error ? reject(error) : resolve());
        if (piece !== null) {
          this.#parser.write(piece, finish);
          return;
        }
        this.#parser.once("error", reject);
        this.#parser.once("end", resolve);
        this.#parser.resume();
        this.#parser.end();
      });
    } catch (error) {
      throw new InvalidInputError(`${this.#form.name}: ${describeFault(error, this.#form)}`, {
        cause: error,
      });
    }
  }

  /** @param end offset in the file of the byte after the record */
  #add(values: (string | null)[], end: number, lines: number): void {
    const { nullValues } = this.#form;
    const isQuoted = lazy(() => this.#quotedValues(values as string[], end));
    // Nulls are set afterwards: the bytes are compared with the texts.
    const nulls: number[] = [];
    for (let index = 0; index < values.length; index++) {
      if (nullValues.has(values[index] as string) && !isQuoted()[index]) nulls.push(index);
    }
    for (const index of nulls) values[index] = null;
    this.#records.push({ line: this.#nextLine, values, byteLength: end - this.#recordStart });
    this.#recordStart = end;
    this.#nextLine = lines + 1;
    while (this.#open.length > 0 && this.#openStart + this.#open[0].byteLength <= end) {
      this.#openStart += (this.#open.shift() as Uint8Array).byteLength;
    }
  }

  /** Tells which values of the next record, which ends at an offset of the file, are quoted. */
  #quotedValues(values: readonly string[], end: number): boolean[] {
    const bytes = Buffer.concat(this.#open).subarray(
      this.#recordStart - this.#openStart,
      end - this.#openStart,
    );
    const hasMark =
      this.#recordStart === 0 && bytes[0] === BYTE_ORDER_MARK[0] && bytes[1] === BYTE_ORDER_MARK[1];
    let offset = hasMark ? BYTE_ORDER_MARK.length : 0;
    return values.map((value) => {
      const isQuoted = bytes[offset] === this.#quoteByte;
      const quotes = isQuoted ? value.split(this.#form.quote).length + 1 : 0;
      offset += Buffer.byteLength(value) + quotes + 1;
      return isQuoted;
    });
  }
}

function lazy<Value>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= make());
}

function describeFault(error: unknown, { maxLength }: CsvForm): string {
  if (!(error instanceof CsvError)) return messageOf(error);
  const line = (error as { readonly lines?: number }).lines ?? 0;
  switch (error.code) {
    case "CSV_MAX_RECORD_SIZE":
      return `the record at line ${line} is longer than ${maxLength} characters; set maxRecordLength to take it`;
    case "CSV_QUOTE_NOT_CLOSED":
      return `the file ends inside a quoted value that begins at or before line ${line}`;
    default:
      return error.message;
  }
}
