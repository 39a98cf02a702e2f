import { useRef, useState } from "preact/hooks";
import { ThemeButton } from "../App.tsx";
import icon from "../icon.svg";
import { Failure } from "../parts.tsx";
import { canPickFolder, openFiles, pickFolder } from "./folders.ts";
import { parseAddress, type TableSource } from "./tableSource.ts";

interface OpenerProps {
  /** Says why the last attempt failed. */
  readonly error: Error | null;
  open(source: Promise<TableSource | null>): void;
  fail(error: Error): void;
}

/** Asks for an address or a folder. */
export function Opener({ error, open, fail }: OpenerProps) {
  const [address, setAddress] = useState(new URLSearchParams(location.search).get("root") ?? "");
  const files = useRef<HTMLInputElement>(null);
  const visit = (event: Event) => {
    event.preventDefault();
    try {
      parseAddress(address);
    } catch (reason) {
      return fail(reason as Error);
    }
    // A new document, because the policy of this one may forbid the address.
    location.assign(`${location.pathname}?root=${encodeURIComponent(address.trim())}`);
    return undefined;
  };
  return (
    <main class="opener" id="content">
      <header>
        <img src={icon} alt="" width="34" height="34" />
        <h1>Tiltyard</h1>
        <ThemeButton />
      </header>
      <p>
        Shows Lance tables in this browser. The page reads only what you open, changes nothing, and sends
        nothing to anybody else.
      </p>
      {error !== null && <Failure error={error} />}
      <section class="panel">
        <h2>Published tables</h2>
        <form onSubmit={visit}>
          <label for="address">Address of a table, or of the directory of tables</label>
          <div class="opener-line">
            <input
              id="address"
              inputMode="url"
              required
              spellcheck={false}
              placeholder="https://data.example.org/tables"
              value={address}
              onInput={(event) => setAddress(event.currentTarget.value)}
            />
            <button type="submit" class="primary">
              Open
            </button>
          </div>
        </form>
      </section>
      <section class="panel">
        <h2>A folder of this computer</h2>
        <p>
          Drop it anywhere on this page: the folder of one table, which ends in <code>.lance</code>, or the
          folder that holds such folders.
        </p>
        <button type="button" onClick={() => (canPickFolder() ? open(pickFolder()) : files.current?.click())}>
          Choose a folder
        </button>
        <input
          ref={files}
          type="file"
          hidden
          // Preact has no type for it.
          {...{ webkitdirectory: true }}
          onChange={(event) => open(openFiles(event.currentTarget.files ?? []))}
        />
      </section>
    </main>
  );
}
