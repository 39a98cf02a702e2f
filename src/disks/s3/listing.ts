/** Lists of keys, page by page. */

import { InternalError } from "../../errors.js";
import type { S3Client } from "./client.js";
import { childrenOf, parseAnswer, textOf } from "./xml.js";

/** An object in a list. */
export interface ListedObject {
  /** Key without the prefix that was asked for. */
  readonly name: string;
  /** NaN if the server does not say it. */
  readonly size: number;
  /** Empty if the server does not say it. */
  readonly etag: string;
  /** Nanoseconds since the epoch of the last change; 0 if unknown. */
  readonly modifiedNs: bigint;
}

/** A page of a list. Names are keys without the prefix that was asked for. */
export interface ListPage {
  readonly objects: readonly ListedObject[];
  /** Names before the next slash, if the list groups keys by it. */
  readonly groups: readonly string[];
}

/** Options of {@link listKeys}. */
export interface ListOptions {
  /** Groups the keys that go on with a slash. */
  readonly isGrouped: boolean;
  /** Maximum number of keys and groups of a page. Default: the server's, 1,000. */
  readonly pageSize?: number;
}

/** Maximum number of pages: a hundred million keys. A server that never ends is stopped here. */
const MAX_PAGES = 100_000;
/** Maximum number of pages in a row without a key. */
const MAX_EMPTY_PAGES = 100;

/**
 * Lists the keys that begin with a prefix.
 * @throws InternalError if an answer is not a page of that list, or if the list does not end
 */
export async function* listKeys(
  client: S3Client,
  prefix: string,
  { isGrouped, pageSize }: ListOptions,
): AsyncGenerator<ListPage, void> {
  let token: string | undefined;
  let emptyPages = 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { body } = await client.send({
      method: "GET",
      query: {
        "list-type": "2",
        // Keys may contain characters that XML cannot hold.
        "encoding-type": "url",
        ...(prefix !== "" && { prefix }),
        ...(isGrouped && { delimiter: "/" }),
        ...(pageSize !== undefined && { "max-keys": String(pageSize) }),
        ...(token !== undefined && { "continuation-token": token }),
      },
    });
    const root = parseAnswer(body, "ListBucketResult");
    const isEncoded = textOf(root, "EncodingType") === "url";
    const nameOf = (key: string | undefined): string => {
      const decoded = isEncoded ? decodeKey(key) : key;
      if (decoded?.startsWith(prefix)) return decoded.slice(prefix.length);
      throw new InternalError(`the S3 server listed a key that does not begin with ${prefix}`);
    };
    const objects = childrenOf(root, "Contents").map((each) => {
      const modifiedMs = Date.parse(textOf(each, "LastModified") ?? "");
      return {
        name: nameOf(textOf(each, "Key")),
        size: Number(textOf(each, "Size") ?? Number.NaN),
        etag: textOf(each, "ETag") ?? "",
        modifiedNs: Number.isNaN(modifiedMs) ? 0n : BigInt(modifiedMs) * 1_000_000n,
      };
    });
    const groups = childrenOf(root, "CommonPrefixes").map((each) => nameOf(textOf(each, "Prefix")));
    yield { objects, groups };
    if (textOf(root, "IsTruncated") !== "true") return;
    const next = textOf(root, "NextContinuationToken");
    emptyPages = objects.length + groups.length === 0 ? emptyPages + 1 : 0;
    if (!next || next === token || emptyPages > MAX_EMPTY_PAGES) break;
    token = next;
  }
  throw new InternalError(`the S3 server's list of ${prefix} does not end`);
}

/** Decodes a key as `encoding-type=url` encodes it; undefined if it is not encoded so. */
function decodeKey(key: string | undefined): string | undefined {
  try {
    return key === undefined ? undefined : decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
