/** Asks the TypeScript language service about a program, as an editor does. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
/** A file of the checkout that does not exist on disk. */
const PROGRAM = join(CHECKOUT, "program.mts");

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.Node16,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  types: ["node"],
  paths: {
    tiltyard: [join(CHECKOUT, "src", "index.ts")],
    "apache-arrow-of-reference": [join(CHECKOUT, "test/reference/node_modules/apache-arrow/Arrow.node.d.ts")],
  },
};

/** An error of the compiler: the text that it points at, and its message. */
export interface ProgramError {
  readonly text: string;
  readonly message: string;
}

/** An editor with one file. */
export class Editor {
  #text = "";
  #version = 0;
  readonly #service: ts.LanguageService;

  constructor() {
    this.#service = ts.createLanguageService({
      getCompilationSettings: () => OPTIONS,
      getScriptFileNames: () => [PROGRAM],
      getScriptVersion: (file) => (file === PROGRAM ? String(this.#version) : "0"),
      getScriptSnapshot: (file) => {
        const text = file === PROGRAM ? this.#text : ts.sys.readFile(file);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => CHECKOUT,
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: (file) => file === PROGRAM || ts.sys.fileExists(file),
      readFile: (file) => (file === PROGRAM ? this.#text : ts.sys.readFile(file)),
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
      readDirectory: ts.sys.readDirectory,
      realpath: (file) => ts.sys.realpath?.(file) ?? file,
    });
  }

  /** Returns the names that completion offers at the mark `^` of a program. */
  completions(program: string): string[] {
    const offset = program.indexOf("^");
    this.#write(program.slice(0, offset) + program.slice(offset + 1));
    const found = this.#service.getCompletionsAtPosition(PROGRAM, offset, {});
    return (found?.entries ?? []).map(({ name }) => name).sort();
  }

  /** Returns the errors of a program. */
  errors(program: string): ProgramError[] {
    this.#write(program);
    const found = [
      ...this.#service.getSyntacticDiagnostics(PROGRAM),
      ...this.#service.getSemanticDiagnostics(PROGRAM),
    ];
    return found.map(({ start = 0, length = 0, messageText }) => ({
      text: program.slice(start, start + length),
      message: ts.flattenDiagnosticMessageText(messageText, "\n"),
    }));
  }

  /** Returns the type of the first name after the mark `^` of a program. */
  typeAt(program: string): string {
    const offset = program.indexOf("^");
    this.#write(program.slice(0, offset) + program.slice(offset + 1));
    const info = this.#service.getQuickInfoAtPosition(PROGRAM, offset);
    return (info?.displayParts ?? []).map(({ text }) => text).join("");
  }

  #write(text: string): void {
    this.#text = text;
    this.#version++;
  }
}
