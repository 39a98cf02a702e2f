/** Answers of S3 in XML: one root element with texts, elements of texts, and lists of them. */

import { parseXml, XmlElement } from "@rgrove/parse-xml";
import { InternalError } from "../../errors.js";

/** Maximum bytes of an answer: a page of 1,000 keys of the maximum length fits. */
export const MAX_XML_BYTES = 4 * 1024 * 1024;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses an answer.
 * @param rootName expected name of the root element
 * @throws InternalError if the answer is not such an element
 */
export function parseAnswer(body: Uint8Array, rootName: string): XmlElement {
  const root = rootOf(body);
  if (root?.name === rootName) return root;
  throw new InternalError(`the S3 server answered with something that is not a ${rootName}`);
}

/** Returns the root element of an answer; null if it is not well-formed XML. */
export function rootOf(body: Uint8Array): XmlElement | null {
  if (body.length === 0 || body.length > MAX_XML_BYTES) return null;
  try {
    return parseXml(decoder.decode(body)).root;
  } catch {
    // Bytes that are not UTF-8, text that is not XML, and elements nested beyond the stack.
    return null;
  }
}

/** Returns the elements of that name within an element. */
export const childrenOf = (parent: XmlElement, name: string): XmlElement[] =>
  parent.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);

/** Returns the text of the first element of that name within an element; undefined if there is none. */
export const textOf = (parent: XmlElement, name: string): string | undefined =>
  childrenOf(parent, name)[0]?.text.trim();
