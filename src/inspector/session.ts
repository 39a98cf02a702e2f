/**
 * Sessions of a page that is opened with a token. The token works once: whoever brings it gets a session.
 *
 * A session has two secrets. Cookies reach every port of a host, so a cookie alone would be sent to servers
 * of other users of the machine. The second secret is a directory in the path. The browser sends the cookie
 * only to addresses below it, and other servers do not know the directory.
 */

import { InvalidInputError } from "../errors.js";

const COOKIE = "tiltyard-inspector";
/** Minimum length of a token. */
const MIN_TOKEN = 16;
const MAX_TOKEN = 512;
/** Bytes of a secret. */
const SECRET_BYTES = 24;

/** A session that a request belongs to. */
export interface Session {
  /** Path of the page, with a slash at both ends. */
  readonly path: string;
  /** Path of the request below that of the page. */
  readonly rest: string;
}

export class Sessions {
  readonly #basePath: string;
  /** The token; null once it was used. */
  #token: string | null;
  /** Secrets of the session; null until the token is used. */
  #session: { readonly directory: string; readonly cookie: string } | null = null;

  /** @throws InvalidInputError for a token that is too short to be secret */
  constructor(basePath: string, token: string) {
    if (typeof token !== "string" || token.length < MIN_TOKEN || token.length > MAX_TOKEN) {
      throw new InvalidInputError(`token: must be a text of ${MIN_TOKEN} to ${MAX_TOKEN} characters`);
    }
    this.#basePath = basePath;
    this.#token = token;
  }

  /**
   * Exchanges the token for a session.
   * @returns the redirection to the page; null if the token is wrong or was used
   */
  async begin(token: string): Promise<Response | null> {
    const expected = this.#token;
    if (expected === null || !(await isSame(token, expected)) || this.#token === null) return null;
    this.#token = null;
    this.#session = { directory: randomSecret(), cookie: randomSecret() };
    const path = `${this.#basePath}/${this.#session.directory}/`;
    return new Response(null, {
      status: 303,
      headers: {
        location: path,
        "set-cookie": `${COOKIE}=${this.#session.cookie}; Path=${path}; HttpOnly; SameSite=Strict`,
      },
    });
  }

  /** Returns the session of a request. Null if it has none. */
  async find(pathname: string, cookies: string | null): Promise<Session | null> {
    const session = this.#session;
    if (session === null) return null;
    const [, directory = "", rest] = /^\/([^/]+)(\/.*)$/.exec(pathname.slice(this.#basePath.length)) ?? [];
    const cookie = readCookie(cookies ?? "");
    const isDirectory = await isSame(directory, session.directory);
    const isCookie = await isSame(cookie, session.cookie);
    if (!isDirectory || !isCookie || rest === undefined) return null;
    return { path: `${this.#basePath}/${directory}/`, rest };
  }
}

function readCookie(cookies: string): string {
  for (const cookie of cookies.split(";")) {
    const [name, value = ""] = cookie.trim().split("=", 2);
    if (name === COOKIE) return value;
  }
  return "";
}

function randomSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares digests, so that the duration tells nothing about the secret. */
async function isSame(text: string, expected: string): Promise<boolean> {
  const [left, right] = await Promise.all([text, expected].map(digest));
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= left[index] ^ right[index];
  return difference === 0;
}

const utf8 = new TextEncoder();
const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(text)));
