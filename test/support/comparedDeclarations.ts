/**
 * Compares the declarations of two modules: exported names, and of each the public members, parameters, optionality and
 * types. Private and protected members are removed first, since classes with such members are never assignable.
 */

import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import ts from "typescript";

export interface ComparedModules {
  /** Paths of two declaration files. */
  readonly theirs: string;
  readonly ours: string;
  /** Directory of the copy of apache-arrow that both import. */
  readonly arrow: string;
  /** Types that no program names; they are compared as `any`. */
  readonly hidden: readonly string[];
}

type Side = "theirs" | "ours";

/** Returns a line for each difference, in the form `Table.add(2): …`. */
export function declarationDifferences({ theirs, ours, arrow, hidden }: ComparedModules): string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.esnext.disposable.d.ts"],
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [`${dirname(arrow)}/@types`],
    paths: { "apache-arrow": [`${arrow}/Arrow.node.d.ts`], "apache-arrow/*": [`${arrow}/*.d.ts`] },
  };
  const host = ts.createCompilerHost(options);
  const roots = { theirs: `${dirname(theirs)}/`, ours: `${dirname(ours)}/` };
  const { getSourceFile } = host;
  host.getSourceFile = (path, language) => {
    const isCompared = Object.values(roots).some((root) => path.startsWith(root));
    if (!isCompared) return getSourceFile.call(host, path, language);
    const text = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    return text === undefined
      ? undefined
      : ts.createSourceFile(path, publicPart(path, text, hidden), language, true);
  };
  const program = ts.createProgram([theirs, ours], options, host);
  return new Comparison(program, theirs, ours).differences();
}

/** Removes private and protected members of classes from a declaration file, and makes hidden types `any`. */
function publicPart(path: string, text: string, hidden: readonly string[]): string {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const edits: [start: number, end: number, text: string][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isClassElement(node) && isHidden(node) && !ts.isConstructorDeclaration(node)) {
      edits.push([node.getStart(), node.getEnd(), ""]);
    } else if (ts.isTypeReferenceNode(node) && hidden.includes(node.typeName.getText())) {
      edits.push([node.getStart(), node.getEnd(), "any"]);
    } else ts.forEachChild(node, visit);
  };
  visit(file);
  return edits.reduceRight(
    (rest, [start, end, replacement]) => rest.slice(0, start) + replacement + rest.slice(end),
    text,
  );
}

function isHidden(node: ts.ClassElement): boolean {
  if (node.name !== undefined && ts.isPrivateIdentifier(node.name)) return true;
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : [];
  return modifiers.some(
    ({ kind }) => kind === ts.SyntaxKind.PrivateKeyword || kind === ts.SyntaxKind.ProtectedKeyword,
  );
}

class Comparison {
  readonly #checker: ts.TypeChecker;
  readonly #files: Record<Side, ts.SourceFile>;
  readonly #found: string[] = [];

  constructor(program: ts.Program, theirs: string, ours: string) {
    this.#checker = program.getTypeChecker();
    const fileAt = (path: string): ts.SourceFile => {
      const file = program.getSourceFile(path);
      if (file === undefined) throw new Error(`no such declarations: ${path}`);
      return file;
    };
    this.#files = { theirs: fileAt(theirs), ours: fileAt(ours) };
  }

  differences(): string[] {
    this.#compareModules("", this.#moduleOf("theirs"), this.#moduleOf("ours"));
    return this.#found;
  }

