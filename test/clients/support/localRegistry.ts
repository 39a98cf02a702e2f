/** A registry that has the drop-in as built, and sends clients to npm's registry for everything else. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { promisify } from "node:util";
import { DROP_IN_PACKAGE, packedDropIn } from "./clientProject.js";

export interface LocalRegistry {
  readonly url: string;
  close(): void;
}

/** Starts the registry on a free port of this machine. */
export async function startRegistry(): Promise<LocalRegistry> {
  const file = await packedDropIn();
  const bytes = await readFile(file);
  const manifest = JSON.parse(await readFile(`${DROP_IN_PACKAGE}/package.json`, "utf8"));
  const { stdout } = await promisify(execFile)("npm", ["config", "get", "registry"], {
    shell: process.platform === "win32",
  });
  const upstream = stdout.trim().replace(/\/$/, "");
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const shasum = createHash("sha1").update(bytes).digest("hex");
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    const own = `/${manifest.name}`;
    if (path === own) {
      const { port } = server.address() as AddressInfo;
      const tarball = `http://127.0.0.1:${port}${own}/-/${basename(file)}`;
      const version = { ...manifest, _id: own, dist: { tarball, integrity, shasum } };
      const document = {
        name: manifest.name,
        "dist-tags": { latest: manifest.version },
        versions: { [manifest.version]: version },
        // Some installers wait some days before they take a release.
        time: { [manifest.version]: "2020-01-01T00:00:00.000Z" },
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(document));
    } else if (path.startsWith(`${own}/-/`)) response.end(bytes);
    else response.writeHead(302, { location: upstream + path }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
