/** Lists breaches of docs/CONTRIBUTING.md ("How we write") in comments and names that a machine can see. */

import ts from "typescript";

export interface ProseFault {
  /** Line number, from 1. */
  readonly line: number;
  readonly rule: string;
  readonly text: string;
}

const MAX_WORDS = 30;
const MAX_COLUMNS = 110;

/** First words that turn a docstring into half a sentence. */
const BAD_START = /^(Of|The same|What|Where|Who|As|How|Whether)\b/;

/** Private synonyms and pronouns that docs/CONTRIBUTING.md replaces. */
const BAD_NAMES = new Set(
  (
    "at place other own found given known lead leadBack reach settle leftover leftovers stray strays stranger strangers " +
    "breathe goThrough atOnce whileThere deferred"
  ).split(" "),
);

/** The prose of a comment, without markers, links, code and indented layouts. */
function proseOf(comment: string): string {
  return (
    comment
      .replace(/^\/\*\*?|\*\/$/g, "")
      .replace(/^[ \t]*(\*|\/\/+) ?/gm, "")
      .replace(/```[\s\S]*?```/g, "")
      // Tables and pictures: lines with gaps between columns.
      .replace(/^.*\S {3,}\S.*$/gm, "")
      .replace(/^ {4,}\S.*$/gm, "")
      .replace(/`[^`\n]*`/g, "code")
      .replace(/\{@link ([^}|]*)[^}]*\}/g, "$1")
      .replace(/https?:\/\/\S+/g, "link")
  );
}

/** Splits prose into sentences: paragraphs, list items and tags end one too. */
export function sentencesOf(prose: string): string[] {
  return prose
    .split(/\n\s*\n|\n\s*(?=[-*|] |\d+\. )|(?=@(?:param|returns|throws|example|see|deprecated)\b)/)
    .filter((block) => !/^\s*(\||@example)/.test(block))
    .flatMap((block) => block.replace(/\s+/g, " ").split(/(?<=[.!?:;])\s+(?=[A-Z`"(@])/))
    .map((sentence) => sentence.replace(/^@(param|throws)\s+\S+|^@returns/, "").trim())
    .filter((sentence) => sentence.length > 0);
}

const wordCount = (sentence: string): number =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** Lists the breaches in the comments and identifiers of a TypeScript file. */
export function proseFaults(path: string, text: string): ProseFault[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const faults: ProseFault[] = [];
  const add = (position: number, rule: string, what: string): void => {
    const line = source.getLineAndCharacterOfPosition(position).line + 1;
    faults.push({ line, rule, text: what.length > 100 ? `${what.slice(0, 100)}…` : what });
  };
  for (const { position, comment } of commentsOf(source)) checkComment(position, comment, text, add);
  const visit = (node: ts.Node): void => {
    if (isDeclaredName(node) && BAD_NAMES.has(node.text.replace(/^#/, ""))) {
      add(node.getStart(source), "private word", node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return faults;
}

function checkComment(
  position: number,
  comment: string,
  text: string,
  add: (position: number, rule: string, what: string) => void,
): void {
  const prose = proseOf(comment);
  if (comment.startsWith("/**") && BAD_START.test(prose.trimStart())) {
    add(position, "docstring starts with", prose.trim().split("\n")[0]);
  }
  // A picture of bytes or a table keeps its columns.
  for (const sentence of /[─│┌+]|^\s*\|/m.test(prose) ? [] : sentencesOf(prose)) {
    const words = wordCount(sentence);
    if (words > MAX_WORDS) add(position, `sentence of ${words} words`, sentence);
  }
  let lineStart = text.lastIndexOf("\n", position) + 1;
  for (; lineStart < position + comment.length; lineStart = text.indexOf("\n", lineStart) + 1) {
    const end = text.indexOf("\n", lineStart);
    const line = text.slice(lineStart, end < 0 ? undefined : end);
    if (/^\s*(\/\/|\/?\*)/.test(line) && line.length > MAX_COLUMNS && !/https?:/.test(line)) {
      add(lineStart, `comment of ${line.length} columns`, line.trim());
    }
    if (end < 0) break;
  }
}

/** Yields each comment of a file; adjacent `//` lines are one. */
function* commentsOf(
  source: ts.SourceFile,
): Generator<{ readonly position: number; readonly comment: string }> {
  const { text } = source;
  const starts = new Set<number>();
  const seen = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (node.getChildCount(source) === 0) starts.add(node.getFullStart());
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  for (const start of starts) {
    const ranges = [
      ...(ts.getLeadingCommentRanges(text, start) ?? []),
      ...(ts.getTrailingCommentRanges(text, start) ?? []),
    ].sort((a, b) => a.pos - b.pos);
    for (let index = 0; index < ranges.length; ) {
      const first = ranges[index++];
      let { end } = first;
      if (seen.has(first.pos)) continue;
      seen.add(first.pos);
      const isLine = first.kind === ts.SyntaxKind.SingleLineCommentTrivia;
      while (isLine && index < ranges.length && /^\r?\n[ \t]*$/.test(text.slice(end, ranges[index].pos))) {
        seen.add(ranges[index].pos);
        end = ranges[index++].end;
      }
      const comment = text.slice(first.pos, end);
      if (!/^\/\/ biome-ignore|^\/\/ @ts-/.test(comment)) yield { position: first.pos, comment };
    }
  }
}

/** True for a name that this file chooses: a declaration that does not follow another's property. */
function isDeclaredName(node: ts.Node): node is ts.Identifier | ts.PrivateIdentifier {
  if (!ts.isIdentifier(node) && !ts.isPrivateIdentifier(node)) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isImportSpecifier(parent)) return false;
  return ts.isObjectLiteralElementLike(parent) ? false : (parent as ts.NamedDeclaration).name === node;
}
