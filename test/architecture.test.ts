/** Checks that imports follow the table below, that every file is reached, and that only `io` opens files. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCE_ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../src");

/**
 * Parts that each part may import. A part is a folder of src/, or a file in src/ itself.
 * Type imports count too. src/README.md has the same table.
 */
const ARROWS: Record<string, readonly string[]> = {
  platform: [],
  errors: [],
  typedErrors: ["errors"],
  memory: [],
  async: ["platform", "memory"],
  ident: ["errors"],
  nearestName: [],
  inspection: [],
  optionMembers: ["errors", "nearestName"],
  namespace: ["platform", "memory"],
  operationTable: ["namespace"],
  requestMembers: ["errors", "optionMembers", "operationTable"],
  synonyms: ["errors", "optionMembers", "operationTable"],
  bytes: ["platform", "errors", "async"],
  io: ["platform", "errors", "async"],
  arrow: ["platform", "errors", "async", "memory", "bytes"],
  format: ["errors", "bytes"],
  schema: ["errors", "ident", "nearestName", "bytes", "arrow", "format"],
  expression: ["platform", "errors", "async", "ident", "nearestName", "namespace", "bytes", "arrow"],
  file: ["platform", "errors", "async", "memory", "bytes", "io", "arrow", "format"],
  rows: ["errors", "async", "memory", "ident", "bytes", "io", "arrow", "schema", "file"],
  // biome-ignore format: one row, one line
  indexes: ["platform", "errors", "async", "bytes", "io", "arrow", "format", "schema", "file", "rows"],
  table: ["platform", "errors", "async", "bytes", "io", "arrow", "format", "schema", "file"],
  // biome-ignore format: one row, one line
  query: ["errors", "async", "memory", "ident", "nearestName", "optionMembers", "namespace", "bytes", "io", "arrow", "format", "schema", "expression", "file", "rows", "indexes", "table"],
  // biome-ignore format: one row, one line
  write: ["platform", "errors", "typedErrors", "async", "ident", "namespace", "bytes", "io", "arrow", "format", "schema", "expression", "file", "rows", "indexes", "table", "query"],
  // biome-ignore format: one row, one line
  catalog: ["platform", "errors", "async", "ident", "namespace", "bytes", "io", "arrow", "format", "schema", "rows", "table", "query", "write"],
  jobs: ["platform", "errors", "typedErrors", "async", "ident", "namespace", "bytes", "io", "table"],
  // biome-ignore format: one row, one line
  operations: ["platform", "errors", "async", "ident", "namespace", "bytes", "io", "arrow", "format", "schema", "expression", "file", "rows", "table", "query", "write", "catalog", "jobs", "typedErrors", "indexes", "inspection", "optionMembers", "operationTable"],
  engine: ["namespace", "operationTable", "operations"],
  handle: ["errors", "inspection", "optionMembers", "namespace", "operationTable", "requestMembers"],
  // biome-ignore format: one row, one line
  TableHandle: ["errors", "typedErrors", "ident", "inspection", "optionMembers", "namespace", "handle", "DirectoryNamespace"],
  // biome-ignore format: one row, one line
  DirectoryNamespace: ["errors", "async", "inspection", "optionMembers", "namespace", "operationTable", "requestMembers", "synonyms", "io", "operations", "engine", "handle", "TableHandle"],
  tiltyardWorker: ["platform", "errors", "typedErrors", "async", "file", "indexes"],
  rest: [
    "platform",
    "errors",
    "async",
    "memory",
    "ident",
    "nearestName",
    "optionMembers",
    "namespace",
    "operationTable",
    "arrow",
    "DirectoryNamespace",
  ],
  // biome-ignore format: one row, one line
  ray: ["platform", "errors", "async", "optionMembers", "namespace", "io", "DirectoryNamespace"],
  files: ["platform", "errors", "async", "bytes", "io", "arrow", "optionMembers"],
  // biome-ignore format: one row, one line
  client: ["errors", "typedErrors", "async", "memory", "ident", "inspection", "optionMembers", "namespace", "operationTable", "requestMembers", "synonyms", "bytes", "arrow", "operations", "handle", "TableHandle", "DirectoryNamespace", "rest"],
  disks: [
    "platform",
    "errors",
    "async",
    "bytes",
    "io",
    "format",
    "file",
    "table",
    "optionMembers",
    "DirectoryNamespace",
  ],
  inspector: [
    "errors",
    "async",
    "bytes",
    "ident",
    "namespace",
    "optionMembers",
    "DirectoryNamespace",
    "rest",
  ],
  tokenizeText: ["errors", "async", "namespace", "requestMembers", "operations"],
  index: [
    "tokenizeText",
    "errors",
    "expression",
    "memory",
    "ident",
    "namespace",
    "io",
    "handle",
    "TableHandle",
    "DirectoryNamespace",
  ],
  // biome-ignore format: one row, one line
  lancedb: ["platform", "errors", "typedErrors", "async", "optionMembers", "namespace", "bytes", "io", "arrow", "expression", "operationTable", "DirectoryNamespace", "disks", "inspection", "tokenizeText", "rest", "client"],
  // The command uses the package by its own name, as any program does.
  cli: [],
};