  #moduleOf(side: Side): ts.Symbol {
    return this.#checker.getSymbolAtLocation(this.#files[side])!;
  }

  #tell(name: string, difference: string): void {
    this.#found.push(`${name}: ${difference}`);
  }

  /** Compares the exports of two modules, or of two namespaces of modules. */
  #compareModules(prefix: string, theirs: ts.Symbol, ours: ts.Symbol): void {
    const exportsOf = (module: ts.Symbol) =>
      new Map(
        this.#checker.getExportsOfModule(module).map((symbol) => [symbol.name, this.#resolved(symbol)]),
      );
    const ourExports = exportsOf(ours);
    for (const [name, symbol] of exportsOf(theirs)) {
      const ourSymbol = ourExports.get(name);
      if (ourSymbol === undefined) this.#tell(prefix + name, "is not exported");
      else this.#compareExports(prefix + name, symbol, ourSymbol);
    }
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #compareExports(name: string, theirs: ts.Symbol, ours: ts.Symbol): void {
    if (theirs.flags & ts.SymbolFlags.ValueModule) {
      if (ours.flags & ts.SymbolFlags.ValueModule) this.#compareModules(`${name}.`, theirs, ours);
      else this.#tell(name, "is not a namespace");
      return;
    }
    for (const [flag, kind] of [
      [ts.SymbolFlags.Value, "value"],
      [ts.SymbolFlags.Type, "type"],
    ] as const) {
      if (theirs.flags & flag && !(ours.flags & flag)) this.#tell(name, `is not a ${kind}`);
    }
    if (theirs.flags & ours.flags & ts.SymbolFlags.Type) {
      const [type, ourType] = [theirs, ours].map((symbol) => this.#checker.getDeclaredTypeOfSymbol(symbol));
      this.#compareTypeParameters(name, type, ourType);
      this.#compareTypes(name, type, ourType);
    }
    if (theirs.flags & ours.flags & ts.SymbolFlags.Value) {
      const [type, ourType] = [theirs, ours].map((symbol) => this.#checker.getTypeOfSymbol(symbol));
      this.#compareStatic(name, type, ourType);
    }
  }

  #compareTypeParameters(name: string, theirs: ts.Type, ours: ts.Type): void {
    const countOf = (type: ts.Type) => (type as ts.InterfaceType).typeParameters?.length ?? 0;
    if (countOf(theirs) !== countOf(ours)) {
      this.#tell(name, `has ${countOf(ours)} type parameters, not ${countOf(theirs)}`);
    }
  }

  /** Compares members of objects one by one, and all other types as a whole. */
  #compareTypes(name: string, theirs: ts.Type, ours: ts.Type): void {
    if (!theirs.isClassOrInterface()) {
      this.#compareWhole(name, theirs, ours);
      return;
    }
    for (const member of this.#checker.getPropertiesOfType(theirs)) {
      const ourMember = this.#memberOf(ours, member);
      if (ourMember === undefined) this.#tell(`${name}.${nameOf(member)}`, "is missing");
      else this.#compareMembers(`${name}.${nameOf(member)}`, member, ourMember);
    }
  }

  /** Returns the member of the same name. The checker's own search does not find names that are symbols. */
  #memberOf(type: ts.Type, { escapedName }: ts.Symbol): ts.Symbol | undefined {
    return this.#checker.getPropertiesOfType(type).find((member) => member.escapedName === escapedName);
  }

  /** Compares functions, and constructors and static members of classes. */
  #compareStatic(name: string, theirs: ts.Type, ours: ts.Type): void {
    this.#compareSignatures(name, theirs, ours, ts.SignatureKind.Call);
    this.#compareSignatures(`new ${name}`, theirs, ours, ts.SignatureKind.Construct);
    for (const member of this.#checker.getPropertiesOfType(theirs)) {
      if (member.name === "prototype") continue;
      const ourMember = this.#memberOf(ours, member);
      if (ourMember === undefined) this.#tell(`${name}.${nameOf(member)}`, "is missing");
      else this.#compareMembers(`${name}.${nameOf(member)}`, member, ourMember);
    }
  }

  #compareMembers(name: string, theirs: ts.Symbol, ours: ts.Symbol): void {
    const isOptional = ({ flags }: ts.Symbol) => (flags & ts.SymbolFlags.Optional) !== 0;
    if (isOptional(theirs) !== isOptional(ours)) {
      this.#tell(name, `is ${isOptional(ours) ? "optional" : "required"}`);
    }
    const [type, ourType] = [theirs, ours].map((symbol) => this.#checker.getTypeOfSymbol(symbol));
    if (type.getCallSignatures().length > 0) {
      this.#compareSignatures(name, type, ourType, ts.SignatureKind.Call);
    } else this.#compareWhole(name, type, ourType);
  }

  #compareSignatures(name: string, theirs: ts.Type, ours: ts.Type, kind: ts.SignatureKind): void {
    const signatures = this.#checker.getSignaturesOfType(theirs, kind);
    const ourSignatures = this.#checker.getSignaturesOfType(ours, kind);
    if (signatures.length !== ourSignatures.length) {
      this.#tell(name, `has ${ourSignatures.length} signatures, not ${signatures.length}`);
      return;
    }
    for (const [index, signature] of signatures.entries()) {
      const label = signatures.length === 1 ? name : `${name}#${index + 1}`;
      this.#compareParameters(label, signature, ourSignatures[index]);
      // What `new` returns is compared as the type of instances.
      if (kind === ts.SignatureKind.Construct) continue;
      this.#compareWhole(`${label}()`, signature.getReturnType(), ourSignatures[index].getReturnType());
    }
  }

  #compareParameters(name: string, theirs: ts.Signature, ours: ts.Signature): void {
    if (theirs.parameters.length !== ours.parameters.length) {
      this.#tell(name, `takes ${ours.parameters.length} parameters, not ${theirs.parameters.length}`);
      return;
    }
    for (const [index, parameter] of theirs.parameters.entries()) {
      const ourParameter = ours.parameters[index];
      const label = `${name}(${index + 1})`;
      const [form, ourForm] = [parameter, ourParameter].map(formOf);
      if (form !== ourForm) this.#tell(label, `is ${ourForm}, not ${form}`);
      this.#compareWhole(
        label,
        this.#checker.getTypeOfSymbol(parameter),
        this.#checker.getTypeOfSymbol(ourParameter),
      );
    }
  }

  /** Compares types by assignability in both directions. */
  #compareWhole(name: string, theirs: ts.Type, ours: ts.Type): void {
    const [isOurs, isTheirs] = [
      this.#checker.isTypeAssignableTo(theirs, ours),
      this.#checker.isTypeAssignableTo(ours, theirs),
    ];
    if (isOurs && isTheirs) return;
    const [text, ourText] = [theirs, ours].map((type) =>
      this.#checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation),
    );
    // Type parameters of two declarations are never the same.
    if (text === ourText && mentionsParameter(theirs)) return;
    const direction = isOurs ? "wider than" : isTheirs ? "narrower than" : "other than";
    this.#tell(name, `${ourText} is ${direction} ${text}`);
  }
}

/** Name of a member; that of a symbol without the number that the compiler adds. */
const nameOf = ({ name }: ts.Symbol): string => name.replace(/^__@(\w+)@\d+$/, "[Symbol.$1]");

/** True if a type parameter is part of the type, as written. */
function mentionsParameter(type: ts.Type): boolean {
  if (type.flags & ts.TypeFlags.TypeParameter) return true;
  const { typeArguments, resolvedTypeArguments } = type as ts.TypeReference & {
    readonly resolvedTypeArguments?: readonly ts.Type[];
  };
  const signatures = type.getCallSignatures();
  return (
    [
      ...(type.aliasTypeArguments ?? typeArguments ?? resolvedTypeArguments ?? []),
      ...(type.isUnion() ? type.types : []),
      ...signatures.map((signature) => signature.getReturnType()),
    ].some(mentionsParameter) ||
    signatures.some(
      ({ typeParameters, parameters }) =>
        typeParameters !== undefined ||
        parameters.some(({ valueDeclaration }) => /: T\b/.test(valueDeclaration?.getText() ?? "")),
    ) ||
    (type.flags & ts.TypeFlags.Conditional) !== 0
  );
}

function formOf(parameter: ts.Symbol): "optional" | "required" | "rest" {
  const declaration = parameter.valueDeclaration as ts.ParameterDeclaration;
  if (declaration.dotDotDotToken !== undefined) return "rest";
  return declaration.questionToken !== undefined || declaration.initializer !== undefined
    ? "optional"
    : "required";
}