/** Files a package user imports; everything else must be reached from one of them. */
const ENTRY_POINTS = [
  "index.ts",
  "rest.ts",
  "ray.ts",
  "files.ts",
  "client.ts",
  "disks.ts",
  "inspector.ts",
  "disks/conformance.ts",
  "tiltyardWorker.ts",
  "cli/tiltyard.ts",
  // LanceDB's package has a file for each of these, and its test suite imports them one by one.
  ...readdirSync(join(SOURCE_ROOT, "lancedb"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `lancedb/${path.replaceAll("\\", "/")}`),
];

/** Files that bundlers put in place of others. */
const REPLACEMENTS = [
  "platform/portable.ts",
  "platform/portableSha256.ts",
  "async/noWorkerPool.ts",
  "file/compression/lazyKernels.ts",
  "io/disk/noLocalDisk.ts",
  "operations/job/noProgressBar.ts",
  "rest/http/noNodeServer.ts",
];

/** Files that may need Node.js. All else runs where there is none (test/portable). */
const NODE_FILES =
  /^(platform\/(native|builtin|modules|sha256)\.ts|io\/.*|rest\/http\/.*|rest\/auth\/apiKeys\.ts|ray\/jobApi\.ts|cli\/.*)$/;

/**
 * Global timers and clocks, which a test runner may replace by fakes, and the files that keep the originals.
 */
const TIMERS = /^(set|clear)(Timeout|Interval|Immediate)$|^performance$/;
const TIMER_FILES = ["platform/native.ts", "platform/portable.ts", "platform/modules.ts", "async/timers.ts"];

/** Files under operations/ that are no operations, although the class uses them too. */
const SHARED_BY_OPERATIONS = [
  "operations/access.ts",
  "operations/context.ts",
  "operations/failure.ts",
  "operations/namespaceOptions.ts",
  "operations/operation.ts",
  "operations/request.ts",
];

/** The inspector's page: a program for browsers, which vite builds and its own tsconfig.json checks. */
const PAGE = "inspector/page/";

/** Exports that no file uses yet. */
const UNUSED_EXPORTS: readonly string[] = [];

/** Modules that touch the disk, and the packages each part alone may use. */
const DISK_MODULES = /^(node:)?fs(\/promises)?$|^(fs-extra|proper-lockfile|graceful-fs)$/;

interface SourceFile {
  /** Relative to src/, with forward slashes. */
  readonly path: string;
  readonly imports: readonly Import[];
  readonly reExports: boolean;
  readonly ownStatements: boolean;
  readonly exports: readonly Export[];
}

/** A name that is declared in a file and exported from it. */
interface Export {
  readonly name: string;
  /** True if another export of the file contains it, as a function contains its parameters' types. */
  readonly isPartOfExport: boolean;
  readonly isUsedInFile: boolean;
}

interface Import {
  /** Text of the import in the source. */
  readonly specifier: string;
  /** The file of src/ it names, or null for a package. */
  readonly target: string | null;
  readonly typeOnly: boolean;
  /** The names taken from it; all of them where it is taken as a whole. */
  readonly names: readonly string[] | "all";
}

function readSources(): Map<string, SourceFile> {
  const paths = readdirSync(SOURCE_ROOT, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && !path.startsWith(PAGE));
  return new Map(paths.map((path) => [path, readSource(path)]));
}

/** Files of tests and benches, or of the inspector's page, by their paths as seen from src/. */
const readUsers = (folders: readonly string[]): SourceFile[] =>
  folders.flatMap((folder) =>
    readdirSync(join(SOURCE_ROOT, folder), { recursive: true, encoding: "utf8" })
      .map((path) => posix.join(folder, path.replaceAll("\\", "/")))
      .filter((path) => /\.tsx?$/.test(path) && !path.includes("node_modules"))
      .map(readSource),
  );

function readSource(path: string): SourceFile {
  const text = readFileSync(join(SOURCE_ROOT, path), "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  let reExports = false;
  let ownStatements = false;
  const add = (specifier: string, typeOnly: boolean, names: Import["names"] = "all") =>
    imports.push({ specifier, typeOnly, names, target: targetOf(path, specifier) });
  const visit = (node: ts.Node) => {
    if (ts.isImportDeclaration(node)) {
      add((node.moduleSpecifier as ts.StringLiteral).text, isTypeOnly(node), namesOf(node, source));
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      const { exportClause } = node;
      const names =
        exportClause !== undefined && ts.isNamedExports(exportClause) ? importedNames(exportClause) : "all";
      add((node.moduleSpecifier as ts.StringLiteral).text, node.isTypeOnly, names);
      reExports = true;
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add((node.argument.literal as ts.StringLiteral).text, true);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (ts.isStringLiteral(argument)) add(argument.text, false);
    } else if (ts.isNewExpression(node) && node.expression.getText() === "URL") {
      // A worker's entry is named by new URL("./x.js", import.meta.url).
      const [argument] = node.arguments ?? [];
      if (argument !== undefined && ts.isStringLiteral(argument)) add(argument.text, false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) ownStatements = true;
  }
  return { path, imports, reExports, ownStatements, exports: exportsOf(source) };
}

const importedNames = ({ elements }: ts.NamedImports | ts.NamedExports): string[] =>
  elements.map(({ name, propertyName }) => (propertyName ?? name).text);

/** The names that an import takes, those taken by way of a namespace (`ns.name`) included. */
function namesOf({ importClause }: ts.ImportDeclaration, source: ts.SourceFile): readonly string[] {
  const bindings = importClause?.namedBindings;
  if (bindings === undefined) return [];
  if (ts.isNamedImports(bindings)) return importedNames(bindings);
  const names = new Set<string>();
  const visit = (node: ts.Node) => {
    if (ts.isPropertyAccessExpression(node) && node.expression.getText() === bindings.name.text) {
      names.add(node.name.text);
    } else if (ts.isQualifiedName(node) && node.left.getText() === bindings.name.text) {
      names.add(node.right.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...names];
}

function exportsOf(source: ts.SourceFile): Export[] {
  const exported = source.statements.filter(
    (statement) =>
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword),
  );
  const parts = new Map(exported.map((statement) => [statement, partsOf(statement)]));
  const names = new Set(exported.flatMap(declaredNames));
  const mentions = source.text.match(/\b\w+\b/g) ?? [];
  return [...names].map((name) => ({
    name,
    isUsedInFile: mentions.filter((mention) => mention === name).length > 1,
    isPartOfExport: exported.some(
      (statement) => !declaredNames(statement).includes(name) && parts.get(statement)?.has(name),
    ),
  }));
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    const inBinding = (name: ts.BindingName): string[] =>
      ts.isIdentifier(name)
        ? [name.text]
        : name.elements.flatMap((element) => (ts.isBindingElement(element) ? inBinding(element.name) : []));
    return statement.declarationList.declarations.flatMap(({ name }) => inBinding(name));
  }
  const { name } = statement as ts.Statement & { readonly name?: ts.Identifier };
  return name === undefined ? [] : [name.text];
}

/** The names that a declaration's own form mentions: all but what stands in the bodies of functions. */
function partsOf(statement: ts.Statement): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node) => {
    if (ts.isIdentifier(node)) names.add(node.text);
    ts.forEachChild(node, (child) => {
      const isBody = ts.isFunctionLike(node) && "body" in node && node.body === child;
      if (!isBody) visit(child);
    });
  };
  visit(statement);
  return names;
}

function isTypeOnly(node: ts.ImportDeclaration): boolean {
  const clause = node.importClause;
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const named = clause.namedBindings;
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.every((element) => element.isTypeOnly)
  );
}

function targetOf(path: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  // As seen from src/, where tests lie elsewhere.
  return posix
    .join(posix.dirname(path), specifier)
    .replace(/^\.\.\/src\//, "")
    .replace(/\.js$/, ".ts");
}

/** The folder, or the name of a file that lies in src/ itself. */
function partOf(path: string): string {
  const [first, ...rest] = path.split("/");
  return rest.length === 0 ? first.replace(/\.ts$/, "") : first;
}

/** The folder that a file lies in, or the file where it lies in src/ itself. */
const folderOf = (path: string): string => (path.includes("/") ? posix.dirname(path) : path);

/** The folder for the rule on circles. LanceDB's modules are one: the drop-in has the layout of its package. */
const unitOf = (path: string): string => (partOf(path) === "lancedb" ? "lancedb" : folderOf(path));

/** Returns the imports of each folder from other folders, in the form of source files. */
function folders(
  sources: Map<string, SourceFile>,
  follow: (entry: Import) => boolean,
): Map<string, SourceFile> {
  const imports = new Map<string, Import[]>();
  for (const { path, imports: imported } of sources.values()) {
    const from = unitOf(path);
    const others = imports.get(from) ?? [];
    imports.set(from, others);
    for (const entry of imported) {
      if (entry.target === null || !follow(entry)) continue;
      const target = unitOf(entry.target);
      if (target !== from) others.push({ ...entry, target });
    }
  }
  return new Map(
    [...imports].map(([path, imported]) => [
      path,
      { path, imports: imported, reExports: false, ownStatements: true, exports: [] },
    ]),
  );
}

/** Groups of files that reach each other, each as a sorted list. `follow` says which imports count. */
function cycles(sources: Map<string, SourceFile>, follow: (entry: Import) => boolean): string[][] {
  const reachable = new Map<string, Set<string>>();
  for (const path of sources.keys()) reachable.set(path, reachableFrom([path], sources, follow, false));
  const groups = new Set<string>();
  for (const [path, reached] of reachable) {
    if (!reached.has(path)) continue;
    const group = [...reached].filter((member) => reachable.get(member)?.has(path));
    groups.add(group.sort().join(" "));
  }
  return [...groups].map((group) => group.split(" "));
}

function reachableFrom(
  starts: readonly string[],
  sources: Map<string, SourceFile>,
  follow: (entry: Import) => boolean,
  includeStarts: boolean,
): Set<string> {
  const reached = new Set<string>(includeStarts ? starts : []);
  const queue = [...starts];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    for (const entry of sources.get(path)?.imports ?? []) {
      if (entry.target === null || !follow(entry) || reached.has(entry.target)) continue;
      reached.add(entry.target);
      queue.push(entry.target);
    }
  }
  return reached;
}

/** The global timers and clocks that a file names, and does not import from async/timers.ts. */
function globalTimers(path: string, imports: readonly Import[]): string[] {
  const kept = new Set(
    imports.filter(({ target }) => target === "async/timers.ts").flatMap(({ names }) => names),
  );
  const text = readFileSync(join(SOURCE_ROOT, path), "utf8");
  const named: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && TIMERS.test(node.text) && !kept.has(node.text)) {
      const { parent } = node;
      const isMember = ts.isPropertyAccessExpression(parent) && parent.name === node;
      if (!isMember || parent.expression.getText() === "globalThis") named.push(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return named;
}

describe("architecture", () => {
  const sources = readSources();
  const files = [...sources.values()];

  it("has a row of arrows for every part of src/", () => {
    const parts = new Set(files.map(({ path }) => partOf(path)));
    expect([...parts].filter((part) => !(part in ARROWS))).toEqual([]);
  });

  it("has no arrow upwards in the table itself, but for the class and its handle", () => {
    const order = Object.keys(ARROWS);
    const upward = order.flatMap((part, i) =>
      ARROWS[part].filter((target) => order.indexOf(target) >= i).map((target) => `${part} -> ${target}`),
    );
    expect(upward).toEqual(["TableHandle -> DirectoryNamespace"]);
  });

  it("imports only along the arrows", () => {
    const forbidden = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target !== null && sources.has(target))
        .filter(({ target }) => {
          const [from, to] = [partOf(path), partOf(target as string)];
          return from !== to && !ARROWS[from]?.includes(to);
        })
        .map(({ target }) => `${path} -> ${target}`),
    );
    expect(forbidden).toEqual([]);
  });

  it("has no arrow that nothing goes along", () => {
    const used = new Set(
      files.flatMap(({ path, imports }) =>
        imports.map(({ target }) => `${partOf(path)} -> ${target === null ? "" : partOf(target)}`),
      ),
    );
    const idle = Object.entries(ARROWS).flatMap(([part, others]) =>
      others.map((target) => `${part} -> ${target}`).filter((arrow) => !used.has(arrow)),
    );
    expect(idle).toEqual([]);
  });

  it("keeps requests and responses free of code, and takes only the type of the class into its handle", () => {
    const values = files.flatMap(({ path, imports }) =>
      imports.filter(({ typeOnly }) => !typeOnly).map(({ specifier }) => `${path} -> ${specifier}`),
    );
    expect(values.filter((arrow) => arrow.startsWith("namespace/"))).toEqual([]);
    expect(values).not.toContain("TableHandle.ts -> ./DirectoryNamespace.js");
  });

  it("imports files that exist", () => {
    const missing = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target !== null && !sources.has(target))
        .map(({ specifier }) => `${path} -> ${specifier}`),
    );
    expect(missing).toEqual([]);
  });

  it("has no cycle between files", () => {
    // The class and its handle name each other's types; every other cycle counts, types included.
    const handleType = (entry: Import) => entry.typeOnly && entry.target === "DirectoryNamespace.ts";
    expect(cycles(sources, (entry) => !handleType(entry))).toEqual([]);
  });

  it("has no cycle between folders, inside a part either", () => {
    const handleType = (entry: Import) => entry.typeOnly && entry.target === "DirectoryNamespace.ts";
    expect(
      cycles(
        folders(sources, (entry) => !handleType(entry)),
        () => true,
      ),
    ).toEqual([]);
  });

  it("has every folder of a part in the map", () => {
    const readme = readFileSync(join(SOURCE_ROOT, "README.md"), "utf8");
    const named = new Set([...readme.matchAll(/^ {2}([\w/]+)\/ /gm)].map(([, folder]) => folder));
    const inParts = new Set(files.map(({ path }) => folderOf(path)).filter((folder) => folder.includes("/")));
    expect([...inParts].filter((folder) => !named.has(folder)).sort()).toEqual([]);
    expect([...named].filter((folder) => !inParts.has(folder)).sort()).toEqual([]);
  });

  it("shows the folders of a part in an order in which none imports one that follows it", () => {
    const readme = readFileSync(join(SOURCE_ROOT, "README.md"), "utf8");
    const order = [...readme.matchAll(/^ {2}([\w/]+)\/ /gm)].map(([, folder]) => folder);
    const upward = files.flatMap(({ path, imports }) =>
      imports
        .map(({ target }) => target ?? "")
        .filter((target) => partOf(target) === partOf(path))
        .filter((target) => order.includes(folderOf(target)) && order.includes(folderOf(path)))
        .filter((target) => order.indexOf(folderOf(target)) > order.indexOf(folderOf(path)))
        .map((target) => `${path} -> ${target}`),
    );
    expect(upward).toEqual([]);
  });

  it("keeps operations apart from one another", () => {
    // An operation is what the class calls; what several of them share lies beside them.
    const callers = files.filter(({ path }) => path === "DirectoryNamespace.ts" || partOf(path) === "engine");
    const operations = new Set(callers.flatMap(({ imports }) => imports.map(({ target }) => target)));
    const crossing = files
      .filter(({ path }) => partOf(path) === "operations")
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => partOf(target ?? "") === "operations" && operations.has(target))
          .filter(({ target }) => !SHARED_BY_OPERATIONS.includes(target as string))
          .map(({ target }) => `${path} -> ${target}`),
      );
    expect(crossing).toEqual([]);
  });

  it("reaches every file from an entry point", () => {
    const reached = reachableFrom([...ENTRY_POINTS, ...REPLACEMENTS], sources, () => true, true);
    expect([...sources.keys()].filter((path) => !reached.has(path))).toEqual([]);
  });

  it("gives no two files an export of the same name", () => {
    const declaring = new Map<string, string[]>();
    for (const { path, exports } of files) {
      // Programs read `int64` of a definition; the fields of messages have types of the same names.
      if (REPLACEMENTS.includes(path) || path === "handle/defineTable.ts") continue;
      // LanceDB chose these names.
      if (partOf(path) === "lancedb") continue;
      for (const { name } of exports) declaring.set(name, [...(declaring.get(name) ?? []), path]);
    }
    const shared = [...declaring].filter(([, paths]) => paths.length > 1);
    expect(shared).toEqual([]);
  });

  it("exports nothing that is not used elsewhere", () => {
    const wholly = new Set<string>();
    const note = (used: Map<string, Set<string>>, { target, names }: Import) => {
      if (target === null) return;
      if (names === "all") wholly.add(target);
      else used.set(target, new Set([...(used.get(target) ?? []), ...names]));
    };
    const usedBySource = new Map<string, Set<string>>();
    const users = [...files, ...readUsers([`../src/${PAGE}`])];
    for (const entry of users.flatMap(({ imports }) => imports)) note(usedBySource, entry);
    const usedByTests = new Map<string, Set<string>>();
    for (const entry of readUsers(["../test", "../bench"]).flatMap(({ imports }) => imports))
      note(usedByTests, entry);
    const unused = files
      .filter(({ path }) => !REPLACEMENTS.includes(path) && !ENTRY_POINTS.includes(path) && !wholly.has(path))
      .flatMap(({ path, exports }) =>
        exports
          .filter(({ name, isPartOfExport }) => !isPartOfExport && !usedBySource.get(path)?.has(name))
          // A test may look at what its file uses by itself.
          .filter(({ name, isUsedInFile }) => !isUsedInFile || !usedByTests.get(path)?.has(name))
          .map(({ name }) => `${path}: ${name}`),
      );
    expect(unused.filter((entry) => !UNUSED_EXPORTS.includes(entry))).toEqual([]);
    expect(UNUSED_EXPORTS.filter((entry) => !unused.includes(entry))).toEqual([]);
  });

  it("re-exports from entry points, and where parts are loaded at once, only", () => {
    const mayReExport = (path: string) => ENTRY_POINTS.includes(path) || partOf(path) === "engine";
    const barrels = files.filter(({ path, reExports }) => reExports && !mayReExport(path));
    expect(barrels.map(({ path }) => path)).toEqual([]);
    const index = sources.get("index.ts");
    expect(index?.ownStatements).toBe(false);
  });

  it("opens files in io and by the command only, but for the package's own", () => {
    const outside = files
      .filter(({ path }) => !["io", "cli"].includes(partOf(path)) && path !== "platform/modules.ts")
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ specifier }) => DISK_MODULES.test(specifier))
          .map(({ specifier }) => `${path} -> ${specifier}`),
      );
    expect(outside).toEqual([]);
  });

  it("imports modules of Node.js in few places only", () => {
    const outside = files
      .filter(({ path }) => !NODE_FILES.test(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ specifier }) => specifier.startsWith("node:"))
          .map(({ specifier }) => `${path} -> ${specifier}`),
      );
    expect(outside).toEqual([]);
  });

  it("waits and measures by the timers that async/timers.ts keeps, which fakes of a program do not stop", () => {
    const outside = files
      .filter(({ path }) => !TIMER_FILES.includes(path))
      .flatMap(({ path, imports }) => [
        ...imports
          .filter(({ specifier }) => /^(node:)?(timers|perf_hooks)(\/|$)/.test(specifier))
          .map(({ specifier }) => `${path} -> ${specifier}`),
        ...globalTimers(path, imports).map((name) => `${path}: ${name}`),
      ]);
    expect(outside).toEqual([]);
  });

  it("requires modules of Node.js only, where bundlers can't see what is required", () => {
    const able = files.filter(({ imports }) =>
      imports.some(({ specifier }) => /^(node:)?module$/.test(specifier)),
    );
    // The command is no part of a bundle.
    const bundled = able.filter(({ path }) => !path.startsWith("cli/"));
    expect(bundled.map(({ path }) => path)).toEqual(["platform/builtin.ts"]);
    const text = readFileSync(join(SOURCE_ROOT, "platform/builtin.ts"), "utf8");
    const required = [...text.matchAll(/(?<![\w("])load\(([^)]*)\)/g)].map(([, what]) => what);
    expect(required).toEqual(['"node:crypto"', '"node:worker_threads"']);
  });

  it("imports no package that the README does not give a reason for", () => {
    const text = readFileSync(join(SOURCE_ROOT, "../README.md"), "utf8");
    const [, section = ""] = /^## Runtime dependencies\n([\s\S]*?)^## /m.exec(text) ?? [];
    const allowed = new Set([...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name));
    const packageName = (specifier: string) =>
      specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
    const foreign = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target, specifier }) => target === null && !specifier.startsWith("node:"))
        .filter(({ specifier }) => !allowed.has(packageName(specifier)))
        .filter(({ specifier }) => partOf(path) !== "cli" || packageName(specifier) !== "tiltyard")
        .map(({ specifier }) => `${path} -> ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });

  it("is drawn in src/README.md as it is here", () => {
    const readme = readFileSync(join(SOURCE_ROOT, "README.md"), "utf8");
    const rows = [...readme.matchAll(/^\| `(\w+)`\s*\|([^|]*)\|/gm)].map(
      ([, part, targets]) => [part, [...targets.matchAll(/`(\w+)`/g)].map(([, name]) => name)] as const,
    );
    expect(Object.fromEntries(rows)).toEqual(ARROWS);
  });
});
